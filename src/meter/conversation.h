/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * conversation: what the messages of a request amount to: their records, the
 * bytes by class, what is new since the last answer, and the hash of the
 * prefix before them. It knows roles and kinds of parts, not where in the JSON
 * they stand: the request scanner fills .message and .part and tells when one
 * has ended.
 * One thread. Embedded; zero bytes with .print set are a valid empty one.
 */
#ifndef METER_CONVERSATION_H
#define METER_CONVERSATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meter/calls.h"
#include "meter/request.h"

struct fingerprint;
struct turn;

/* What a message or part says that it is. */
enum conversation_type {
	CONVERSATION_TYPE_NONE, /* it does not say */
	CONVERSATION_TYPE_MESSAGE,
	CONVERSATION_TYPE_CALL,
	CONVERSATION_TYPE_RESULT,
	CONVERSATION_TYPE_OTHER
};

enum conversation_class {
	CONVERSATION_SYSTEM,
	CONVERSATION_TOOLS,
	CONVERSATION_USER,
	CONVERSATION_ASSISTANT,
	CONVERSATION_RESULTS,
	CONVERSATION_CLASSES
};

/* A message, a part of one, or a call in it: what is known so far. */
struct conversation_item {
	enum conversation_type type;
	enum request_role role;
	bool has_ref;
	bool is_error;
	bool has_words;    /* something that is no result */
	bool has_reminder; /* words that the client added by itself */
	uint64_t ref;      /* the hash of a call's id */
	int64_t content_bytes;
	int64_t results_bytes; /* of its parts that are results */
	size_t n_name;
	char name[CALLS_NAME_BYTES];
};

struct conversation {
	const struct fingerprint *print; /* blank: without hashes */
	struct conversation_item message;
	struct conversation_item part;
	struct calls calls;
	struct request_message *messages;
	size_t messages_size;
	size_t n_messages;
	bool is_ring;     /* the records grow no more */
	uint64_t prefix;  /* of all messages so far */
	uint64_t leading; /* of the system messages in front */
	uint64_t basis;   /* sum over system prompt and tools */
	bool has_leading;
	bool has_basis;
	bool is_past_leading;
	bool has_messages; /* the list of them was there */
	bool has_prompt;   /* a text in their stead */
	/* since the last assistant message */
	bool new_user;
	bool new_results;
	bool new_reminder;
	int64_t bytes[CONVERSATION_CLASSES];
};

void conversation_fini(struct conversation *c);

/* Gives back what only the reading needed; the records stay. */
void conversation_settle(struct conversation *c);

/* What the texts of an item mean. */
void conversation_item_role(
    struct conversation_item *item, const char *s, size_t n);
void conversation_item_type(
    struct conversation_item *item, const char *s, size_t n);
void conversation_item_name(
    struct conversation_item *item, const char *s, size_t n);
/* S may be the first bytes only. */
void conversation_item_words(
    struct conversation_item *item, const char *s, size_t n);

/* .part or .message has ended after that many BYTES; its hash is the
 * fingerprint's value. IS_CALL: it stood in a list of calls. */
void conversation_end_part(struct conversation *c, bool is_call, int64_t bytes);
void conversation_end_message(struct conversation *c, int64_t bytes);

/* System prompt, tools, or a prompt (USER) outside the messages. */
void conversation_add(
    struct conversation *c, enum conversation_class class, int64_t bytes);

/* Fills n_messages, last_message, the context bytes and the tools. IS_KNOWN:
 * what was not seen is not there, rather than somewhere else in the body. */
void conversation_finish(
    const struct conversation *c, bool is_known, struct turn *t);

/* The hash of system prompt, tools and leading system messages; false where
 * there is none. */
bool conversation_prefix(const struct conversation *c, uint64_t *hash_out);

const struct request_message *conversation_message(
    const struct conversation *c, size_t i);

/* Of the tables, without the struct. */
size_t conversation_memory(const struct conversation *c);

#endif
