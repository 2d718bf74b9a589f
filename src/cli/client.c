/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "endpoint.h"

enum { CLIENT_NOTES_BYTES = 64 * 1024 };

const struct client clients[] = {
    {
	.name = "opencode",
	.title = "opencode",
	.command = "opencode",
	.variables = "OPENCODE_BASE_URL OPENCODE_CONFIG_CONTENT",
	.localhost = "nothing: it goes by the provider's id, which stays",
	.plan = opencode_plan,
    },
    {
	.name = "claude",
	.title = "Claude Code",
	.command = "claude",
	.variables = "ANTHROPIC_BASE_URL ENABLE_TOOL_SEARCH",
	.localhost = "tool search goes off, so that the first request brings "
		     "all tools (90 kB in place of 53 kB); titles are made by "
		     "the main model",
	.fix = "ENABLE_TOOL_SEARCH=true (set by run, env and connect); for "
	       "titles set ANTHROPIC_DEFAULT_HAIKU_MODEL to a small model",
	.plan = claude_plan,
    },
    {
	.name = "codex",
	.title = "Codex",
	.command = "codex",
	.variables = "-c openai_base_url (run adds it)",
	.localhost = "tries a WebSocket first; turnmeter answers 426 and it "
		     "goes on over HTTP at once",
	.plan = codex_plan,
    },
    {
	.name = "gemini",
	.title = "Gemini CLI",
	.command = "gemini",
	.variables = "GOOGLE_GEMINI_BASE_URL",
	.localhost = "nothing seen",
    },
    {
	.name = "qwen",
	.title = "Qwen Code",
	.command = "qwen",
	.variables = "OPENAI_BASE_URL",
	.localhost = "no cache marks and no session id unless DashScope's "
		     "host is in the URL",
	.fix = "the host in the path: run and env keep it there",
    },
    {
	.name = "cline",
	.title = "Cline",
	.command = "cline",
	.variables = "cline auth -b URL",
	.localhost = "nothing seen",
    },
    {
	.name = "pi",
	.title = "Pi",
	.command = "pi",
	.variables = "baseUrl in ~/.pi/agent/models.json",
	.localhost = "no prompt cache key unless the vendor's host is in the "
		     "URL",
	.fix = "the host in the path, as in /api.openai.com/v1",
    },
    {
	.name = "kilo",
	.title = "Kilo",
	.command = "kilo",
	.variables = "provider options.baseURL, as in opencode",
	.localhost = "nothing seen",
    },
};
const size_t n_clients = sizeof(clients) / sizeof(*clients);

const struct client *
client_find(const char *name)
{
	for (size_t i = 0; i < n_clients; i++)
		if (strcmp(clients[i].name, name) == 0)
			return &clients[i];
	return NULL;
}

bool
client_installed(const struct client *client, char out[FILES_PATH_BYTES])
{
	const char *path = getenv("PATH");
	struct stat st;

	while (path != NULL && *path != '\0') {
		size_t n = strcspn(path, ":");

		snprintf(out, FILES_PATH_BYTES, "%.*s/%s", (int)n, path,
		    client->command);
		if (n > 0 && access(out, X_OK) == 0 && stat(out, &st) == 0 &&
		    S_ISREG(st.st_mode))
			return true;
		path += n + (path[n] == ':' ? 1 : 0);
	}
	return false;
}

void
client_plan_init(struct client_plan *plan)
{
	memset(plan, 0, sizeof(*plan));
	buf_init(&plan->notes, CLIENT_NOTES_BYTES);
}

void
client_plan_fini(struct client_plan *plan)
{
	free(plan->before);
	free(plan->after);
	buf_fini(&plan->notes);
}

int
client_plan_read(struct client_plan *plan)
{
	int result = files_read(plan->path, &plan->before);

	if (result == -ENOENT)
		return 0;
	if (result != 0)
		buf_printf(&plan->notes, "%s cannot be read: %s\n", plan->path,
		    strerror(-result));
	return result;
}

void
client_note_uncovered(
    struct client_plan *plan, const char *provider, const char *url)
{
	char section[ENDPOINT_BYTES];

	plan->n_uncovered++;
	endpoint_section(provider, url, section);
	buf_printf(&plan->notes,
	    "no upstream covers %s at %s; add to turnmeter.conf:\n    %s\n",
	    provider, url, section);
}
