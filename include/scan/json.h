/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * json: a push scanner of JSON text that keeps nothing.
 *
 * Bytes may come in any split. The handler is told of structure and values as
 * they pass; for each key it says whether the value is wanted, and what is not
 * wanted is skipped at memory speed (strings with SSE2 or NEON) without a
 * call. Memory is fixed; nesting is counted without a stack below the depth
 * that a handler can see (JSON_DEPTH_MAX), so depth 100,000 is harmless.
 *
 * Several documents may follow one another. Nonsense moves the scanner to a
 * failed state in which it swallows bytes until json_reset.
 * It reads, it doesn't judge: what is skipped is not checked, nor are UTF-8 and
 * the inside of strings (docs/internals/scan.md).
 *
 * One thread. Embedded: json_init, json_feed ..., json_end. The handler may not
 * call any of them on its own scanner but json_offset. Some names are those of
 * jansson.h, too: a file includes one of the two.
 */
#ifndef SCAN_JSON_H
#define SCAN_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	JSON_DEPTH_MAX = 64, /* deeper containers are skipped, not reported */
	JSON_KEY_BYTES = 64, /* a longer key is reported cut */
	JSON_NUMBER_BYTES = 40
};

enum json_event {
	JSON_OBJECT,     /* { */
	JSON_OBJECT_END, /* } */
	JSON_ARRAY,      /* [ */
	JSON_ARRAY_END,  /* ] */
	JSON_KEY,    /* DATA, N: the key, unescaped, cut at JSON_KEY_BYTES */
	JSON_STRING, /* a piece of a string as on the wire (escapes not
			  * undone); .is_last tells its end; may be empty */
	JSON_NUMBER, /* DATA, N: its text; empty where it is longer than
			  * JSON_NUMBER_BYTES: cut, it would be another one */
	JSON_TRUE,
	JSON_FALSE,
	JSON_NULL, /* also NaN, Infinity and -Infinity, as Python writes */
	JSON_DOCUMENT_END, /* a top-level value is complete */
	JSON_FAILED        /* not JSON from here on; told once */
};

enum json_wish {
	JSON_WANT, /* tell me about the value (or the elements) */
	JSON_SKIP  /* not the value of this key, or not this container */
};

struct json;

/*
 * The answer counts for JSON_KEY (its value) and for JSON_OBJECT and
 * JSON_ARRAY (what is inside; its end is told all the same); it is ignored for
 * the rest. DEPTH is that of the container which holds the value: 0 for a
 * top-level one; keys have the depth of their object's inside.
 */
typedef enum json_wish json_handler_fn(void *cls, enum json_event event,
    int depth, const char *data, size_t n, bool is_last);

/* An escape that a split may have cut. */
struct json_escape {
	uint8_t state;
	uint16_t unit; /* the hex digits so far */
	uint16_t high; /* a high surrogate that waits for its other half */
};

struct json {
	json_handler_fn *handler;
	void *cls;
	/* Bytes since json_reset up to and with the token that is being told
	 * (of a string: with its piece, and its quote where that is last);
	 * after json_feed: all that were fed. For the handler to read. */
	size_t offset;
	/* private to json.c from here on */
	uintptr_t origin; /* of the piece at hand: where offset 0 would be */
	uint64_t kinds;   /* one bit a level: 1 object, 0 array */
	size_t nesting;   /* open in the skipped container, with it */
	int depth;        /* open containers without the skipped one */
	uint8_t state;
	bool is_unwanted;     /* the value at hand */
	bool is_told;         /* the skipped container's start was */
	bool in_string;       /* of the skipped container */
	bool after_backslash; /* the next byte is escaped */
	uint8_t n_text;
	struct json_escape escape;
	char text[JSON_KEY_BYTES]; /* of a key or word that is in pieces */
};

static inline size_t
json_offset(const struct json *j)
{
	return j->offset;
}

void json_init(struct json *j, json_handler_fn *handler, void *cls);

/* Ready for a new document; handler and cls stay. */
void json_reset(struct json *j);

void json_feed(struct json *j, const void *data, size_t n);

/* No more bytes: a number at the end is told. Returns whether the text was
 * whole (an empty one is). */
bool json_end(struct json *j);

/* Undoes the escapes of a whole string as on the wire; at most N_OUT - 1 bytes
 * and a NUL. Lone surrogates become '?'. Returns the length. */
size_t json_unescape(const char *data, size_t n, char *out, size_t n_out);

/* How many bytes a string has without its escapes, piece by piece: what N more
 * bytes as on the wire add. *E is zero before the first piece, and again after
 * the last one. */
size_t json_text_bytes(
    struct json_escape *e, const char *data, size_t n, bool is_last);

/* The text of a JSON number as an integer, rounded; false where it is none or
 * does not fit int64. "2.0" and "6e2" are taken. */
bool json_number_int(const char *data, size_t n, int64_t *out);

#endif
