/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Called for every event of every stream: nothing here allocates, but for the
 * two captures and the calls on first use, and the turn's texts.
 */
#include "meter/answer.h"

#include <string.h>

#include "meter/protocol.h"
#include "record/turn.h"

void
answer_init(struct answer *a, struct turn *t, const struct protocol *protocol,
    int64_t t0_ns)
{
	memset(a, 0, sizeof(*a));
	a->t = t;
	a->protocol = protocol;
	a->next = ANSWER_ROOT;
	a->end_ns = TURN_NULL;
	timing_init(&a->timing, t0_ns);
	usage_init(&a->usage);
	capture_init(&a->usage_capture, true);
	capture_init(&a->error_capture, false);
	if (protocol != NULL && protocol->open != NULL)
		protocol->open(a);
}

void
answer_fini(struct answer *a)
{
	usage_fini(&a->usage);
	capture_fini(&a->usage_capture);
	capture_fini(&a->error_capture);
}

void
answer_begin_event(struct answer *a)
{
	a->next = ANSWER_ROOT;
	a->arrays = 0;
	a->capture = NULL;
	a->n_text = 0;
	a->saw_document = false;
	a->saw_failure = false;
	a->saw_error = false;
	a->saw_usage = false;
	a->is_plain = true;
	a->told = NULL;
	a->escape = (struct json_escape){0};
}

void
answer_end_event(struct answer *a)
{
	timing_piece_end(&a->timing);
	if (a->protocol->event != NULL)
		a->protocol->event(a);
	if (a->saw_error)
		answer_decide(a, ANSWER_ERROR);
	a->capture = NULL;
}

void
answer_decide(struct answer *a, enum answer_end end)
{
	if (a->end != ANSWER_OPEN)
		return;
	a->end = end;
	a->end_ns = a->now_ns;
	a->has_news = true;
}

enum json_wish
answer_captured(struct answer *a, enum json_event event, int depth,
    const char *data, size_t n, bool is_last)
{
	struct capture *c = a->capture;
	enum json_wish wish = capture_event(c, event, depth, data, n, is_last);

	if (c->is_open)
		return wish;
	a->capture = NULL;
	if (c != &a->usage_capture)
		return wish;
	a->saw_usage = a->saw_usage || capture_is_whole(c);
	if (c->is_over_full)
		turn_add_flag(a->t, "usage_unread");
	return wish;
}

enum json_wish
answer_capture(struct answer *a, struct capture *c, enum json_event event,
    int depth, const char *data, size_t n, bool is_last)
{
	a->is_plain = false;
	capture_begin(c, depth);
	a->capture = c;
	if (c == &a->error_capture)
		a->saw_error = true;
	return answer_captured(a, event, depth, data, n, is_last);
}

void
answer_capture_error(struct answer *a)
{
	capture_begin(&a->error_capture, 0);
	a->capture = &a->error_capture;
	a->saw_error = true;
}

bool
answer_string(struct answer *a, const char *data, size_t n, bool is_last)
{
	char raw[ANSWER_TEXT_BYTES];
	size_t room = sizeof(a->text) - 1 - a->n_text;

	if (n > room)
		n = room;
	memcpy(a->text + a->n_text, data, n);
	a->n_text = (uint8_t)(a->n_text + n);
	if (!is_last)
		return false;
	a->is_plain = false;
	if (memchr(a->text, '\\', a->n_text) == NULL)
		return true;
	memcpy(raw, a->text, a->n_text);
	a->n_text = (uint8_t)json_unescape(
	    raw, a->n_text, a->text, sizeof(a->text));
	return true;
}

void
answer_set_text(struct answer *a, const char **field)
{
	if (a->n_text > 0 && (*field == NULL || strlen(*field) != a->n_text ||
				 memcmp(*field, a->text, a->n_text) != 0))
		turn_set_text(a->t, field, a->text, a->n_text);
}

/* FNV-1a. */
uint32_t
answer_hash(const char *id, size_t n)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)id[i]) * 16777619u;
	return n == 0 ? 0 : h | 1;
}

static struct answer_calls *
answer_calls(struct answer *a)
{
	if (a->calls != NULL)
		return a->calls;
	a->calls = arena_alloc(&a->t->arena, sizeof(*a->calls));
	if (a->calls != NULL)
		a->calls->n = 0;
	return a->calls;
}

bool
answer_call_is_new(struct answer *a, int32_t index, uint32_t id, bool has_name)
{
	struct answer_calls *calls;

	for (int i = a->calls != NULL ? a->calls->n - 1 : -1; i >= 0; i--) {
		struct answer_call *call = &a->calls->known[i];

		if (call->index != index || (index < 0 && call->id != id))
			continue;
		/* The same place: a later piece of the call, unless a server
		 * that gives every call the same index says another id. */
		if (id != 0 && call->id != 0 && call->id != id)
			continue;
		if (index < 0 && id == 0)
			continue;
		if (call->id == 0)
			call->id = id;
		return false;
	}
	if (id == 0 && index < 0 && !has_name)
		return false;
	calls = answer_calls(a);
	if (calls == NULL || calls->n == ANSWER_CALLS_MAX)
		return has_name;
	calls->known[calls->n++] = (struct answer_call){index, id};
	return true;
}

uint8_t
answer_keep_name(struct answer *a)
{
	struct answer_calls *calls = answer_calls(a);

	if (calls == NULL)
		return 0;
	memcpy(calls->name, a->text, a->n_text);
	return a->n_text;
}

void
answer_count_call(struct answer *a, size_t n)
{
	struct turn_tool *tool;

	a->n_calls++;
	if (n == 0)
		return;
	tool = turn_tool_get(a->t, a->calls->name, n);
	if (tool != NULL)
		tool->calls++;
}

void
answer_forget_calls(struct answer *a)
{
	a->n_calls = 0;
	if (a->calls != NULL)
		a->calls->n = 0;
	for (size_t i = 0; i < a->t->n_tools; i++)
		a->t->tools[i].calls = 0;
}
