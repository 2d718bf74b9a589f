/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * follow: one easy handle in a multi, so that the caller's own descriptor can
 * wake the wait. After a loss the pause before the next attempt doubles from
 * a quarter of a second to two.
 */
#include "follow.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "scan/sse.h"

enum {
	FOLLOW_EVENT_BYTES = 1 << 20,
	FOLLOW_URL_BYTES = 512,
	FOLLOW_PAUSE_MIN_MS = 250,
	FOLLOW_PAUSE_MAX_MS = 2000,
	FOLLOW_CONNECT_MS = 3000,
	FOLLOW_SILENCE_S = 60,
	FOLLOW_GET_BYTES = 1 << 20
};

struct follow {
	const struct follow_handler *handler;
	void *cls;
	CURLM *multi;
	CURL *easy;                 /* NULL: between two attempts */
	struct curl_slist *headers; /* of the attempt */
	struct sse sse;
	struct buf data; /* of the event that is being read */
	bool is_cut;     /* it was larger than the ceiling: skip it */
	bool is_up;
	bool is_told; /* of the loss */
	int pause_ms;
	int64_t next_ns; /* the next attempt */
	int64_t seq;
	char url[FOLLOW_URL_BYTES];
	char token[FOLLOW_URL_BYTES];
	char error[CURL_ERROR_SIZE];
};

static void
follow_data(void *cls, const char *data, size_t n)
{
	struct follow *f = cls;

	if (buf_append(&f->data, data, n) != 0)
		f->is_cut = true;
}

static void
follow_event(void *cls, const char *name, bool has_data)
{
	struct follow *f = cls;
	json_t *event = NULL, *seq;

	if (has_data && !f->is_cut)
		event = json_loadb(
		    buf_data(&f->data), buf_len(&f->data), 0, NULL);
	buf_clear(&f->data);
	f->is_cut = false;
	if (json_is_object(event)) {
		if (name[0] == '\0')
			name = json_string_value(
			    json_object_get(event, "event"));
		seq = json_object_get(event, "seq");
		if (name != NULL)
			f->handler->event(f->cls, name, event);
		if (name != NULL && strcmp(name, "finished") == 0 &&
		    json_is_integer(seq))
			f->seq = json_integer_value(seq);
	}
	json_decref(event);
}

static const struct sse_handler follow_sse = {
    .data = follow_data,
    .event = follow_event,
};

static size_t
follow_write(char *data, size_t size, size_t n, void *cls)
{
	struct follow *f = cls;

	sse_feed(&f->sse, data, size * n);
	return size * n;
}

/* The head of the answer: from here on the feed is up. */
static size_t
follow_header(char *data, size_t size, size_t n, void *cls)
{
	struct follow *f = cls;
	long status = 0;

	if (size * n == 2 && data[0] == '\r') {
		curl_easy_getinfo(f->easy, CURLINFO_RESPONSE_CODE, &status);
		if (status == 200 && !f->is_up) {
			f->is_up = true;
			f->is_told = false;
			f->pause_ms = FOLLOW_PAUSE_MIN_MS;
			f->handler->up(f->cls);
		}
	}
	return size * n;
}

/* What every request to the daemon has in common. */
static struct curl_slist *
follow_setup(CURL *easy, const char *token)
{
	struct curl_slist *headers = NULL;
	char line[FOLLOW_URL_BYTES + 32];

	curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	if (token != NULL && token[0] != '\0') {
		snprintf(line, sizeof(line), "x-turnmeter-token: %s", token);
		headers = curl_slist_append(headers, line);
	}
	return headers;
}

static void
follow_end(struct follow *f)
{
	if (f->easy != NULL) {
		curl_multi_remove_handle(f->multi, f->easy);
		curl_easy_cleanup(f->easy);
	}
	curl_slist_free_all(f->headers);
	f->headers = NULL;
	f->easy = NULL;
}

static void
follow_start(struct follow *f)
{
	char line[64];

	f->easy = curl_easy_init();
	if (f->easy == NULL)
		return;
	f->error[0] = '\0';
	sse_init(&f->sse, &follow_sse, f);
	buf_clear(&f->data);
	f->is_cut = false;
	f->headers = follow_setup(f->easy, f->token);
	f->headers = curl_slist_append(f->headers, "Accept: text/event-stream");
	if (f->seq >= 0) {
		snprintf(line, sizeof(line), "Last-Event-ID: %lld",
		    (long long)f->seq);
		f->headers = curl_slist_append(f->headers, line);
	}
	curl_easy_setopt(f->easy, CURLOPT_URL, f->url);
	curl_easy_setopt(f->easy, CURLOPT_HTTPHEADER, f->headers);
	curl_easy_setopt(f->easy, CURLOPT_WRITEFUNCTION, follow_write);
	curl_easy_setopt(f->easy, CURLOPT_WRITEDATA, f);
	curl_easy_setopt(f->easy, CURLOPT_HEADERFUNCTION, follow_header);
	curl_easy_setopt(f->easy, CURLOPT_HEADERDATA, f);
	curl_easy_setopt(f->easy, CURLOPT_ERRORBUFFER, f->error);
	curl_easy_setopt(
	    f->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)FOLLOW_CONNECT_MS);
	curl_easy_setopt(f->easy, CURLOPT_FAILONERROR, 1L);
	/* The daemon sends a comment every 15 s at the least. */
	curl_easy_setopt(f->easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(
	    f->easy, CURLOPT_LOW_SPEED_TIME, (long)FOLLOW_SILENCE_S);
	curl_multi_add_handle(f->multi, f->easy);
}

/* The attempt is over: say so once, and set the time of the next. */
static void
follow_lost(struct follow *f, CURLcode code)
{
	const char *reason = f->error[0] != '\0' ? f->error
			     : code == CURLE_OK  ? "the feed ended"
						 : curl_easy_strerror(code);

	follow_end(f);
	f->is_up = false;
	f->next_ns = clock_now_ns() + (int64_t)f->pause_ms * 1000000;
	f->pause_ms *= 2;
	if (f->pause_ms > FOLLOW_PAUSE_MAX_MS)
		f->pause_ms = FOLLOW_PAUSE_MAX_MS;
	if (!f->is_told) {
		f->is_told = true;
		f->handler->down(f->cls, reason);
	}
}

struct follow *
follow_new(const char *base_url, const char *token, int64_t after_seq,
    const struct follow_handler *handler, void *cls)
{
	struct follow *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return NULL;
	f->handler = handler;
	f->cls = cls;
	f->seq = after_seq;
	f->pause_ms = FOLLOW_PAUSE_MIN_MS;
	snprintf(f->url, sizeof(f->url), "%s/_turnmeter/events", base_url);
	snprintf(f->token, sizeof(f->token), "%s", token != NULL ? token : "");
	buf_init(&f->data, FOLLOW_EVENT_BYTES);
	f->multi = curl_multi_init();
	if (f->multi == NULL) {
		free(f);
		return NULL;
	}
	return f;
}

void
follow_free(struct follow *f)
{
	if (f == NULL)
		return;
	follow_end(f);
	curl_multi_cleanup(f->multi);
	buf_fini(&f->data);
	free(f);
}

void
follow_step(struct follow *f, int timeout_ms, int extra_fd)
{
	struct curl_waitfd extra = {.fd = extra_fd, .events = CURL_WAIT_POLLIN};
	int running, left;
	CURLMsg *message;
	int64_t now = clock_now_ns();

	if (f->easy == NULL && now >= f->next_ns)
		follow_start(f);
	if (f->easy == NULL && (f->next_ns - now) / 1000000 < timeout_ms)
		timeout_ms = (int)((f->next_ns - now) / 1000000) + 1;
	/* What is ready is done before the wait, or a handle just added would
	 * wait for its first step. */
	curl_multi_perform(f->multi, &running);
	message = curl_multi_info_read(f->multi, &left);
	if (message == NULL) {
		curl_multi_poll(
		    f->multi, &extra, extra_fd >= 0 ? 1 : 0, timeout_ms, NULL);
		curl_multi_perform(f->multi, &running);
		message = curl_multi_info_read(f->multi, &left);
	}
	if (message != NULL && message->msg == CURLMSG_DONE)
		follow_lost(f, message->data.result);
}

bool
follow_is_up(const struct follow *f)
{
	return f->is_up;
}

static size_t
follow_collect(char *data, size_t size, size_t n, void *cls)
{
	return buf_append(cls, data, size * n) == 0 ? size * n : 0;
}

json_t *
follow_get(const char *base_url, const char *token, const char *path,
    int timeout_ms, char *reason, size_t size)
{
	CURL *easy = curl_easy_init();
	char url[FOLLOW_URL_BYTES], error[CURL_ERROR_SIZE] = "";
	struct curl_slist *headers;
	struct buf body;
	json_t *document = NULL;
	bool is_good = false;
	long status = 0;
	CURLcode code;

	if (easy == NULL) {
		snprintf(reason, size, "no memory");
		return NULL;
	}
	buf_init(&body, FOLLOW_GET_BYTES);
	snprintf(url, sizeof(url), "%s/_turnmeter/%s", base_url, path);
	headers = follow_setup(easy, token);
	curl_easy_setopt(easy, CURLOPT_URL, url);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, follow_collect);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, &body);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
	code = curl_easy_perform(easy);
	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	if (code == CURLE_OK && buf_len(&body) > 0)
		document = json_loadb(buf_data(&body), buf_len(&body), 0, NULL);
	if (code != CURLE_OK)
		snprintf(reason, size, "%s",
		    error[0] != '\0' ? error : curl_easy_strerror(code));
	else if (status >= 400 && json_object_get(document, "v") == NULL)
		snprintf(reason, size, "it answers %ld", status);
	else if (!json_is_object(document) && !json_is_array(document))
		snprintf(reason, size, "what answers is not turnmeter");
	else
		is_good = true;
	if (!is_good) {
		json_decref(document);
		document = NULL;
	}
	curl_slist_free_all(headers);
	curl_easy_cleanup(easy);
	buf_fini(&body);
	return document;
}
