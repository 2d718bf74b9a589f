/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "exchange.h"
#include "meter/meter.h"

void
reply_fini(struct own_reply *own)
{
	free(own->body);
	memset(own, 0, sizeof(*own));
}

void
reply_own(struct exchange *x, int status, const char *kind,
    const char *content_type, char *body, size_t n)
{
	reply_fini(&x->own);
	x->own.status = status;
	x->own.kind = kind;
	x->own.content_type = content_type;
	x->own.body = body;
	x->own.n_body = n;
	exchange_set_state(x, EXCHANGE_OWN);
	exchange_mark(x);
}

void
reply_error(
    struct exchange *x, int status, const char *kind, const char *message)
{
	const struct config_upstream *u = x->route.upstream;
	const char *target = x->route.target != NULL ? x->route.target
						     : x->target;
	char *path = strndup(target, strcspn(target, "?"));
	char *body = meter_error_body(path != NULL ? path : "/",
	    u != NULL ? u->protocol : NULL, status, kind, message);

	reply_own(x, status, kind, "application/json", body,
	    body != NULL ? strlen(body) : 0);
	free(path);
}

void
reply_refusal(struct exchange *x, const struct refusal *r)
{
	x->proxy->counts.n_refused++;
	reply_error(x, r->status, r->kind, r->message);
	x->own.is_close = r->is_close;
}

enum MHD_Result
reply_queue(struct exchange *x)
{
	struct own_reply *own = &x->own;
	struct MHD_Response *response = MHD_create_response_from_buffer(
	    own->n_body, own->body != NULL ? own->body : (void *)"",
	    own->body != NULL ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
	enum MHD_Result result;

	if (response == NULL)
		return MHD_NO;
	own->body = NULL;
	own->n_body = 0;
	if (own->content_type != NULL)
		MHD_add_response_header(
		    response, "Content-Type", own->content_type);
	if (own->kind != NULL)
		MHD_add_response_header(
		    response, "x-turnmeter-error", own->kind);
	if (own->status == 405)
		MHD_add_response_header(response, "Allow", "GET, HEAD");
	if (own->is_close || x->proxy->is_draining)
		MHD_add_response_header(response, "Connection", "close");
	result = MHD_queue_response(
	    x->connection, (unsigned)own->status, response);
	MHD_destroy_response(response);
	return result;
}
