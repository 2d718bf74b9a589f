/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * text: widths come from wcwidth() in a UTF-8 locale of the module's own, so
 * that LC_ALL=C does not tear a table whose names are not ASCII.
 */
#include "report/text.h"

#include <locale.h>
#include <pthread.h>
#include <string.h>
#include <wchar.h>

static locale_t text_locale;
static pthread_once_t text_once = PTHREAD_ONCE_INIT;

static void
text_start(void)
{
	text_locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

/* The bytes and the columns of the character at S, which is not empty. */
static size_t
text_char(const char *s, size_t *columns_out)
{
	mbstate_t state = {0};
	wchar_t wide;
	size_t n = mbrtowc(&wide, s, strlen(s), &state);
	int columns;

	*columns_out = 1;
	if (n == (size_t)-1 || n == (size_t)-2 || n == 0)
		return 1;
	columns = wcwidth(wide);
	if (columns >= 0)
		*columns_out = (size_t)columns;
	return n;
}

static locale_t
text_enter(void)
{
	pthread_once(&text_once, text_start);
	return text_locale != (locale_t)0 ? uselocale(text_locale)
					  : (locale_t)0;
}

static void
text_leave(locale_t old)
{
	if (old != (locale_t)0)
		uselocale(old);
}

static size_t
text_columns(const char *s)
{
	size_t width = 0, columns;

	while (*s != '\0') {
		s += text_char(s, &columns);
		width += columns;
	}
	return width;
}

size_t
text_width(const char *s)
{
	locale_t old = text_enter();
	size_t width = text_columns(s);

	text_leave(old);
	return width;
}

/* The bytes of S that fit into WIDTH columns, which are set to those used. */
static size_t
text_head(const char *s, size_t *width)
{
	size_t n = 0, used = 0, columns, step;

	while (s[n] != '\0') {
		step = text_char(s + n, &columns);
		if (used + columns > *width)
			break;
		used += columns;
		n += step;
	}
	*width = used;
	return n;
}

/* The first byte of the longest end of S that fits into *WIDTH columns. */
static const char *
text_tail(const char *s, size_t *width)
{
	size_t left = text_columns(s), columns, step;

	while (*s != '\0' && left > *width) {
		step = text_char(s, &columns);
		left -= columns;
		s += step;
	}
	*width = left;
	return s;
}

size_t
text_shorten(const char *s, size_t width, char *out, size_t size)
{
	static const char ellipsis[] = "…";
	locale_t old = text_enter();
	size_t all = text_columns(s), head, tail, n;
	const char *end;

	if (all <= width && strlen(s) < size) {
		strcpy(out, s);
		text_leave(old);
		return all;
	}
	if (width < 3) {
		n = text_head(s, &width);
		if (n >= size)
			n = width = 0;
		memcpy(out, s, n);
		out[n] = '\0';
		text_leave(old);
		return width;
	}
	/* Names differ most at their ends: the head gets the larger half, so
	 * that maker and family stay readable too. */
	tail = (width - 1) * 2 / 5;
	head = width - 1 - tail;
	n = text_head(s, &head);
	end = text_tail(s, &tail);
	if (n + sizeof(ellipsis) + strlen(end) > size) {
		out[0] = '?';
		out[1] = '\0';
		text_leave(old);
		return 1;
	}
	memcpy(out, s, n);
	memcpy(out + n, ellipsis, sizeof(ellipsis) - 1);
	strcpy(out + n + sizeof(ellipsis) - 1, end);
	text_leave(old);
	return head + 1 + tail;
}
