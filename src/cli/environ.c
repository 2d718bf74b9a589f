/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "environ.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "endpoint.h"

const char *const environ_names[] = {"OPENCODE_BASE_URL",
    "OPENCODE_CONFIG_CONTENT", "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL",
    "GOOGLE_GEMINI_BASE_URL", "ENABLE_TOOL_SEARCH", NULL};

/* The variables that hold a base URL, and where each goes when the user has
 * not set it. By the host: clients that read these look for it. Anthropic's by
 * the name, which takes both spellings, with and without /v1. */
static const struct {
	const char *name;
	const char *rest;
	enum endpoint_form form;
} environ_urls[] = {
    {"ANTHROPIC_BASE_URL", "/anthropic", ENDPOINT_BY_NAME},
    {"OPENAI_BASE_URL", "/api.openai.com/v1", ENDPOINT_BY_HOST},
    {"GOOGLE_GEMINI_BASE_URL", "/gemini", ENDPOINT_BY_NAME},
};

enum { ENVIRON_URLS = sizeof(environ_urls) / sizeof(*environ_urls) };

/* Takes the value. */
static void
environ_set(struct environ *e, const char *name, char *value)
{
	if (value == NULL)
		return;
	if (e->n == ENVIRON_MAX) {
		free(value);
		return;
	}
	e->variables[e->n++] = (struct environ_variable){name, value};
}

static void
environ_set_url(struct environ *e, const struct config *c, const char *base,
    const char *name, const char *rest, enum endpoint_form form)
{
	const char *present = getenv(name);
	char out[ENDPOINT_BYTES];

	snprintf(out, sizeof(out), "%.900s%s", base, rest);
	if (present != NULL && present[0] != '\0') {
		switch (endpoint_over(c, base, present, form, out)) {
		case ENDPOINT_COVERED:
		case ENDPOINT_OURS: break;
		case ENDPOINT_UNCOVERED:
			client_note_uncovered(&e->plan, name, present);
			return;
		case ENDPOINT_ODD:
			buf_printf(&e->plan.notes,
			    "%s is left alone: it is not a plain URL\n", name);
			return;
		}
	}
	environ_set(e, name, strdup(out));
}

/* With a proxy in the environment some clients would ask it for 127.0.0.1. */
static void
environ_set_no_proxy(struct environ *e)
{
	static const char *const proxies[] = {"HTTP_PROXY", "http_proxy",
	    "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"};
	static const char *const names[] = {"NO_PROXY", "no_proxy"};
	bool has_proxy = false;

	for (size_t i = 0; i < sizeof(proxies) / sizeof(*proxies); i++)
		has_proxy = has_proxy || getenv(proxies[i]) != NULL;
	for (size_t i = 0; has_proxy && i < 2; i++) {
		const char *present = getenv(names[i]);
		char *value;

		if (present != NULL && strstr(present, "127.0.0.1") != NULL)
			continue;
		if (asprintf(&value, "%s%s127.0.0.1,localhost",
			present != NULL ? present : "",
			present != NULL && present[0] != '\0' ? "," : "") < 0)
			value = NULL;
		environ_set(e, names[i], value);
	}
}

int
environ_make(struct environ *e, const struct config *c, const char *project)
{
	const char *content = getenv("OPENCODE_CONFIG_CONTENT");
	const char *anthropic = getenv("ANTHROPIC_BASE_URL");
	char base[ENDPOINT_BYTES];
	char *value;

	memset(e, 0, sizeof(*e));
	client_plan_init(&e->plan);
	endpoint_base(c, project, base);
	environ_set(e, "OPENCODE_BASE_URL", strdup(base));
	value = opencode_content(c, content, &e->plan);
	if (value == NULL && content != NULL)
		buf_printf(&e->plan.notes,
		    "OPENCODE_CONFIG_CONTENT is left alone: it is not JSON\n");
	environ_set(e, "OPENCODE_CONFIG_CONTENT", value);
	for (size_t i = 0; i < ENVIRON_URLS; i++)
		environ_set_url(e, c, base, environ_urls[i].name,
		    environ_urls[i].rest, environ_urls[i].form);
	/* Off behind another host; but another vendor may not know it. */
	if (getenv("ENABLE_TOOL_SEARCH") == NULL &&
	    (anthropic == NULL || anthropic[0] == '\0' ||
		strstr(anthropic, "api.anthropic.com") != NULL))
		environ_set(e, "ENABLE_TOOL_SEARCH", strdup("true"));
	environ_set_no_proxy(e);
	return e->n > 0 ? 0 : -ENOMEM;
}

void
environ_fini(struct environ *e)
{
	for (size_t i = 0; i < e->n; i++)
		free(e->variables[i].value);
	client_plan_fini(&e->plan);
}
