/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Clients put any prefix before a path, and some write `//` within it, so
 * paths are compared from the end, segment by segment, empty ones left out.
 */
#include "meter/protocol.h"

#include <string.h>
#include <strings.h>

enum {
	PROTOCOL_SEGMENTS = 8 /* the last ones of a path; no pattern has more */
};

const struct protocol *const protocol_table[] = {
    &protocol_openai_chat,
    &protocol_anthropic,
    &protocol_openai_responses,
    &protocol_openai_completions,
    &protocol_openai_embeddings,
    &protocol_gemini,
    &protocol_ollama,
    &protocol_llamacpp,
    &protocol_cohere,
    &protocol_bedrock,
};
const size_t n_protocols = sizeof(protocol_table) / sizeof(*protocol_table);

struct protocol_slice {
	const char *s;
	size_t n;
};

/* The last segments of a path, the very last one first. */
struct protocol_segments {
	size_t n;
	struct protocol_slice at[PROTOCOL_SEGMENTS];
};

static void
protocol_split(const char *path, struct protocol_segments *segments_out)
{
	size_t end = strcspn(path, "?#");

	segments_out->n = 0;
	while (end > 0 && segments_out->n < PROTOCOL_SEGMENTS) {
		size_t start = end;

		while (start > 0 && path[start - 1] != '/')
			start--;
		if (start < end)
			segments_out->at[segments_out->n++] =
			    (struct protocol_slice){path + start, end - start};
		end = start > 0 ? start - 1 : 0;
	}
}

/* Whether a segment fits a pattern's; *MODEL_OUT where it names the model. */
static bool
protocol_segment_fits(struct protocol_slice segment,
    struct protocol_slice pattern, struct protocol_slice *model_out)
{
	static const char model[] = "{model}";
	size_t n_verb;

	if (*pattern.s != '{')
		return segment.n == pattern.n &&
		       memcmp(segment.s, pattern.s, segment.n) == 0;
	if (pattern.n == 2)
		return true;
	n_verb = pattern.n - (sizeof(model) - 1);
	if (segment.n <= n_verb ||
	    memcmp(segment.s + segment.n - n_verb,
		pattern.s + sizeof(model) - 1, n_verb) != 0)
		return false;
	*model_out = (struct protocol_slice){segment.s, segment.n - n_verb};
	return true;
}

/* How many segments of the pattern before END fit the end of the path; 0 for a
 * misfit. */
static size_t
protocol_fit(const struct protocol_segments *path, const char *pattern,
    const char *end, struct protocol_slice *model_out)
{
	size_t n = 0;

	while (end > pattern) {
		struct protocol_slice have, want = {end, 0};

		if (n == path->n)
			return 0;
		have = path->at[n++];
		while (want.s[-1] != '/')
			want.s--;
		want.n = (size_t)(end - want.s);
		if (!protocol_segment_fits(have, want, model_out))
			return 0;
		end = want.s - 1;
	}
	return n;
}

static int
protocol_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void
protocol_set_model(struct protocol_match *m, struct protocol_slice s)
{
	for (size_t i = 0; i < s.n && m->n_model < sizeof(m->model); i++) {
		int high = i + 2 < s.n ? protocol_hex(s.s[i + 1]) : -1;
		int low = i + 2 < s.n ? protocol_hex(s.s[i + 2]) : -1;

		if (s.s[i] == '%' && high >= 0 && low >= 0) {
			m->model[m->n_model++] = (char)(high << 4 | low);
			i += 2;
		} else {
			m->model[m->n_model++] = s.s[i];
		}
	}
}

const struct protocol *
protocol_by_name(const char *name)
{
	for (size_t i = 0; name != NULL && i < n_protocols; i++)
		if (strcmp(protocol_table[i]->name, name) == 0)
			return protocol_table[i];
	return NULL;
}

static bool
protocol_is_there(const struct protocol_path *p, const char *host)
{
	return p->host == NULL ||
	       (host != NULL && strcasestr(host, p->host) != NULL);
}

void
protocol_find(const char *method, const char *path, const char *host,
    const char *setting, struct protocol_match *match_out)
{
	const struct protocol *set = protocol_by_name(setting);
	struct protocol_slice best_model = {NULL, 0};
	struct protocol_segments segments;
	size_t best = 0;
	char last = '\0';

	memset(match_out, 0, sizeof(*match_out));
	protocol_split(path, &segments);
	if (segments.n > 0)
		last = segments.at[0].s[segments.at[0].n - 1];
	for (size_t i = 0; i < n_protocols; i++) {
		const struct protocol *protocol = protocol_table[i];
		const struct protocol_path *p = protocol->paths;

		for (; p->pattern != NULL; p++) {
			const char *end = p->pattern + strlen(p->pattern);
			struct protocol_slice model = {NULL, 0};
			size_t fit;

			/* Nearly all are told apart by their last byte. */
			if (end[-1] != last && end[-1] != '}')
				continue;
			fit = protocol_fit(&segments, p->pattern, end, &model);
			if (fit == 0 || fit < best ||
			    (fit == best && protocol != set))
				continue;
			if (method != NULL && strcmp(p->method, method) != 0)
				continue;
			if (protocol != set && !protocol_is_there(p, host))
				continue;
			best = fit;
			best_model = model;
			match_out->protocol = protocol;
			match_out->path = p;
		}
	}
	if (match_out->protocol == NULL)
		match_out->protocol = set;
	protocol_set_model(match_out, best_model);
}
