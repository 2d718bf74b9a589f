/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * A user's message may hold tool results, words, or both, and its role may
 * come last. So its results are counted as they pass, and given up where the
 * message turns out to be an answer: an answer makes all before it old.
 */
#include "meter/conversation.h"

#include <stdlib.h>
#include <string.h>

#include "meter/fingerprint.h"

#include "record/turn.h"

enum { CONVERSATION_MESSAGES_FIRST = 32 };

static const struct {
	const char *name;
	enum request_role role;
} conversation_roles[] = {
    {"system", REQUEST_ROLE_SYSTEM},
    {"developer", REQUEST_ROLE_SYSTEM},
    {"user", REQUEST_ROLE_USER},
    {"assistant", REQUEST_ROLE_ASSISTANT},
    {"tool", REQUEST_ROLE_RESULTS},
    {"function", REQUEST_ROLE_RESULTS},
};

/* A client's own words in the user's name, such as hints about the date or
 * changed files: no sign that somebody typed. */
static const char conversation_reminder[] = "<system-reminder>";

void
conversation_fini(struct conversation *c)
{
	calls_fini(&c->calls);
	free(c->messages);
	c->messages = NULL;
	c->messages_size = 0;
}

void
conversation_settle(struct conversation *c)
{
	calls_fini(&c->calls);
}

static bool
conversation_is(const char *s, size_t n, const char *word)
{
	return strlen(word) == n && memcmp(s, word, n) == 0;
}

static bool
conversation_ends(const char *s, size_t n, const char *end)
{
	size_t n_end = strlen(end);

	return n >= n_end && memcmp(s + n - n_end, end, n_end) == 0;
}

void
conversation_item_role(struct conversation_item *item, const char *s, size_t n)
{
	size_t n_roles = sizeof(conversation_roles) /
			 sizeof(*conversation_roles);

	item->role = REQUEST_ROLE_UNKNOWN;
	for (size_t i = 0; i < n_roles; i++)
		if (conversation_is(s, n, conversation_roles[i].name))
			item->role = conversation_roles[i].role;
}

/* tool_use and tool_result are Anthropic's; OpenAI's items are a family each
 * of whose calls has its output (function_call, function_call_output). */
void
conversation_item_type(struct conversation_item *item, const char *s, size_t n)
{
	if (conversation_is(s, n, "message"))
		item->type = CONVERSATION_TYPE_MESSAGE;
	else if (conversation_is(s, n, "tool_use") ||
		 conversation_ends(s, n, "_call"))
		item->type = CONVERSATION_TYPE_CALL;
	else if (conversation_is(s, n, "tool_result") ||
		 conversation_ends(s, n, "_output"))
		item->type = CONVERSATION_TYPE_RESULT;
	else
		item->type = CONVERSATION_TYPE_OTHER;
}

void
conversation_item_name(struct conversation_item *item, const char *s, size_t n)
{
	item->n_name = n < sizeof(item->name) ? n : sizeof(item->name);
	memcpy(item->name, s, item->n_name);
}

void
conversation_item_words(struct conversation_item *item, const char *s, size_t n)
{
	size_t n_reminder = sizeof(conversation_reminder) - 1;

	if (n >= n_reminder &&
	    memcmp(s, conversation_reminder, n_reminder) == 0)
		item->has_reminder = true;
	else if (n > 0)
		item->has_words = true;
}

static void
conversation_add_call(
    struct conversation *c, const struct conversation_item *item)
{
	if (item->has_ref && item->n_name > 0)
		calls_add(&c->calls, item->ref, item->name, item->n_name,
		    fingerprint_bytes(c->print, item->name, item->n_name));
}

static void
conversation_add_result(
    struct conversation *c, const struct conversation_item *item)
{
	calls_add_result(&c->calls, item->has_ref ? item->ref : 0, item->name,
	    item->n_name, fingerprint_bytes(c->print, item->name, item->n_name),
	    item->content_bytes, item->is_error);
}

void
conversation_end_part(struct conversation *c, bool is_call, int64_t bytes)
{
	if (is_call || c->part.type == CONVERSATION_TYPE_CALL) {
		conversation_add_call(c, &c->part);
	} else if (c->part.type == CONVERSATION_TYPE_RESULT) {
		conversation_add_result(c, &c->part);
		c->message.results_bytes += bytes;
	} else if (c->part.has_reminder) {
		c->message.has_reminder = true;
	} else {
		c->message.has_words = true;
	}
}

static enum request_role
conversation_role(const struct conversation_item *m)
{
	if (m->role == REQUEST_ROLE_USER && m->results_bytes > 0 &&
	    !m->has_words && !m->has_reminder)
		return REQUEST_ROLE_RESULTS;
	if (m->role != REQUEST_ROLE_UNKNOWN)
		return m->role;
	switch (m->type) {
	case CONVERSATION_TYPE_RESULT: return REQUEST_ROLE_RESULTS;
	case CONVERSATION_TYPE_CALL:
	case CONVERSATION_TYPE_OTHER: /* reasoning, references to items */
		return REQUEST_ROLE_ASSISTANT;
	case CONVERSATION_TYPE_NONE:
	case CONVERSATION_TYPE_MESSAGE: break;
	}
	return REQUEST_ROLE_UNKNOWN;
}

/* Counts the message to its class, and what is new since the last answer. */
static void
conversation_classify(
    struct conversation *c, enum request_role role, int64_t bytes)
{
	const struct conversation_item *m = &c->message;

	switch (role) {
	case REQUEST_ROLE_SYSTEM: c->bytes[CONVERSATION_SYSTEM] += bytes; break;
	case REQUEST_ROLE_USER:
		c->bytes[CONVERSATION_RESULTS] += m->results_bytes;
		c->bytes[CONVERSATION_USER] += bytes - m->results_bytes;
		c->new_results |= m->results_bytes > 0;
		c->new_user |= m->has_words ||
			       (m->results_bytes == 0 && !m->has_reminder);
		c->new_reminder |= m->has_reminder;
		break;
	case REQUEST_ROLE_ASSISTANT:
		c->bytes[CONVERSATION_ASSISTANT] += bytes;
		c->new_user = c->new_results = c->new_reminder = false;
		calls_forget_results(&c->calls);
		break;
	case REQUEST_ROLE_RESULTS:
		c->bytes[CONVERSATION_RESULTS] += bytes;
		c->new_results = true;
		break;
	case REQUEST_ROLE_UNKNOWN: break;
	}
}

/* Whether there is room for one more record. Full, or without memory for more,
 * the records become a ring of the newest. */
static bool
conversation_grow(struct conversation *c)
{
	size_t size = c->messages_size > 0 ? 2 * c->messages_size
					   : CONVERSATION_MESSAGES_FIRST;
	struct request_message *messages = NULL;

	if (c->n_messages < c->messages_size || c->is_ring)
		return c->messages_size > 0;
	if (size <= REQUEST_MESSAGES_MAX)
		messages = realloc(c->messages, size * sizeof(*messages));
	if (messages == NULL) {
		c->is_ring = true;
		return c->messages_size > 0;
	}
	c->messages = messages;
	c->messages_size = size;
	return true;
}

static void
conversation_record(
    struct conversation *c, enum request_role role, int64_t bytes)
{
	uint64_t hash = c->print->value;

	if (c->print->secret != NULL)
		c->prefix = fingerprint_mix(c->print, c->prefix, hash);
	if (role != REQUEST_ROLE_SYSTEM) {
		c->is_past_leading = true;
	} else if (!c->is_past_leading && c->print->secret != NULL) {
		c->leading = fingerprint_mix(c->print, c->leading, hash);
		c->has_leading = true;
	}
	if (conversation_grow(c))
		c->messages[c->n_messages % c->messages_size] =
		    (struct request_message){.hash = hash,
			.prefix = c->prefix,
			.bytes = bytes,
			.role = (int)role};
	c->n_messages++;
}

void
conversation_end_message(struct conversation *c, int64_t bytes)
{
	const struct conversation_item *m = &c->message;
	enum request_role role = conversation_role(m);

	if (m->type == CONVERSATION_TYPE_CALL)
		conversation_add_call(c, m);
	if (role == REQUEST_ROLE_RESULTS && m->results_bytes == 0)
		conversation_add_result(c, m);
	conversation_classify(c, role, bytes);
	conversation_record(c, role, bytes);
}

void
conversation_add(
    struct conversation *c, enum conversation_class class, int64_t bytes)
{
	c->bytes[class] += bytes;
	if (class == CONVERSATION_USER) {
		c->has_prompt = true;
		c->new_user = true;
		return;
	}
	c->has_basis = true;
	if (c->print->secret != NULL)
		c->basis += fingerprint_mix(c->print, class, c->print->value);
}

void
conversation_finish(const struct conversation *c, bool is_known, struct turn *t)
{
	const int64_t *bytes = c->bytes;
	bool has_talk = c->has_messages || c->has_prompt;

	if (c->has_messages)
		t->n_messages = (int64_t)c->n_messages;
	if (bytes[CONVERSATION_SYSTEM] > 0)
		t->context_system_bytes = bytes[CONVERSATION_SYSTEM];
	if (bytes[CONVERSATION_TOOLS] > 0)
		t->context_tools_bytes = bytes[CONVERSATION_TOOLS];
	if (has_talk || (is_known && c->has_basis)) {
		t->context_system_bytes = bytes[CONVERSATION_SYSTEM];
		t->context_tools_bytes = bytes[CONVERSATION_TOOLS];
		t->context_user_bytes = bytes[CONVERSATION_USER];
		t->context_assistant_bytes = bytes[CONVERSATION_ASSISTANT];
		t->context_results_bytes = bytes[CONVERSATION_RESULTS];
	}
	if (c->new_results)
		t->last_message = c->new_user ? TURN_LAST_MESSAGE_BOTH
					      : TURN_LAST_MESSAGE_RESULTS;
	else if (c->new_user || c->new_reminder)
		t->last_message = TURN_LAST_MESSAGE_USER;
	calls_finish(&c->calls, t);
}

bool
conversation_prefix(const struct conversation *c, uint64_t *hash_out)
{
	*hash_out = fingerprint_mix(c->print, c->leading, c->basis);
	return c->has_basis || c->has_leading;
}

const struct request_message *
conversation_message(const struct conversation *c, size_t i)
{
	if (i >= c->n_messages || c->n_messages - i > c->messages_size)
		return NULL;
	return &c->messages[i % c->messages_size];
}

size_t
conversation_memory(const struct conversation *c)
{
	return calls_memory(&c->calls) +
	       c->messages_size * sizeof(*c->messages);
}
