/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * opencode: a base URL a provider, in any of several files; there is no one
 * for all. The provider's id is kept and only its baseURL is set, for by the
 * id it decides what it sends. A provider is named only where the user has it:
 * naming one makes opencode offer it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "endpoint.h"
#include "jsonc.h"

enum { OPENCODE_PROVIDERS_MAX = 64, OPENCODE_ID_BYTES = 64 };

struct opencode_provider {
	char id[OPENCODE_ID_BYTES];
	char url[ENDPOINT_BYTES]; /* "": not given */
};

struct opencode {
	struct opencode_provider providers[OPENCODE_PROVIDERS_MAX];
	size_t n;
};

static void
opencode_add(struct opencode *o, const char *id, size_t n_id, const char *url)
{
	struct opencode_provider *p = NULL;

	if (n_id == 0 || n_id >= OPENCODE_ID_BYTES)
		return;
	for (size_t i = 0; i < o->n; i++)
		if (strlen(o->providers[i].id) == n_id &&
		    memcmp(o->providers[i].id, id, n_id) == 0)
			p = &o->providers[i];
	if (p == NULL && o->n == OPENCODE_PROVIDERS_MAX)
		return;
	if (p == NULL) {
		p = &o->providers[o->n++];
		memcpy(p->id, id, n_id);
		p->id[n_id] = '\0';
	}
	/* A later file wins over an earlier one. */
	if (url != NULL)
		snprintf(p->url, sizeof(p->url), "%s", url);
}

/* The provider of "provider/model". */
static void
opencode_add_model(struct opencode *o, const json_t *model)
{
	const char *name = json_string_value(model);
	const char *slash = name != NULL ? strchr(name, '/') : NULL;

	if (slash != NULL)
		opencode_add(o, name, (size_t)(slash - name), NULL);
}

static void
opencode_add_document(struct opencode *o, json_t *document)
{
	static const char *const sections[] = {"agent", "mode", "command"};
	const char *key;
	json_t *value;

	json_object_foreach(json_object_get(document, "provider"), key, value)
	{
		const json_t *options = json_object_get(value, "options");
		const char *url = json_string_value(
		    json_object_get(options, "baseURL"));

		if (url == NULL)
			url = json_string_value(json_object_get(value, "api"));
		opencode_add(o, key, strlen(key), url);
	}
	opencode_add_model(o, json_object_get(document, "model"));
	opencode_add_model(o, json_object_get(document, "small_model"));
	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++)
		json_object_foreach(
		    json_object_get(document, sections[i]), key, value)
		    opencode_add_model(o, json_object_get(value, "model"));
}

static void
opencode_add_file(struct opencode *o, const char *path)
{
	char *text;
	json_t *document;

	if (files_read(path, &text) != 0)
		return;
	document = jsonc_load(text);
	opencode_add_document(o, document);
	json_decref(document);
	free(text);
}

/* Providers that are logged in: of that file the names alone are looked at. */
static void
opencode_add_logins(struct opencode *o)
{
	char path[FILES_PATH_BYTES];
	json_t *document, *value;
	const char *key;
	char *text;

	files_under(
	    "XDG_DATA_HOME", ".local/share", "opencode/auth.json", path);
	if (files_read(path, &text) != 0)
		return;
	document = jsonc_load(text);
	json_object_foreach(document, key, value)
	    opencode_add(o, key, strlen(key), NULL);
	json_decref(document);
	explicit_bzero(text, strlen(text));
	free(text);
}

static void
opencode_add_keys(struct opencode *o)
{
	for (size_t i = 0; i < n_endpoint_known; i++) {
		const struct endpoint_known *k = &endpoint_known[i];

		for (size_t j = 0; j < 3 && k->keys[j] != NULL; j++)
			if (getenv(k->keys[j]) != NULL)
				opencode_add(o, k->id, strlen(k->id), NULL);
	}
	/* Its own service answers without a key too. */
	opencode_add(o, "opencode", strlen("opencode"), NULL);
}

static const char *const opencode_files[] = {"opencode/config.json",
    "opencode/opencode.json", "opencode/opencode.jsonc"};

enum { OPENCODE_FILES = sizeof(opencode_files) / sizeof(*opencode_files) };

/* The user's own files, from the weakest to the strongest. */
static void
opencode_add_home(struct opencode *o)
{
	char path[FILES_PATH_BYTES];

	for (size_t i = 0; i < OPENCODE_FILES; i++) {
		files_under(
		    "XDG_CONFIG_HOME", ".config", opencode_files[i], path);
		opencode_add_file(o, path);
	}
	opencode_add_logins(o);
	opencode_add_keys(o);
}

/* 0: OUT is to be set. 1: nothing to do for this one. */
static int
opencode_over(const struct config *c, const char *base,
    const struct opencode_provider *p, struct client_plan *plan,
    char out[ENDPOINT_BYTES])
{
	const struct endpoint_known *k = endpoint_known_find(p->id);
	const char *url = p->url[0] != '\0' ? p->url
			  : k != NULL       ? k->url
					    : NULL;

	if (url == NULL) {
		buf_printf(&plan->notes,
		    "provider %s: its URL is not known here; give it "
		    "options.baseURL and connect again\n",
		    p->id);
		return 1;
	}
	switch (endpoint_over(c, base, url, ENDPOINT_BY_NAME, out)) {
	case ENDPOINT_COVERED: return 0;
	case ENDPOINT_OURS: plan->n_here++; return strcmp(out, url) == 0;
	case ENDPOINT_UNCOVERED:
		client_note_uncovered(plan, p->id, url);
		return 1;
	case ENDPOINT_ODD: break;
	}
	buf_printf(&plan->notes,
	    "provider %s: left alone, its baseURL is not a plain URL: %s\n",
	    p->id, url);
	return 1;
}

char *
opencode_content(
    const struct config *c, const char *present, struct client_plan *plan)
{
	struct opencode *o = calloc(1, sizeof(*o));
	json_t *document = jsonc_load(present != NULL ? present : "");
	const char *file = getenv("OPENCODE_CONFIG");
	char url[ENDPOINT_BYTES], *content = NULL;

	if (o == NULL || !json_is_object(document))
		goto out;
	opencode_add_home(o);
	if (file != NULL)
		opencode_add_file(o, file);
	opencode_add_file(o, "opencode.json");
	opencode_add_file(o, "opencode.jsonc");
	opencode_add_document(o, document);
	for (size_t i = 0; i < o->n; i++) {
		const char *id = o->providers[i].id;
		json_t *patch;

		if (opencode_over(c, "{env:OPENCODE_BASE_URL}",
			&o->providers[i], plan, url) != 0)
			continue;
		patch = json_pack("{s:{s:{s:{s:s}}}}", "provider", id,
		    "options", "baseURL", url);
		json_object_update_recursive(document, patch);
		json_decref(patch);
	}
	content = json_dumps(document, JSON_COMPACT);
out:
	json_decref(document);
	free(o);
	return content;
}

static int
opencode_change(struct client_plan *plan, const char *id, const char *url)
{
	const char *path[] = {"provider", id, "options", "baseURL"};
	const char *text = plan->after != NULL ? plan->after
			   : plan->before != NULL
			       ? plan->before
			       : "{\n  \"$schema\": "
				 "\"https://opencode.ai/config.json\"\n}\n";
	char *next;
	int result = jsonc_set_string(text, path, 4, url, &next);

	if (result != 0) {
		buf_printf(&plan->notes,
		    "%s cannot be changed safely; put in it: provider.%s."
		    "options.baseURL = \"%s\"\n",
		    plan->path, id, url);
		return result;
	}
	free(plan->after);
	plan->after = next;
	return 0;
}

int
opencode_plan(
    const struct config *c, const char *base, struct client_plan *plan)
{
	struct opencode *o = calloc(1, sizeof(*o));
	char url[ENDPOINT_BYTES], path[FILES_PATH_BYTES];
	int result;

	if (o == NULL)
		return -ENOMEM;
	opencode_add_home(o);
	/* The strongest that is there, so that no other one undoes it. */
	files_under(
	    "XDG_CONFIG_HOME", ".config", opencode_files[1], plan->path);
	for (size_t i = 0; i < OPENCODE_FILES; i++) {
		files_under(
		    "XDG_CONFIG_HOME", ".config", opencode_files[i], path);
		if (files_exists(path))
			memcpy(plan->path, path, sizeof(path));
	}
	result = client_plan_read(plan);
	for (size_t i = 0; result == 0 && i < o->n; i++)
		if (opencode_over(c, base, &o->providers[i], plan, url) == 0)
			(void)opencode_change(plan, o->providers[i].id, url);
	free(o);
	return result;
}
