/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * protocol: the wire formats, one const descriptor each, and how a request is
 * known to belong to one: by its method and the end of its path.
 *
 * Adding a protocol is one file with its descriptor and reader, and one line
 * in protocol_table (protocol.c).
 */
#ifndef METER_PROTOCOL_H
#define METER_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>

#include "meter/error_body.h"
#include "meter/request.h"
#include "scan/json.h"

struct answer;

/*
 * One path that belongs to a protocol. PATTERN is the end of the path, segment
 * by segment, each behind its `/`; `{}` stands for any one segment, `{model}`
 * for one that names the model, and `{model}:verb` for the verbs of Google's
 * APIs. Of several that fit the one with the most segments counts.
 */
struct protocol_path {
	const char *method;
	const char *pattern;
	int kind;         /* enum turn_kind */
	const char *host; /* only where the upstream's host holds this */
};

struct protocol {
	const char *name;                  /* a word of docs/protocols/ */
	const struct protocol_path *paths; /* ends with a NULL pattern */
	enum request_shape request;
	enum error_shape error; /* of what turnmeter itself answers */

	/* A stream tells its usage to clients that asked for it only. */
	bool has_usage_wish;

	/* The reader of answers; json is NULL where there is none yet. */

	/* A new answer. Optional. */
	void (*open)(struct answer *a);
	/* The scanner's events; cls is the struct answer. */
	json_handler_fn *json;
	/* An event of the stream, or the document, is complete. Optional. */
	void (*event)(struct answer *a);
	/* Sets the tokens and the stop class of the turn from what has been
	 * seen; may be called again. */
	void (*settle)(struct answer *a);
};

extern const struct protocol *const protocol_table[];
extern const size_t n_protocols;

extern const struct protocol protocol_openai_chat;
extern const struct protocol protocol_anthropic;
extern const struct protocol protocol_openai_responses;
extern const struct protocol protocol_openai_completions;
extern const struct protocol protocol_openai_embeddings;
extern const struct protocol protocol_gemini;
extern const struct protocol protocol_ollama;
extern const struct protocol protocol_llamacpp;
extern const struct protocol protocol_cohere;
extern const struct protocol protocol_bedrock;

enum { PROTOCOL_MODEL_BYTES = 256 };

struct protocol_match {
	const struct protocol *protocol;  /* NULL: none known */
	const struct protocol_path *path; /* NULL: by setting alone */
	size_t n_model;
	char model[PROTOCOL_MODEL_BYTES]; /* of the URL, percent-decoded */
};

/* NULL where there is no such protocol. */
const struct protocol *protocol_by_name(const char *name);

/* METHOD NULL: any. SETTING is the upstream's protocol or NULL: it decides
 * between protocols that share a path, and for paths that none knows. */
void protocol_find(const char *method, const char *path, const char *host,
    const char *setting, struct protocol_match *match_out);

#endif
