/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * admin: requests to /_turnmeter/, handed to a room above.
 *
 * The proxy room owns the connection and the checks of Law 6 (Host, Origin,
 * token); the handler owns the answer. All calls on the loop thread; an answer
 * may come later (loop_post from another thread brings it back).
 */
#ifndef PROXY_ADMIN_H
#define PROXY_ADMIN_H

#include <stddef.h>

struct admin_call;   /* valid until answered by reply or stream, or gone */
struct admin_stream; /* valid until closed or until its gone callback */

/* Takes the duty to answer CALL once, now or later. */
typedef void admin_handler_fn(void *cls, struct admin_call *call);

const char *admin_call_method(const struct admin_call *call);
/* After "/_turnmeter/", without the query. */
const char *admin_call_path(const struct admin_call *call);
/* NULL where absent; percent-decoded. Borrowed until the answer. */
const char *admin_call_query(const struct admin_call *call, const char *key);
const char *admin_call_header(const struct admin_call *call, const char *name);

/* Where the client leaves before the answer, GONE is told and CALL is no more
 * to be used. */
void admin_call_on_gone(
    struct admin_call *call, void (*gone)(void *cls), void *cls);

/* Answers and ends CALL. Copies the body. A 405 goes out with `Allow: GET, HEAD`,
 * the methods that admin paths know; to HEAD the head alone. */
void admin_call_reply(struct admin_call *call, int status,
    const char *content_type, const void *body, size_t n);

/* Answers 200 with a body that follows in pieces and ends CALL. GONE is told
 * once when the client has left; the stream is no more then. NULL (the call is
 * answered 503) without memory. */
struct admin_stream *admin_call_stream(struct admin_call *call,
    const char *content_type, void (*gone)(void *cls), void *cls);

/* 0; -ENOBUFS: more than N_MAX bytes (256 KiB) wait for a slow reader, nothing
 * was queued: the caller drops the reader. */
int admin_stream_send(struct admin_stream *s, const void *data, size_t n);

/* Ends the stream after what is queued; GONE is not told. */
void admin_stream_close(struct admin_stream *s);

#endif
