/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * The request's headers on their way to the upstream: in order, in their case,
 * with their repeats; hop-by-hop ones and those of the framing left out.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <curl/curl.h>

#include "exchange.h"
#include "meter/meter.h"

enum { RELAY_LINE_BYTES = 1024 /* lines built on the stack */ };

struct relay_headers {
	struct exchange *x;
	struct curl_slist *last;
	const char *connection; /* its values joined, NULL: none */
	bool has_accept, has_agent, has_type, has_failed;
};

/* curl_slist_append walks the list; this one keeps its end. */
static void
relay_list_add(struct relay_headers *h, const char *line)
{
	struct curl_slist *grown = curl_slist_append(h->last, line);

	if (grown == NULL) {
		h->has_failed = true;
		return;
	}
	if (h->x->headers == NULL)
		h->x->headers = grown;
	h->last = h->last == NULL ? grown : h->last->next;
}

static void
relay_list_add_header(struct relay_headers *h, const char *name, size_t n_name,
    const char *value, size_t n_value)
{
	char stack[RELAY_LINE_BYTES], *line = stack;

	if (n_name + n_value + 3 > sizeof(stack))
		line = malloc(n_name + n_value + 3);
	if (line == NULL) {
		h->has_failed = true;
		return;
	}
	memcpy(line, name, n_name);
	if (n_value == 0) {
		/* libcurl's spelling of an empty value. */
		memcpy(line + n_name, ";", 2);
	} else {
		memcpy(line + n_name, ": ", 2);
		memcpy(line + n_name + 2, value, n_value);
		line[n_name + 2 + n_value] = '\0';
	}
	relay_list_add(h, line);
	if (line != stack)
		free(line);
}

static enum MHD_Result
relay_add_header(void *cls, enum MHD_ValueKind kind, const char *name,
    size_t n_name, const char *value, size_t n_value)
{
	struct relay_headers *h = cls;

	(void)kind;
	if (value == NULL) {
		value = "";
		n_value = 0;
	}
	if (h->x->meter != NULL)
		meter_request_header(h->x->meter, name, value);
	if (header_is_hop(name, n_name, h->connection) ||
	    HEADER_IS(name, n_name, "host") ||
	    HEADER_IS(name, n_name, "content-length") ||
	    HEADER_IS(name, n_name, "x-turnmeter-token") ||
	    (HEADER_IS(name, n_name, "expect") && !h->x->is_expecting))
		return MHD_YES;
	if (HEADER_IS(name, n_name, "accept"))
		h->has_accept = true;
	else if (HEADER_IS(name, n_name, "user-agent"))
		h->has_agent = true;
	else if (HEADER_IS(name, n_name, "content-type"))
		h->has_type = true;
	relay_list_add_header(h, name, n_name, value, n_value);
	return MHD_YES;
}

static enum MHD_Result
relay_join_connection(
    void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct buf *all = cls;

	(void)kind;
	if (strcasecmp(name, "connection") == 0 && value != NULL) {
		buf_append_str(all, value);
		buf_append(all, ",", 1);
	}
	return MHD_YES;
}

/* The headers as the upstream will get them; the meter sees them all. */
bool
relay_make_headers(struct exchange *x)
{
	struct relay_headers h = {.x = x};
	struct buf connection;

	buf_init(&connection, EXCHANGE_HEAD_BYTES);
	if (x->has_connection)
		MHD_get_connection_values(x->connection, MHD_HEADER_KIND,
		    relay_join_connection, &connection);
	if (buf_len(&connection) > 0 && buf_append(&connection, "", 1) == 0)
		h.connection = buf_data(&connection);
	MHD_get_connection_values_n(
	    x->connection, MHD_HEADER_KIND, relay_add_header, &h);
	buf_fini(&connection);
	if (!h.has_accept)
		relay_list_add(&h, "Accept:");
	if (!h.has_agent)
		relay_list_add(&h, "User-Agent:");
	if (!h.has_type)
		relay_list_add(&h, "Content-Type:");
	if (!x->is_expecting)
		relay_list_add(&h, "Expect:");
	if (x->content_length < 0)
		relay_list_add(&h, "Transfer-Encoding: chunked");
	return !h.has_failed;
}
