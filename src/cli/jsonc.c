/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * jsonc: a copy of the text in which comments and trailing commas are blanks
 * has every value at the same place as the original: places are found in the
 * copy, the change is made in the original.
 */
#include "jsonc.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

enum { JSONC_BYTES = 4 << 20, JSONC_INDENT = 2 };

/* The end of a string that begins at I. */
static size_t
jsonc_string_end(const char *s, size_t i)
{
	for (i++; s[i] != '\0' && s[i] != '"'; i++)
		if (s[i] == '\\' && s[i + 1] != '\0')
			i++;
	return s[i] == '"' ? i + 1 : i;
}

static size_t
jsonc_skip_blanks(const char *s, size_t i)
{
	return i + strspn(s + i, " \t\r\n");
}

static void
jsonc_blank_comments(char *s)
{
	for (size_t i = 0; s[i] != '\0';) {
		if (s[i] == '"') {
			i = jsonc_string_end(s, i);
		} else if (s[i] == '/' && s[i + 1] == '/') {
			while (s[i] != '\0' && s[i] != '\n')
				s[i++] = ' ';
		} else if (s[i] == '/' && s[i + 1] == '*') {
			const char *end = strstr(s + i + 2, "*/");
			size_t to = end != NULL ? (size_t)(end + 2 - s)
						: strlen(s);

			for (; i < to; i++)
				if (s[i] != '\n')
					s[i] = ' ';
		} else {
			i++;
		}
	}
}

static void
jsonc_blank_commas(char *s)
{
	for (size_t i = 0; s[i] != '\0';) {
		size_t next;

		if (s[i] == '"') {
			i = jsonc_string_end(s, i);
			continue;
		}
		next = jsonc_skip_blanks(s, i + 1);
		if (s[i] == ',' && (s[next] == '}' || s[next] == ']'))
			s[i] = ' ';
		i++;
	}
}

static char *
jsonc_plain(const char *text)
{
	char *s = strdup(text);

	if (s == NULL)
		return NULL;
	jsonc_blank_comments(s);
	jsonc_blank_commas(s);
	return s;
}

json_t *
jsonc_load(const char *text)
{
	char *plain = jsonc_plain(text);
	json_t *document = NULL;

	if (plain == NULL)
		return NULL;
	if (plain[jsonc_skip_blanks(plain, 0)] == '\0')
		document = json_object();
	else
		document = json_loads(plain, JSON_REJECT_DUPLICATES, NULL);
	free(plain);
	return document;
}

/* The end of the value that begins at I, of a text that jansson has read. */
static size_t
jsonc_value_end(const char *s, size_t i)
{
	int depth = 0;

	if (s[i] != '{' && s[i] != '[')
		return s[i] == '"' ? jsonc_string_end(s, i)
				   : i + strcspn(s + i, ",}] \t\r\n");
	while (s[i] != '\0') {
		if (s[i] == '"') {
			i = jsonc_string_end(s, i);
			continue;
		}
		if (s[i] == '{' || s[i] == '[')
			depth++;
		if (s[i] == '}' || s[i] == ']')
			depth--;
		i++;
		if (depth == 0)
			break;
	}
	return i;
}

/* Where one object of the text has a member, or could have it. */
struct jsonc_place {
	bool is_found;
	size_t value; /* of the member, to value_end */
	size_t value_end;
	size_t open;     /* the brace */
	size_t close;    /* its brace */
	size_t last_end; /* of the last member's value; 0: there is none */
};

static void
jsonc_find(const char *s, size_t open, const char *key, struct jsonc_place *p)
{
	size_t i = jsonc_skip_blanks(s, open + 1), n = strlen(key);

	memset(p, 0, sizeof(*p));
	p->open = open;
	while (s[i] == '"') {
		size_t name = i + 1, end = jsonc_string_end(s, i), value;

		value = jsonc_skip_blanks(s, end);
		value = jsonc_skip_blanks(s, value + 1); /* the colon */
		p->last_end = jsonc_value_end(s, value);
		if (end - 1 - name == n && memcmp(s + name, key, n) == 0) {
			p->is_found = true;
			p->value = value;
			p->value_end = p->last_end;
			return;
		}
		i = jsonc_skip_blanks(s, p->last_end);
		if (s[i] == ',')
			i = jsonc_skip_blanks(s, i + 1);
	}
	p->close = i;
}

static void
jsonc_append_string(struct buf *b, const char *s)
{
	json_t *value = json_string(s);
	char *text = json_dumps(value, JSON_ENCODE_ANY);

	if (text != NULL)
		buf_append_str(b, text);
	free(text);
	json_decref(value);
}

/* How the members of one object are laid out. */
struct jsonc_style {
	bool is_one_line;
	const char *indent; /* of its members' lines, in the text */
	size_t n_indent;
	size_t unit; /* blanks of one more level */
	char blank;  /* ' ' or '\t' */
};

static void
jsonc_new_line(struct buf *b, const struct jsonc_style *style, size_t depth)
{
	if (style->is_one_line)
		return;
	buf_append(b, "\n", 1);
	buf_append(b, style->indent, style->n_indent);
	for (size_t i = 0; i < depth * style->unit; i++)
		buf_append(b, &style->blank, 1);
}

/* The member PATH[0] with all that is below it. */
static void
jsonc_member(struct buf *b, const struct jsonc_style *style,
    const char *const *path, size_t n, const char *value)
{
	for (size_t i = 0; i < n; i++) {
		jsonc_append_string(b, path[i]);
		buf_append_str(b, ": ");
		if (i + 1 == n)
			break;
		buf_append_str(b, "{");
		jsonc_new_line(b, style, i + 1);
	}
	jsonc_append_string(b, value);
	for (size_t i = n - 1; i-- > 0;) {
		jsonc_new_line(b, style, i);
		buf_append_str(b, "}");
	}
}

/* The blanks at the front of the line that holds I. */
static const char *
jsonc_line_indent(const char *text, size_t i, size_t *n_out)
{
	while (i > 0 && text[i - 1] != '\n')
		i--;
	*n_out = strspn(text + i, " \t");
	return text + i;
}

/* DEPTH is the object's: 0 for the whole. */
static void
jsonc_style_of(const char *text, const char *plain, const struct jsonc_place *p,
    size_t depth, struct jsonc_style *style)
{
	size_t first = jsonc_skip_blanks(plain, p->open + 1);

	style->indent = jsonc_line_indent(
	    text, p->last_end > 0 ? first : p->open, &style->n_indent);
	style->blank = style->n_indent > 0 && style->indent[0] == '\t' ? '\t'
								       : ' ';
	style->unit = style->blank == '\t' ? 1 : JSONC_INDENT;
	if (p->last_end > 0 && style->n_indent > 0 &&
	    style->n_indent % (depth + 1) == 0)
		style->unit = style->n_indent / (depth + 1);
	/* A full object that stands on one line stays there. */
	style->is_one_line = p->last_end > 0 && memchr(text + p->open, '\n',
						    first - p->open) == NULL;
}

/* Behind the brace of an object without members. */
static void
jsonc_insert_first(struct buf *b, const char *text, const struct jsonc_place *p,
    struct jsonc_style *style, const char *const *path, size_t n,
    const char *value)
{
	struct buf deeper;
	bool has_line = memchr(text + p->open, '\n', p->close - p->open) !=
			NULL;

	buf_append(b, text, p->open + 1);
	jsonc_new_line(b, style, 1);
	/* Its members' lines are one level below the brace's. */
	buf_init(&deeper, JSONC_BYTES);
	buf_append(&deeper, style->indent, style->n_indent);
	for (size_t i = 0; i < style->unit; i++)
		buf_append(&deeper, &style->blank, 1);
	style->indent = buf_data(&deeper);
	style->n_indent += style->unit;
	jsonc_member(b, style, path, n, value);
	style->n_indent -= style->unit;
	if (!has_line)
		jsonc_new_line(b, style, 0);
	buf_append_str(b, text + p->open + 1);
	buf_fini(&deeper);
}

/* Behind the last member; what is said of that one stays on its line. */
static void
jsonc_insert_last(struct buf *b, const char *text, const char *bare,
    const struct jsonc_place *p, const struct jsonc_style *style,
    const char *const *path, size_t n, const char *value)
{
	const char *comma = memchr(
	    bare + p->last_end, ',', p->close - p->last_end);
	size_t at = comma != NULL ? (size_t)(comma - bare) + 1 : p->last_end;
	const char *line = memchr(text + at, '\n', p->close - at);

	buf_append(b, text, at);
	if (comma == NULL)
		buf_append(b, ",", 1);
	if (style->is_one_line) {
		buf_append(b, " ", 1);
	} else if (line != NULL) {
		buf_append(b, text + at, (size_t)(line - text) - at);
		at = (size_t)(line - text);
	}
	jsonc_new_line(b, style, 0);
	jsonc_member(b, style, path, n, value);
	buf_append_str(b, text + at);
}

/* The change itself, without a proof. BARE is the text without its comments,
 * PLAIN also without trailing commas. */
static int
jsonc_change(struct buf *b, const char *text, const char *bare,
    const char *plain, const char *const *path, size_t n, const char *value)
{
	size_t open = jsonc_skip_blanks(plain, 0), depth = 0;
	struct jsonc_style style;
	struct jsonc_place p;

	for (;; depth++) {
		if (plain[open] != '{')
			return -EINVAL;
		jsonc_find(plain, open, path[depth], &p);
		if (!p.is_found || depth + 1 == n)
			break;
		open = p.value;
	}
	if (p.is_found) {
		buf_append(b, text, p.value);
		jsonc_append_string(b, value);
		buf_append_str(b, text + p.value_end);
		return 0;
	}
	jsonc_style_of(text, plain, &p, depth, &style);
	if (p.last_end == 0)
		jsonc_insert_first(
		    b, text, &p, &style, path + depth, n - depth, value);
	else
		jsonc_insert_last(
		    b, text, bare, &p, &style, path + depth, n - depth, value);
	return 0;
}

/* Sets the value in the document that jansson has read. */
static int
jsonc_set_document(
    json_t *at, const char *const *path, size_t n, const char *value)
{
	for (size_t i = 0; i + 1 < n; i++) {
		json_t *next = json_object_get(at, path[i]);

		if (next == NULL) {
			next = json_object();
			if (json_object_set_new(at, path[i], next) != 0)
				return -EINVAL;
		}
		if (!json_is_object(next))
			return -EINVAL;
		at = next;
	}
	return json_object_set_new(at, path[n - 1], json_string(value)) == 0
		   ? 0
		   : -EINVAL;
}

int
jsonc_set_string(const char *text, const char *const *path, size_t n,
    const char *value, char **out)
{
	char *bare = NULL, *plain = NULL;
	json_t *meant, *said = NULL;
	struct buf b;
	size_t size;
	int result = -EINVAL;

	if (text[strspn(text, " \t\r\n")] == '\0')
		text = "{}\n";
	*out = NULL;
	buf_init(&b, JSONC_BYTES);
	meant = jsonc_load(text);
	if (!json_is_object(meant) ||
	    jsonc_set_document(meant, path, n, value) != 0)
		goto out;
	bare = strdup(text);
	plain = jsonc_plain(text);
	if (bare == NULL || plain == NULL) {
		result = -ENOMEM;
		goto out;
	}
	jsonc_blank_comments(bare);
	if (jsonc_change(&b, text, bare, plain, path, n, value) != 0 ||
	    buf_append(&b, "", 1) != 0)
		goto out;
	said = jsonc_load(buf_data(&b));
	if (!json_equal(meant, said))
		goto out;
	*out = buf_take(&b, &size);
	result = *out != NULL ? 0 : -ENOMEM;
out:
	json_decref(meant);
	json_decref(said);
	free(bare);
	free(plain);
	buf_fini(&b);
	return result;
}
