/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * codex: config.toml, read line by line: only `key = "text"` and table heads
 * are understood, and only a text's own bytes are ever replaced. A file that
 * holds more than that (texts over several lines) is left alone, with advice.
 *
 * The built-in provider takes openai_base_url; another one has its base_url in
 * its own table.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "endpoint.h"
#include "jsonc.h"

enum { CODEX_NAME_BYTES = 160 };

/* One `key = "text"`: where its text lies, without quotes. */
struct codex_line {
	char key[CODEX_NAME_BYTES]; /* with its table: a.b.key */
	size_t value;
	size_t n_value;
};

struct codex_reader {
	const char *text;
	size_t at; /* the next line */
	char table[CODEX_NAME_BYTES];
};

static bool
codex_read_table(struct codex_reader *r, const char *p, size_t n)
{
	const char *end = memchr(p, ']', n);

	if (end == NULL || end - p - 1 >= CODEX_NAME_BYTES || p[1] == '[')
		snprintf(r->table, sizeof(r->table), "?");
	else
		snprintf(r->table, sizeof(r->table), "%.*s", (int)(end - p - 1),
		    p + 1);
	return false;
}

/* Fills LINE from the next line; false where that is no `key = "text"`. */
static bool
codex_read_line(struct codex_reader *r, struct codex_line *line)
{
	size_t n = strcspn(r->text + r->at, "\n"), n_key;
	const char *p = r->text + r->at, *end = p + n, *quote;

	r->at += n + (p[n] == '\n' ? 1 : 0);
	p += strspn(p, " \t");
	if (p >= end || *p == '#')
		return false;
	if (*p == '[')
		return codex_read_table(r, p, (size_t)(end - p));
	n_key = strcspn(p, " \t=\n");
	snprintf(line->key, sizeof(line->key), "%.120s%s%.*s", r->table,
	    r->table[0] != '\0' ? "." : "", (int)(n_key < 64 ? n_key : 64), p);
	p += n_key;
	p += strspn(p, " \t");
	if (*p != '=')
		return false;
	p++;
	p += strspn(p, " \t");
	if (p >= end || (*p != '"' && *p != '\''))
		return false;
	quote = memchr(p + 1, *p, (size_t)(end - p - 1));
	if (quote == NULL || memchr(p, '\\', (size_t)(quote - p)) != NULL)
		return false;
	line->value = (size_t)(p + 1 - r->text);
	line->n_value = (size_t)(quote - p - 1);
	return true;
}

/* The text of KEY; false where there is none. */
static bool
codex_get(const char *text, const char *key, struct codex_line *line)
{
	struct codex_reader r = {.text = text};

	while (text[r.at] != '\0')
		if (codex_read_line(&r, line) && strcmp(line->key, key) == 0)
			return true;
	return false;
}

static bool
codex_is_plain(const char *text)
{
	return strstr(text, "\"\"\"") == NULL && strstr(text, "'''") == NULL;
}

/* Logged in with ChatGPT, and no key: of that file only this is looked at. */
static bool
codex_is_chatgpt(void)
{
	char path[FILES_PATH_BYTES], *text;
	json_t *document;
	bool is_chatgpt;

	if (getenv("CODEX_API_KEY") != NULL)
		return false;
	files_under("CODEX_HOME", ".codex", "auth.json", path);
	if (files_read(path, &text) != 0)
		return false;
	document = jsonc_load(text);
	is_chatgpt = json_is_object(json_object_get(document, "tokens")) &&
		     !json_is_string(
			 json_object_get(document, "OPENAI_API_KEY"));
	json_decref(document);
	explicit_bzero(text, strlen(text));
	free(text);
	return is_chatgpt;
}

/* The key that says where the provider in use is, and its value as of TEXT
 * ("" where it has none). */
static void
codex_place(
    const char *text, char key[CODEX_NAME_BYTES], char url[ENDPOINT_BYTES])
{
	struct codex_line line;

	snprintf(key, CODEX_NAME_BYTES, "openai_base_url");
	if (codex_get(text, "model_provider", &line) &&
	    !(line.n_value == 6 && memcmp(text + line.value, "openai", 6) == 0))
		snprintf(key, CODEX_NAME_BYTES, "model_providers.%.*s.base_url",
		    (int)(line.n_value < 80 ? line.n_value : 80),
		    text + line.value);
	url[0] = '\0';
	if (codex_get(text, key, &line))
		snprintf(url, ENDPOINT_BYTES, "%.*s",
		    (int)(line.n_value < 900 ? line.n_value : 900),
		    text + line.value);
}

/* 0: OUT is to be set at KEY. 1: nothing to do. */
static int
codex_over(const struct config *c, const char *base, const char *key,
    const char *url, struct client_plan *plan, char out[ENDPOINT_BYTES])
{
	if (url[0] == '\0') {
		if (strcmp(key, "openai_base_url") != 0) {
			buf_printf(&plan->notes,
			    "left alone: %s is not a plain text in %s\n", key,
			    plan->path);
			return 1;
		}
		snprintf(out, ENDPOINT_BYTES, "%.900s/%s", base,
		    codex_is_chatgpt() ? "chatgpt/backend-api/codex"
				       : "openai/v1");
		return 0;
	}
	switch (endpoint_over(c, base, url, ENDPOINT_BY_NAME, out)) {
	case ENDPOINT_COVERED: return 0;
	case ENDPOINT_OURS: plan->n_here++; return strcmp(out, url) == 0;
	case ENDPOINT_UNCOVERED:
		client_note_uncovered(plan, "codex", url);
		return 1;
	case ENDPOINT_ODD: break;
	}
	buf_printf(&plan->notes, "left alone: %s is not a plain URL\n", key);
	return 1;
}

static int
codex_read(struct client_plan *plan)
{
	files_under("CODEX_HOME", ".codex", "config.toml", plan->path);
	return client_plan_read(plan);
}

char *
codex_override(
    const struct config *c, const char *base, struct client_plan *plan)
{
	char key[CODEX_NAME_BYTES], url[ENDPOINT_BYTES], out[ENDPOINT_BYTES];
	char *override = NULL;

	if (codex_read(plan) != 0)
		return NULL;
	codex_place(plan->before != NULL ? plan->before : "", key, url);
	if (codex_over(c, base, key, url, plan, out) == 0 &&
	    asprintf(&override, "%s=\"%s\"", key, out) < 0)
		return NULL;
	return override;
}

int
codex_plan(const struct config *c, const char *base, struct client_plan *plan)
{
	char key[CODEX_NAME_BYTES], url[ENDPOINT_BYTES], out[ENDPOINT_BYTES];
	struct codex_line line;
	const char *text;
	int result = codex_read(plan);

	if (result != 0)
		return result;
	text = plan->before != NULL ? plan->before : "";
	codex_place(text, key, url);
	if (codex_over(c, base, key, url, plan, out) != 0)
		return 0;
	if (!codex_is_plain(text)) {
		buf_printf(&plan->notes,
		    "%s cannot be changed safely; put in it: %s = \"%s\"\n",
		    plan->path, key, out);
		return 0;
	}
	/* A new key goes before the first table, so at the very front. */
	if (!codex_get(text, key, &line)) {
		if (asprintf(&plan->after, "%s = \"%s\"\n%s", key, out, text) <
		    0)
			plan->after = NULL;
		return plan->after != NULL ? 0 : -ENOMEM;
	}
	if (asprintf(&plan->after, "%.*s%s%s", (int)line.value, text, out,
		text + line.value + line.n_value) < 0)
		plan->after = NULL;
	return plan->after != NULL ? 0 : -ENOMEM;
}
