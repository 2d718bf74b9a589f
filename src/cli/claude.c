/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * claude: variables in the settings' own `env`, which go before those of the
 * shell.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "endpoint.h"
#include "jsonc.h"

static void
claude_change(struct client_plan *plan, const char *name, const char *value)
{
	const char *path[] = {"env", name};
	const char *text = plan->after != NULL    ? plan->after
			   : plan->before != NULL ? plan->before
						  : "";
	char *next;

	if (jsonc_set_string(text, path, 2, value, &next) != 0) {
		buf_printf(&plan->notes,
		    "%s cannot be changed safely; put in its env: %s = "
		    "\"%s\"\n",
		    plan->path, name, value);
		return;
	}
	free(plan->after);
	plan->after = next;
}

int
claude_plan(const struct config *c, const char *base, struct client_plan *plan)
{
	char out[ENDPOINT_BYTES];
	const char *url, *search;
	bool is_vendor = true;
	json_t *document, *env;
	int result;

	files_under(
	    "CLAUDE_CONFIG_DIR", ".claude", "settings.json", plan->path);
	result = client_plan_read(plan);
	if (result != 0)
		return result;
	document = jsonc_load(plan->before != NULL ? plan->before : "");
	env = json_object_get(document, "env");
	url = json_string_value(json_object_get(env, "ANTHROPIC_BASE_URL"));
	search = json_string_value(json_object_get(env, "ENABLE_TOOL_SEARCH"));
	snprintf(out, sizeof(out), "%.900s/anthropic", base);
	if (url != NULL) {
		is_vendor = strstr(url, "api.anthropic.com") != NULL;
		switch (endpoint_over(c, base, url, ENDPOINT_BY_NAME, out)) {
		case ENDPOINT_COVERED: break;
		case ENDPOINT_OURS:
			plan->n_here++;
			is_vendor = strstr(url, "/anthropic") != NULL &&
				    strstr(url, "/api/anthropic") == NULL;
			break;
		case ENDPOINT_UNCOVERED:
			client_note_uncovered(plan, "claude", url);
			json_decref(document);
			return 0;
		case ENDPOINT_ODD:
			buf_printf(&plan->notes,
			    "left alone: ANTHROPIC_BASE_URL is not a plain "
			    "URL\n");
			json_decref(document);
			return 0;
		}
	}
	if (url == NULL || strcmp(url, out) != 0)
		claude_change(plan, "ANTHROPIC_BASE_URL", out);
	/* Behind another host it is off, unless asked for; other vendors may
	 * not know it. */
	if (is_vendor && search == NULL)
		claude_change(plan, "ENABLE_TOOL_SEARCH", "true");
	json_decref(document);
	return 0;
}
