/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * The JSON scanner tells what passes; the fingerprint hashes it; the rules say
 * what it means. Each open container has a level that knows its rule, so a key
 * needs one look-up and what is inside of unknown containers needs none.
 *
 * Keys come in any order: a message's role may follow its content. So nothing
 * is attributed before the end of what it belongs to: parts are summed into
 * their message, a message into its class, and the tools' results into the
 * turn at the very end.
 */
#include "meter/request.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meter/conversation.h"
#include "meter/fingerprint.h"
#include "meter/identity.h"
#include "meter/request_rules.h"

#include "base/keyhash.h"
#include "record/turn.h"
#include "scan/json.h"

enum {
	REQUEST_TEXT_BYTES = 512, /* of a string that means something */
	REQUEST_WORDS_BYTES = 32, /* of one that need only be recognised */
	REQUEST_TIER_BYTES = 32
};

struct request_level {
	const struct request_rule *rule; /* of the container itself */
	size_t start;                    /* offset of its bracket */
	bool is_object;
};

struct request_scan {
	struct fingerprint print;
	struct json json;
	struct turn *turn;
	const struct keyhash *keys; /* NULL: no fingerprints */
	enum request_shape shape;
	size_t n_fed;
	int n_documents;
	bool is_failed;
	bool is_ended;

	/* the value at hand */
	const struct request_rule *rule; /* of the member whose key passed */
	size_t n_string;                 /* bytes of the string so far */
	size_t n_text;
	char text[REQUEST_TEXT_BYTES];

	/* what the body asks for */
	enum request_wish stream;
	bool asked_usage;
	bool has_max_tokens;
	int64_t budget_tokens;
	char tier[REQUEST_TIER_BYTES];
	char user_id[REQUEST_TEXT_BYTES];
	char session_id[IDENTITY_ID_BYTES];
	char cache_key[IDENTITY_ID_BYTES];

	struct conversation talk;

	struct request_level levels[JSON_DEPTH_MAX];
};

static void
request_keep(char *out, size_t n_out, const char *text, size_t n)
{
	/* What does not fit is no id and no tier that anybody knows. */
	if (n >= n_out)
		n = 0;
	memcpy(out, text, n);
	out[n] = '\0';
}

static enum request_place
request_place_at(const struct request_scan *s, int depth)
{
	return depth > 0 ? s->levels[depth - 1].rule->inner
			 : REQUEST_PLACE_NOWHERE;
}

/* What a value that DEPTH levels hold belongs to. */
static struct conversation_item *
request_item_at(struct request_scan *s, int depth)
{
	return request_place_at(s, depth) == REQUEST_PLACE_MESSAGE
		   ? &s->talk.message
		   : &s->talk.part;
}

/* A string of a message, a part or a call. */
static void
request_item_text(struct request_scan *s, enum request_field field, int depth,
    const char *text, size_t n)
{
	struct conversation_item *item = request_item_at(s, depth);

	switch (field) {
	case REQUEST_FIELD_ROLE: conversation_item_role(item, text, n); break;
	case REQUEST_FIELD_TYPE: conversation_item_type(item, text, n); break;
	case REQUEST_FIELD_NAME: conversation_item_name(item, text, n); break;
	case REQUEST_FIELD_TEXT: conversation_item_words(item, text, n); break;
	case REQUEST_FIELD_CONTENT:
		item->content_bytes = (int64_t)s->n_string + 2;
		if (item == &s->talk.message)
			conversation_item_words(item, text, n);
		break;
	case REQUEST_FIELD_REF:
		item->ref = fingerprint_bytes(&s->print, text, n);
		item->has_ref = true;
		break;
	default: break;
	}
}

/* A part of the context that stands outside the messages has ended. */
static void
request_context(struct request_scan *s, enum request_field field, int64_t bytes)
{
	enum conversation_class class = CONVERSATION_USER;

	if (field == REQUEST_FIELD_SYSTEM)
		class = CONVERSATION_SYSTEM;
	else if (field == REQUEST_FIELD_TOOLS)
		class = CONVERSATION_TOOLS;
	conversation_add(&s->talk, class, bytes);
}

static void
request_text(struct request_scan *s, enum request_field field, int depth,
    const char *text, size_t n)
{
	struct turn *t = s->turn;

	switch (field) {
	case REQUEST_FIELD_MODEL: turn_set_text(t, &t->model, text, n); break;
	case REQUEST_FIELD_EFFORT: turn_set_text(t, &t->effort, text, n); break;
	case REQUEST_FIELD_TIER:
		request_keep(s->tier, sizeof(s->tier), text, n);
		break;
	case REQUEST_FIELD_USER_ID:
		request_keep(s->user_id, sizeof(s->user_id), text, n);
		break;
	case REQUEST_FIELD_SESSION_ID:
		request_keep(s->session_id, sizeof(s->session_id), text, n);
		break;
	case REQUEST_FIELD_CACHE_KEY:
		request_keep(s->cache_key, sizeof(s->cache_key), text, n);
		break;
	case REQUEST_FIELD_SYSTEM:
	case REQUEST_FIELD_PROMPT:
	case REQUEST_FIELD_MESSAGES:
	case REQUEST_FIELD_MESSAGE:
		request_context(s, field, (int64_t)s->n_string + 2);
		break;
	default: request_item_text(s, field, depth, text, n); break;
	}
}

/* The rule of a value that DEPTH levels hold. */
static const struct request_rule *
request_rule_at(const struct request_scan *s, int depth)
{
	const struct request_level *holder;

	if (depth == 0)
		return &request_rule_top;
	holder = &s->levels[depth - 1];
	return holder->is_object
		   ? s->rule
		   : request_rule_of_elements(holder->rule->inner);
}

/* How much of a string is needed to tell what it means. */
static size_t
request_room(enum request_field field)
{
	switch (field) {
	case REQUEST_FIELD_NONE:
	case REQUEST_FIELD_SYSTEM:
	case REQUEST_FIELD_TOOLS:
	case REQUEST_FIELD_PROMPT:
	case REQUEST_FIELD_MESSAGES:
	case REQUEST_FIELD_MESSAGE: return 0;
	case REQUEST_FIELD_CONTENT:
	case REQUEST_FIELD_TEXT: return REQUEST_WORDS_BYTES;
	default: return REQUEST_TEXT_BYTES;
	}
}

static void
request_string_end(struct request_scan *s, enum request_field field, int depth)
{
	char plain[REQUEST_TEXT_BYTES + 1];
	const char *text = s->text;
	size_t n = s->n_text;

	if (memchr(text, '\\', n) != NULL) {
		n = json_unescape(text, n, plain, sizeof(plain));
		text = plain;
	}
	request_text(s, field, depth, text, n);
}

static void
request_string(
    struct request_scan *s, int depth, const char *data, size_t n, bool is_last)
{
	const struct request_rule *rule = request_rule_at(s, depth);
	size_t room = request_room(rule->field);

	s->n_string += n;
	if (n > 0 && s->n_text < room) {
		room -= s->n_text;
		memcpy(s->text + s->n_text, data, n < room ? n : room);
		s->n_text += n < room ? n : room;
	}
	if (!is_last)
		return;
	if (rule->field != REQUEST_FIELD_NONE)
		request_string_end(s, rule->field, depth);
	s->n_string = 0;
	s->n_text = 0;
}

static void
request_number(struct request_scan *s, int depth, const char *data, size_t n)
{
	const struct request_rule *rule = request_rule_at(s, depth);
	int64_t value;

	if (!json_number_int(data, n, &value) || value < 0)
		return;
	switch ((enum request_field)rule->field) {
	case REQUEST_FIELD_MAX_TOKENS:
		s->turn->max_tokens = value;
		s->has_max_tokens = true;
		break;
	case REQUEST_FIELD_MAX_TOKENS_OLD:
		if (!s->has_max_tokens)
			s->turn->max_tokens = value;
		break;
	case REQUEST_FIELD_BUDGET: s->budget_tokens = value; break;
	default: break;
	}
}

static void
request_bool(struct request_scan *s, int depth, bool value)
{
	const struct request_rule *rule = request_rule_at(s, depth);

	switch ((enum request_field)rule->field) {
	case REQUEST_FIELD_STREAM:
		s->stream = value ? REQUEST_WISH_YES : REQUEST_WISH_NO;
		break;
	case REQUEST_FIELD_INCLUDE_USAGE: s->asked_usage |= value; break;
	case REQUEST_FIELD_IS_ERROR: s->talk.part.is_error = value; break;
	default: break;
	}
}

static enum json_wish
request_open(struct request_scan *s, int depth, bool is_object, size_t start)
{
	const struct request_rule *rule = request_rule_at(s, depth);
	struct request_level *level = &s->levels[depth];

	level->rule = rule;
	level->start = start;
	level->is_object = is_object;
	if (rule->field == REQUEST_FIELD_MESSAGE)
		memset(&s->talk.message, 0, sizeof(s->talk.message));
	else if (rule->field == REQUEST_FIELD_PART)
		memset(&s->talk.part, 0, sizeof(s->talk.part));
	return rule->inner != REQUEST_PLACE_NOWHERE ? JSON_WANT : JSON_SKIP;
}

static void
request_close(struct request_scan *s, int depth, size_t end)
{
	const struct request_level *level = &s->levels[depth];
	const struct request_rule *rule = level->rule;
	int64_t bytes = (int64_t)(end - level->start);

	switch ((enum request_field)rule->field) {
	case REQUEST_FIELD_MESSAGE:
		if (level->is_object)
			conversation_end_message(&s->talk, bytes);
		break;
	case REQUEST_FIELD_PART:
		if (level->is_object)
			conversation_end_part(
			    &s->talk, rule->inner == REQUEST_PLACE_CALL, bytes);
		break;
	case REQUEST_FIELD_CONTENT:
		request_item_at(s, depth)->content_bytes = bytes;
		break;
	case REQUEST_FIELD_SYSTEM:
	case REQUEST_FIELD_TOOLS:
	case REQUEST_FIELD_PROMPT:
		request_context(s, rule->field, bytes);
		break;
	case REQUEST_FIELD_MESSAGES:
		/* An input of an unknown kind may be a list of anything. */
		s->talk.has_messages = s->shape != REQUEST_SHAPE_OTHER ||
				       s->talk.n_messages > 0;
		break;
	default: break;
	}
}

static enum json_wish
request_key(struct request_scan *s, int depth, const char *data, size_t n)
{
	s->rule = request_rule_find(
	    request_place_at(s, depth), s->shape, data, n);
	return s->rule != &request_rule_none ? JSON_WANT : JSON_SKIP;
}

static enum json_wish
request_event(void *cls, enum json_event event, int depth, const char *data,
    size_t n, bool is_last)
{
	struct request_scan *s = cls;
	enum json_wish wish = JSON_WANT, needed = JSON_SKIP;

	if (s->keys != NULL)
		needed = fingerprint_event(
		    &s->print, event, depth, data, n, is_last, s->json.offset);
	switch (event) {
	case JSON_OBJECT:
	case JSON_ARRAY:
		wish = request_open(
		    s, depth, event == JSON_OBJECT, s->json.offset - 1);
		break;
	case JSON_OBJECT_END:
	case JSON_ARRAY_END: request_close(s, depth, s->json.offset); break;
	case JSON_KEY: wish = request_key(s, depth, data, n); break;
	case JSON_STRING: request_string(s, depth, data, n, is_last); break;
	case JSON_NUMBER: request_number(s, depth, data, n); break;
	case JSON_TRUE:
	case JSON_FALSE: request_bool(s, depth, event == JSON_TRUE); break;
	case JSON_NULL: break;
	case JSON_DOCUMENT_END: s->n_documents++; break;
	case JSON_FAILED: s->is_failed = true; break;
	}
	return needed == JSON_WANT ? JSON_WANT : wish;
}

struct request_scan *
request_scan_new(
    struct turn *t, const struct keyhash *k, enum request_shape shape)
{
	struct request_scan *s = aligned_alloc(
	    alignof(struct request_scan), sizeof(*s));

	if (s == NULL)
		return NULL;
	memset(s, 0, sizeof(*s));
	if (k != NULL)
		fingerprint_init(&s->print, k->secret);
	json_init(&s->json, request_event, s);
	s->turn = t;
	s->keys = k;
	s->shape = shape;
	s->rule = &request_rule_none;
	s->budget_tokens = TURN_NULL;
	s->talk.print = &s->print;
	return s;
}

void
request_scan_free(struct request_scan *s)
{
	if (s == NULL)
		return;
	conversation_fini(&s->talk);
	free(s);
}

void
request_scan_feed(struct request_scan *s, const void *data, size_t n)
{
	size_t n_before = s->n_fed;

	s->n_fed += n;
	if (s->is_failed)
		return;
	fingerprint_feed_begin(&s->print, data, n_before);
	json_feed(&s->json, data, n);
	fingerprint_feed_end(&s->print, n);
}

static void
request_set_hash(
    const struct request_scan *s, const char **field, uint64_t hash)
{
	char sealed[17];

	keyhash_seal64(s->keys, hash, sealed);
	turn_set_str(s->turn, field, sealed);
}

static void
request_set_hashes(const struct request_scan *s)
{
	uint64_t prefix;

	request_set_hash(s, &s->turn->body_hash, fingerprint_whole(&s->print));
	if (conversation_prefix(&s->talk, &prefix))
		request_set_hash(s, &s->turn->prefix_hash, prefix);
}

void
request_scan_end(struct request_scan *s)
{
	struct turn *t = s->turn;
	bool is_whole = json_end(&s->json);
	char budget[32];

	s->is_ended = true;
	s->is_failed |= !is_whole || s->n_documents > 1;
	if (s->is_failed)
		turn_add_flag(t, "request_unread");
	if (!request_scan_is_json(s)) {
		conversation_settle(&s->talk);
		return;
	}
	if (t->effort == NULL && s->budget_tokens != TURN_NULL) {
		snprintf(budget, sizeof(budget), "budget:%lld",
		    (long long)s->budget_tokens);
		turn_set_str(t, &t->effort, budget);
	}
	conversation_finish(&s->talk, s->shape != REQUEST_SHAPE_OTHER, t);
	if (s->keys != NULL)
		request_set_hashes(s);
	conversation_settle(&s->talk);
}

bool
request_scan_is_json(const struct request_scan *s)
{
	return s->is_ended && !s->is_failed && s->n_documents == 1;
}

enum request_wish
request_scan_wants_stream(const struct request_scan *s)
{
	return s->stream;
}

bool
request_scan_asked_usage(const struct request_scan *s)
{
	return s->asked_usage;
}

const char *
request_scan_service_tier(const struct request_scan *s)
{
	return s->tier[0] != '\0' ? s->tier : NULL;
}

void
request_scan_identify(const struct request_scan *s, struct identity *identity)
{
	identity_body(
	    identity, "metadata.user_id", s->user_id, strlen(s->user_id));
	identity_body(identity, "metadata.sessionId", s->session_id,
	    strlen(s->session_id));
	identity_body(
	    identity, "prompt_cache_key", s->cache_key, strlen(s->cache_key));
}

size_t
request_scan_n_messages(const struct request_scan *s)
{
	return s->talk.n_messages;
}

const struct request_message *
request_scan_message(const struct request_scan *s, size_t i)
{
	return conversation_message(&s->talk, i);
}

size_t
request_scan_memory(const struct request_scan *s)
{
	return sizeof(*s) + conversation_memory(&s->talk);
}
