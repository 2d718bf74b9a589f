/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "screen.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "reading.h"
#include "report/text.h"

void
screen_init(struct screen *s)
{
	memset(s, 0, sizeof(*s));
	buf_init(&s->out, SCREEN_BYTES);
	buf_init(&s->foot, SCREEN_BYTES);
	s->is_terminal = reading_is_terminal(STDOUT_FILENO);
	s->has_colour = reading_has_colour(STDOUT_FILENO);
	s->width = reading_width(STDOUT_FILENO);
}

static void
screen_clear_foot(struct screen *s)
{
	if (s->n_foot == 0)
		return;
	/* To the first line of the foot, and clear from there to the end. */
	buf_printf(&s->out, "\r\033[%zuA\033[J", s->n_foot);
	s->n_foot = 0;
}

void
screen_fini(struct screen *s)
{
	screen_clear_foot(s);
	screen_flush(s);
	buf_fini(&s->out);
	buf_fini(&s->foot);
}

bool
screen_resize(struct screen *s)
{
	size_t width = reading_width(STDOUT_FILENO);
	bool has_changed = width != s->width;

	s->width = width;
	return has_changed;
}

static void
screen_line(
    struct screen *s, enum screen_colour colour, const char *line, size_t n)
{
	static const char *const codes[] = {
	    [SCREEN_PLAIN] = "",
	    [SCREEN_DIM] = "\033[2m",
	    [SCREEN_YELLOW] = "\033[33m",
	    [SCREEN_RED] = "\033[31m",
	};
	bool is_coloured = s->has_colour && colour != SCREEN_PLAIN;

	if (is_coloured)
		buf_append_str(&s->out, codes[colour]);
	buf_append(&s->out, line, n);
	if (is_coloured)
		buf_append_str(&s->out, "\033[0m");
	buf_append(&s->out, "\n", 1);
	if (buf_len(&s->out) > SCREEN_BYTES / 2)
		screen_flush(s);
}

void
screen_lines(
    struct screen *s, enum screen_colour colour, const char *text, size_t n)
{
	screen_clear_foot(s);
	while (n > 0) {
		const char *end = memchr(text, '\n', n);
		size_t line = end != NULL ? (size_t)(end - text) : n;

		screen_line(s, colour, text, line);
		line += end != NULL ? 1 : 0;
		text += line;
		n -= line;
	}
}

void
screen_words(struct screen *s, enum screen_colour colour, const char *first,
    const char *text)
{
	size_t indent = strlen(first), width = indent;
	struct buf line;

	buf_init(&line, SCREEN_BYTES);
	buf_append_str(&line, first);
	screen_clear_foot(s);
	text += strspn(text, " ");
	while (*text != '\0') {
		size_t n = strcspn(text, " ");
		char word[256];
		size_t columns;

		if (n > sizeof(word) - 1)
			n = sizeof(word) - 1;
		memcpy(word, text, n);
		word[n] = '\0';
		columns = text_width(word);
		if (width > indent && width + 1 + columns > s->width) {
			screen_line(s, colour, buf_data(&line), buf_len(&line));
			buf_clear(&line);
			buf_printf(&line, "%*s", (int)indent, "");
			width = indent;
		}
		buf_printf(&line, "%s%s", width > indent ? " " : "", word);
		width += columns + (width > indent ? 1 : 0);
		text += n;
		text += strspn(text, " ");
	}
	screen_line(s, colour, buf_data(&line), buf_len(&line));
	buf_fini(&line);
}

void
screen_foot(struct screen *s, const char *text, size_t n)
{
	size_t n_lines = 0;

	if (!s->is_terminal)
		return;
	/* The same again: not a byte. */
	if (s->n_foot > 0 && n == buf_len(&s->foot) &&
	    memcmp(text, buf_data(&s->foot), n) == 0) {
		screen_flush(s);
		return;
	}
	screen_clear_foot(s);
	buf_clear(&s->foot);
	buf_append(&s->foot, text, n);
	for (size_t i = 0; i < n; i++)
		if (text[i] == '\n')
			n_lines++;
	buf_append(&s->out, text, n);
	s->n_foot = n_lines;
	screen_flush(s);
}

void
screen_flush(struct screen *s)
{
	if (buf_len(&s->out) > 0 && !reading_flush(&s->out))
		s->is_broken = true;
}

bool
screen_is_gone(struct screen *s)
{
	struct pollfd p = {.fd = STDOUT_FILENO, .events = 0};

	return s->is_broken ||
	       (poll(&p, 1, 0) == 1 &&
		   (p.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0);
}
