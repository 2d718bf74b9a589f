/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "draft.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

void
draft_fini(struct draft *d)
{
	arena_fini(&d->arena);
	free(d->settings);
	free(d->titles);
	free(d->files);
	memset(d, 0, sizeof(*d));
}

char *
draft_printf(struct draft *d, const char *format, ...)
{
	char *text = NULL, *copy = NULL;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n >= 0) {
		copy = arena_copy(&d->arena, text, (size_t)n);
		free(text);
	}
	if (copy == NULL)
		d->is_out_of_memory = true;
	return copy;
}

void
draft_problem(
    struct draft *d, const struct draft_origin *origin, const char *format, ...)
{
	struct draft_problem *p;
	char text[768];
	va_list args;

	if (d->n_problems == DRAFT_PROBLEMS_MAX)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (char *c = text; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	p = &d->problems[d->n_problems++];
	p->origin = *origin;
	p->text = draft_printf(d, "%s", text);
}

static bool
draft_is_title(
    const struct draft_title *t, enum config_section section, const char *title)
{
	return t->section == section && strcmp(t->title, title) == 0;
}

void
draft_open(struct draft *d, enum config_section section, const char *title,
    const struct draft_origin *origin, bool is_user)
{
	struct draft_title *grown;

	for (size_t i = 0; i < d->n_titles; i++) {
		struct draft_title *t = &d->titles[i];

		if (!draft_is_title(t, section, title))
			continue;
		if (is_user && !t->is_user) {
			t->is_user = true;
			t->origin = *origin;
		}
		return;
	}
	grown = realloc(d->titles, (d->n_titles + 1) * sizeof(*grown));
	if (grown == NULL) {
		d->is_out_of_memory = true;
		return;
	}
	d->titles = grown;
	d->titles[d->n_titles++] = (struct draft_title){.section = section,
	    .title = title,
	    .is_user = is_user,
	    .origin = *origin};
}

static struct draft_setting *
draft_find(
    const struct draft *d, const struct config_key *key, const char *title)
{
	for (size_t i = 0; i < d->n_settings; i++) {
		struct draft_setting *s = &d->settings[i];

		if (s->key == key &&
		    (title == NULL || strcmp(s->title, title) == 0))
			return s;
	}
	return NULL;
}

static struct draft_setting *
draft_add(struct draft *d, const struct config_key *key, const char *title)
{
	struct draft_setting *grown;

	grown = realloc(d->settings, (d->n_settings + 1) * sizeof(*grown));
	if (grown == NULL) {
		d->is_out_of_memory = true;
		return NULL;
	}
	d->settings = grown;
	d->settings[d->n_settings] = (struct draft_setting){
	    .key = key, .title = title};
	return &d->settings[d->n_settings++];
}

/* Lists are short: each item gets a new array in the arena. */
static void
draft_append(struct draft *d, struct draft_setting *s, const char *value)
{
	const char **items = arena_alloc(
	    &d->arena, (s->n_items + 1) * sizeof(*items));
	const char *copy = arena_copy(&d->arena, value, strlen(value));

	if (items == NULL || copy == NULL) {
		d->is_out_of_memory = true;
		return;
	}
	if (s->n_items > 0)
		memcpy(items, s->items, s->n_items * sizeof(*items));
	items[s->n_items++] = copy;
	s->items = items;
}

void
draft_set(struct draft *d, const struct config_key *key, const char *title,
    const char *value, bool is_appended, const struct draft_origin *origin)
{
	struct draft_setting *s = draft_find(d, key, title);

	if (s == NULL)
		s = draft_add(d, key, title);
	else if (!is_appended && s->origin.source == origin->source &&
		 origin->line != 0)
		draft_problem(d, origin, "'%s' is set again; first in line %d",
		    key->name, s->origin.line);
	if (s == NULL)
		return;
	if (!is_appended) {
		s->n_items = 0;
		s->origin = *origin;
	}
	if (value != NULL)
		draft_append(d, s, value);
}

const struct draft_setting *
draft_get(const struct draft *d, enum config_section section, const char *title,
    const char *name)
{
	const struct config_key *key = config_key_find(
	    section, name, strlen(name));

	return draft_find(d, key, title);
}

static int
draft_compare_problems(const void *a, const void *b)
{
	const struct draft_problem *x = a, *y = b;

	if (x->origin.source != y->origin.source)
		return x->origin.source < y->origin.source ? -1 : 1;
	if (x->origin.line != y->origin.line)
		return x->origin.line < y->origin.line ? -1 : 1;
	return 0;
}

char *
draft_report(struct draft *d)
{
	struct buf b;
	char *text;
	size_t n;

	buf_init(&b, DRAFT_PROBLEMS_MAX * 2048);
	qsort(d->problems, d->n_problems, sizeof(d->problems[0]),
	    draft_compare_problems);
	for (size_t i = 0; i < d->n_problems; i++) {
		const struct draft_problem *p = &d->problems[i];

		buf_printf(&b, "%s%s: %s", i > 0 ? "\n" : "", p->origin.text,
		    p->text != NULL ? p->text : "");
	}
	if (d->is_out_of_memory)
		buf_printf(
		    &b, "%sthere is no memory", d->n_problems > 0 ? "\n" : "");
	buf_append(&b, "", 1);
	text = buf_take(&b, &n);
	buf_fini(&b);
	return text;
}
