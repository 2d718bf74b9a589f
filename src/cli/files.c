/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "files.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

enum { FILES_LINES_MAX = 4000, FILES_CELLS_MAX = 4 << 20 };

int
files_read(const char *path, char **text_out)
{
	FILE *file = fopen(path, "re");
	struct buf b;
	size_t n, size;
	int result = 0;
	char *room;

	*text_out = NULL;
	if (file == NULL)
		return -errno;
	buf_init(&b, FILES_BYTES);
	for (;;) {
		room = buf_reserve(&b, 4096);
		if (room == NULL) {
			result = -EFBIG;
			break;
		}
		n = fread(room, 1, 4096, file);
		if (n == 0)
			break;
		buf_commit(&b, n);
	}
	if (result == 0 && ferror(file))
		result = -EIO;
	if (result == 0 && memchr(buf_data(&b), '\0', buf_len(&b)) != NULL)
		result = -EINVAL;
	if (result == 0 && buf_append(&b, "", 1) == 0)
		*text_out = buf_take(&b, &size);
	if (result == 0 && *text_out == NULL)
		result = -ENOMEM;
	fclose(file);
	buf_fini(&b);
	return result;
}

bool
files_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static int
files_make_folders(const char *path)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%s", path);
	for (char *p = strchr(folder + 1, '/'); p != NULL;
	     p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdir(folder, 0700) != 0 && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return 0;
}

static int
files_write_all(int fd, const char *text, size_t n)
{
	while (n > 0) {
		ssize_t done = write(fd, text, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		text += done;
		n -= (size_t)done;
	}
	return fsync(fd) == 0 ? 0 : -errno;
}

int
files_replace(const char *path, const char *text)
{
	char real[PATH_MAX], next[PATH_MAX + 32];
	struct stat st;
	int result, fd;

	if (realpath(path, real) == NULL) {
		if (errno != ENOENT)
			return -errno;
		snprintf(real, sizeof(real), "%s", path);
		result = files_make_folders(real);
		if (result != 0)
			return result;
	}
	snprintf(next, sizeof(next), "%s.turnmeter-XXXXXX", real);
	fd = mkostemp(next, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	result = files_write_all(fd, text, strlen(text));
	if (result == 0 && stat(real, &st) == 0 &&
	    fchmod(fd, st.st_mode & 07777) != 0)
		result = -errno;
	if (close(fd) != 0 && result == 0)
		result = -errno;
	if (result == 0 && rename(next, real) != 0)
		result = -errno;
	if (result != 0)
		unlink(next);
	return result;
}

void
files_under(const char *variable, const char *fallback, const char *rest,
    char out[FILES_PATH_BYTES])
{
	const char *folder = variable != NULL ? getenv(variable) : NULL;
	const char *home = getenv("HOME");

	if (folder != NULL && folder[0] == '/')
		snprintf(out, FILES_PATH_BYTES, "%s/%s", folder, rest);
	else
		snprintf(out, FILES_PATH_BYTES, "%s/%s/%s",
		    home != NULL ? home : "", fallback, rest);
}

/* Lines of a text; the slices lie in it. */
struct files_lines {
	const char *at[FILES_LINES_MAX];
	size_t length[FILES_LINES_MAX];
	size_t n;
};

static void
files_split(struct files_lines *lines, const char *text)
{
	lines->n = 0;
	while (text != NULL && *text != '\0' && lines->n < FILES_LINES_MAX) {
		size_t n = strcspn(text, "\n");

		lines->at[lines->n] = text;
		lines->length[lines->n++] = n;
		text += n + (text[n] == '\n' ? 1 : 0);
	}
}

static bool
files_same(const struct files_lines *a, size_t i, const struct files_lines *b,
    size_t j)
{
	return a->length[i] == b->length[j] &&
	       memcmp(a->at[i], b->at[j], a->length[i]) == 0;
}

/* Whether what stands before a value names a secret. */
static bool
files_is_secret(const char *line, size_t n)
{
	static const char *const words[] = {
	    "key", "token", "secret", "password", "authorization"};

	for (size_t i = 0; i < n; i++)
		for (size_t w = 0; w < sizeof(words) / sizeof(*words); w++)
			if (n - i >= strlen(words[w]) &&
			    strncasecmp(line + i, words[w], strlen(words[w])) ==
				0)
				return true;
	return false;
}

/* One line, its secret values hidden: what stands in quotes behind a colon or
 * an equals sign behind a name that sounds like one. */
static void
files_put_line(struct buf *out, char mark, const char *line, size_t n)
{
	size_t name = 0;
	bool is_value = false;

	buf_append(out, &mark, 1);
	buf_append(out, " ", 1);
	for (size_t i = 0; i < n; i++) {
		size_t end = i + 1;

		if (line[i] == ':' || line[i] == '=')
			is_value = true;
		if (line[i] == ',' || line[i] == '{')
			is_value = false;
		if (line[i] != '"' && line[i] != '\'') {
			buf_append(out, line + i, 1);
			continue;
		}
		while (end < n && line[end] != line[i])
			end += line[end] == '\\' && line[i] == '"' ? 2 : 1;
		if (end >= n)
			end = n - 1;
		if (is_value && files_is_secret(line + name, i - name))
			buf_append_str(out, "\"…\"");
		else
			buf_append(out, line + i, end + 1 - i);
		if (is_value)
			name = end + 1;
		i = end;
	}
	buf_append(out, "\n", 1);
}

/* The lengths of the longest common tails, a row of B's lines for each of A's;
 * NULL where the files differ in too much for that. */
static uint16_t *
files_tails(const struct files_lines *a, const struct files_lines *b)
{
	size_t width = b->n + 1;
	uint16_t *t;

	if ((a->n + 1) * width > FILES_CELLS_MAX)
		return NULL;
	t = calloc((a->n + 1) * width, sizeof(*t));
	for (size_t i = a->n; t != NULL && i-- > 0;) {
		for (size_t j = b->n; j-- > 0;) {
			uint16_t down = t[(i + 1) * width + j];
			uint16_t right = t[i * width + j + 1];

			if (files_same(a, i, b, j))
				t[i * width + j] =
				    (uint16_t)(t[(i + 1) * width + j + 1] + 1);
			else
				t[i * width + j] = down > right ? down : right;
		}
	}
	return t;
}

static void
files_put_diff(struct buf *out, const struct files_lines *a,
    const struct files_lines *b, const uint16_t *t)
{
	size_t width = b->n + 1, i = 0, j = 0;
	bool was_change = false;

	while (i < a->n || j < b->n) {
		bool is_same = i < a->n && j < b->n && files_same(a, i, b, j);

		if (is_same) {
			bool is_next_change =
			    i + 1 < a->n && j + 1 < b->n
				? !files_same(a, i + 1, b, j + 1)
				: i + 1 < a->n || j + 1 < b->n;

			if (was_change || is_next_change)
				files_put_line(
				    out, ' ', a->at[i], a->length[i]);
			was_change = false;
			i++;
			j++;
			continue;
		}
		was_change = true;
		if (i < a->n &&
		    (j == b->n || t == NULL ||
			t[(i + 1) * width + j] >= t[i * width + j + 1])) {
			files_put_line(out, '-', a->at[i], a->length[i]);
			i++;
		} else {
			files_put_line(out, '+', b->at[j], b->length[j]);
			j++;
		}
	}
}

void
files_diff(
    const char *path, const char *before, const char *after, struct buf *out)
{
	struct files_lines *a = calloc(2, sizeof(*a));
	uint16_t *t;

	if (a == NULL)
		return;
	buf_printf(out, "%s%s\n", path,
	    before == NULL  ? " (new)"
	    : after == NULL ? " (removed)"
			    : "");
	files_split(&a[0], before);
	files_split(&a[1], after);
	t = files_tails(&a[0], &a[1]);
	files_put_diff(out, &a[0], &a[1], t);
	free(t);
	free(a);
}
