/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * What libcurl does on its own, and how it is kept from it:
 *
 * - It replays a request on a reused connection that closed before a byte of
 *   the answer. The pre-request callback runs before each sending; the second
 *   one of a transfer is refused unless the request may be repeated (GET,
 *   HEAD, OPTIONS without a body). So a POST reaches the upstream at most
 *   once.
 * - It adds Accept, Content-Type, Expect: taken out by empty headers where the
 *   client sent none.
 * - Debian's build has a default CApath, which switches its cache of CA
 *   certificates off (28 ms CPU a connection): CAPATH is unset.
 * - It stops a whole HTTP/2 connection for one stream whose reader is slow, and
 *   puts off the reset of a dropped stream: so a connection carries one stream
 *   at a time, as with HTTP/1.1.
 * - TLS sessions are not shared between handles of one multi: a share object
 *   does that.
 */
#include "upstream.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <curl/curl.h>

#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "proxy/loop.h"
#include "sockets.h"

enum {
	POOL_EASY_MAX = 64, /* idle handles kept for reuse */
	POOL_BUFFER_BYTES = 4095 /* with its NUL, a page */,
	POOL_UPLOAD_BYTES = 65536,
	POOL_RUN_ROUNDS = 8,
	POOL_EXPECT_MS = 1000,
	POOL_DNS_SECONDS = 60,
	TRANSFER_TRAILER_BYTES = 16 * 1024,
	TRANSFER_MAGIC = 0x7472616e
};

struct pool {
	struct loop *loop;
	CURLM *multi;
	CURLSH *share;
	int64_t due_ns; /* of libcurl's timer, -1: none */
	CURL *idle[POOL_EASY_MAX];
	size_t n_idle;
	struct sockets *sockets;
	/* constant after start */
	const char *ca_file; /* the system's bundle */
	const char *http_proxy, *https_proxy, *no_proxy; /* NULL: none */
};

struct transfer {
	unsigned magic;
	struct pool *pool;
	CURL *easy;
	struct curl_slist *headers;
	const struct transfer_events *events;
	void *cls;
	int64_t last_activity_ns;
	int status;
	int n_sent;        /* times that libcurl began to send the request */
	size_t n_trailers; /* bytes */
	bool may_repeat;
	bool is_chunked;
	bool is_head_done;
	bool is_request_paused;
	bool is_answer_paused;
	char reason[CURL_ERROR_SIZE]; /* libcurl's own words */
};

static struct transfer *
transfer_check(void *cls)
{
	struct transfer *t = cls;

	assert(t != NULL && t->magic == TRANSFER_MAGIC);
	return t;
}

static int
pool_on_timer(CURLM *multi, long ms, void *cls)
{
	struct pool *p = cls;

	(void)multi;
	p->due_ns = ms < 0 ? -1 : clock_now_ns() + (int64_t)ms * 1000000;
	return 0;
}

/* -- a transfer's callbacks ------------------------------------------- */

static bool
transfer_is_paused(CURL *easy)
{
	char *priv = NULL;

	curl_easy_getinfo(easy, CURLINFO_PRIVATE, &priv);
	return priv != NULL && transfer_check(priv)->is_answer_paused;
}

static int
transfer_on_prereq(void *cls, char *primary_ip, char *local_ip,
    int primary_port, int local_port)
{
	struct transfer *t = transfer_check(cls);

	(void)primary_ip;
	(void)local_ip;
	(void)primary_port;
	(void)local_port;
	if (t->n_sent++ > 0 && !t->may_repeat)
		return CURL_PREREQFUNC_ABORT;
	t->last_activity_ns = clock_now_ns();
	t->events->sending(t->cls, t->last_activity_ns);
	return CURL_PREREQFUNC_OK;
}

static size_t
transfer_on_header(char *data, size_t size, size_t n_items, void *cls)
{
	struct transfer *t = transfer_check(cls);
	size_t n_all = size * n_items, n = n_all;

	while (n > 0 && (data[n - 1] == '\n' || data[n - 1] == '\r'))
		n--;
	t->last_activity_ns = clock_now_ns();
	if (!t->is_head_done && n > 5 && memcmp(data, "HTTP/", 5) == 0) {
		const char *space = memchr(data, ' ', n);

		t->status = space != NULL ? atoi(space) : 0;
		if (t->status >= 200 &&
		    !t->events->head_line(t->cls, data, n, true))
			return 0;
		return n_all;
	}
	if (t->status == 101 && n == 0)
		return 0; /* nobody asked for it, and nothing need follow */
	if (t->status < 200)
		return n_all;
	if (t->is_head_done) {
		/* libcurl keeps each of them, however many come. */
		t->n_trailers += n_all;
		if (t->n_trailers > TRANSFER_TRAILER_BYTES)
			return 0;
		if (n > 0)
			t->events->trailer_line(t->cls, data, n);
		return n_all;
	}
	if (n > 0)
		return t->events->head_line(t->cls, data, n, false) ? n_all : 0;
	t->is_head_done = true;
	t->events->head_end(t->cls);
	return n_all;
}

static size_t
transfer_on_body(char *data, size_t size, size_t n_items, void *cls)
{
	struct transfer *t = transfer_check(cls);

	if (!t->is_head_done)
		return 0; /* behind a 101, which nobody asked for */
	t->last_activity_ns = clock_now_ns();
	if (!t->events->body(t->cls, data, size * n_items)) {
		t->is_answer_paused = true;
		return CURL_WRITEFUNC_PAUSE;
	}
	return size * n_items;
}

static size_t
transfer_on_read(char *data, size_t size, size_t n_items, void *cls)
{
	struct transfer *t = transfer_check(cls);
	ssize_t n = t->events->read(t->cls, data, size * n_items);

	if (n == TRANSFER_READ_PAUSE) {
		t->is_request_paused = true;
		return CURL_READFUNC_PAUSE;
	}
	t->last_activity_ns = clock_now_ns();
	return (size_t)n;
}

static int
transfer_on_trailers(struct curl_slist **list, void *cls)
{
	struct transfer *t = transfer_check(cls);

	*list = t->events->trailers(t->cls);
	return CURL_TRAILERFUNC_OK;
}

/* -- making handles --------------------------------------------------- */

/* The options that no request changes. */
static CURL *
pool_new_easy(struct pool *p)
{
	CURL *e = curl_easy_init();

	if (e == NULL)
		return NULL;
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, transfer_on_header);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, transfer_on_body);
	curl_easy_setopt(e, CURLOPT_READFUNCTION, transfer_on_read);
	curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, transfer_on_prereq);
	sockets_set(p->sockets, e);
	curl_easy_setopt(e, CURLOPT_BUFFERSIZE, (long)POOL_BUFFER_BYTES);
	curl_easy_setopt(e, CURLOPT_UPLOAD_BUFFERSIZE, (long)POOL_UPLOAD_BYTES);
	curl_easy_setopt(
	    e, CURLOPT_EXPECT_100_TIMEOUT_MS, (long)POOL_EXPECT_MS);
	curl_easy_setopt(e, CURLOPT_DNS_CACHE_TIMEOUT, (long)POOL_DNS_SECONDS);
	curl_easy_setopt(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(e, CURLOPT_CAPATH, NULL);
	curl_easy_setopt(e, CURLOPT_SHARE, p->share);
	curl_easy_setopt(e, CURLOPT_TCP_NODELAY, 1L);
	return e;
}

static CURL *
pool_take_easy(struct pool *p)
{
	return p->n_idle > 0 ? p->idle[--p->n_idle] : pool_new_easy(p);
}

static void
pool_put_easy(struct pool *p, CURL *easy)
{
	if (p->n_idle < POOL_EASY_MAX)
		p->idle[p->n_idle++] = easy;
	else
		curl_easy_cleanup(easy);
}

static void
transfer_free(struct transfer *t)
{
	curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, NULL);
	curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, NULL);
	curl_easy_setopt(t->easy, CURLOPT_ERRORBUFFER, NULL);
	curl_easy_setopt(t->easy, CURLOPT_PRIVATE, NULL);
	/* libcurl 7.88 does not reset a handle's trailer state: its next
	 * chunked upload would write before its buffer. */
	if (t->is_chunked)
		curl_easy_cleanup(t->easy);
	else
		pool_put_easy(t->pool, t->easy);
	curl_slist_free_all(t->headers);
	t->magic = 0;
	free(t);
}

static const char *
upstream_env(const char *lower, const char *upper)
{
	const char *value = getenv(lower);

	if ((value == NULL || value[0] == '\0') && upper != NULL)
		value = getenv(upper);
	return value != NULL && value[0] != '\0' ? value : NULL;
}

/* Whether the no_proxy list names HOST or a domain above it. */
static bool
upstream_is_in_no_proxy(const struct pool *p, const char *host)
{
	const char *list = p->no_proxy;
	size_t n_host = strlen(host);

	while (list != NULL && *list != '\0') {
		size_t skip = strspn(list, " ,\t.");
		size_t n = strcspn(list + skip, " ,\t");
		const char *name = list + skip;

		if (n == 1 && *name == '*')
			return true;
		if (n > 0 && n <= n_host &&
		    strncasecmp(host + n_host - n, name, n) == 0 &&
		    (n == n_host || host[n_host - n - 1] == '.'))
			return true;
		list = name + n;
	}
	return false;
}

/* The proxy for U: its own setting, else the usual variables. "" for none. */
static const char *
upstream_proxy(const struct pool *p, const struct config_upstream *u)
{
	const char *proxy = u->is_tls ? p->https_proxy : p->http_proxy;

	if (u->proxy != NULL)
		return u->proxy;
	if (proxy == NULL || upstream_is_in_no_proxy(p, u->host))
		return "";
	return proxy;
}

/* The usual variables, read once: they cannot change under a process. */
static void
pool_read_environment(struct pool *p)
{
	const char *all = upstream_env("all_proxy", "ALL_PROXY");

	/* HTTP_PROXY in capitals is not read: a CGI's client could set it. */
	p->http_proxy = upstream_env("http_proxy", NULL);
	p->https_proxy = upstream_env("https_proxy", "HTTPS_PROXY");
	p->no_proxy = upstream_env("no_proxy", "NO_PROXY");
	if (p->http_proxy == NULL)
		p->http_proxy = all;
	if (p->https_proxy == NULL)
		p->https_proxy = all;
}

static void
transfer_set_target(struct transfer *t, const struct transfer_setup *s)
{
	const struct config_upstream *u = s->upstream;
	const char *proxy = upstream_proxy(t->pool, u);

	curl_easy_setopt(t->easy, CURLOPT_URL, u->origin);
	curl_easy_setopt(t->easy, CURLOPT_PROXY, proxy);
	curl_easy_setopt(t->easy, CURLOPT_NOPROXY, "");
	if (proxy[0] != '\0' && !u->is_tls &&
	    strncasecmp(proxy, "socks", 5) != 0) {
		/* Asked of a proxy in the clear: the absolute form. */
		size_t n = strlen(u->origin) + strlen(s->target) + 1;
		char *absolute = malloc(n);

		if (absolute != NULL) {
			strcpy(absolute, u->origin);
			strcat(absolute, s->target);
			curl_easy_setopt(
			    t->easy, CURLOPT_REQUEST_TARGET, absolute);
			free(absolute);
			return;
		}
	}
	curl_easy_setopt(t->easy, CURLOPT_REQUEST_TARGET, s->target);
}

static void
transfer_set_upstream(struct transfer *t, const struct transfer_setup *s)
{
	const struct config_upstream *u = s->upstream;
	int64_t idle_ms = config_upstream_pool_idle_ms(s->config, u);
	CURL *e = t->easy;

	curl_easy_setopt(
	    e, CURLOPT_CONNECTTIMEOUT_MS, (long)u->connect_timeout_ms);
	/* In whole seconds, and 0 would be one. */
	curl_easy_setopt(
	    e, CURLOPT_MAXAGE_CONN, (long)((idle_ms + 999) / 1000));
	curl_easy_setopt(e, CURLOPT_FORBID_REUSE, idle_ms == 0 ? 1L : 0L);
	if (u->is_tls) {
		curl_easy_setopt(
		    e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
		curl_easy_setopt(e, CURLOPT_CAINFO,
		    u->ca_file != NULL ? u->ca_file : t->pool->ca_file);
	} else {
		curl_easy_setopt(
		    e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	}
}

static void
transfer_set_method(struct transfer *t, const struct transfer_setup *s)
{
	CURL *e = t->easy;
	bool is_head = strcmp(s->method, "HEAD") == 0;

	if (!s->has_body) {
		/* Each of the two undoes what an earlier transfer set. */
		curl_easy_setopt(e, CURLOPT_HTTPGET, 1L);
		if (is_head)
			curl_easy_setopt(e, CURLOPT_NOBODY, 1L);
		curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST,
		    is_head || strcmp(s->method, "GET") == 0 ? NULL
							     : s->method);
		return;
	}
	curl_easy_setopt(e, CURLOPT_NOBODY, 0L);
	curl_easy_setopt(e, CURLOPT_POST, 1L);
	curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST,
	    strcmp(s->method, "POST") == 0 ? NULL : s->method);
	curl_easy_setopt(e, CURLOPT_POSTFIELDS, s->body);
	curl_easy_setopt(
	    e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)s->content_length);
	curl_easy_setopt(e, CURLOPT_TRAILERFUNCTION,
	    s->content_length < 0 ? transfer_on_trailers : NULL);
	curl_easy_setopt(e, CURLOPT_TRAILERDATA, t);
}

static bool
method_may_repeat(const struct transfer_setup *s)
{
	return !s->has_body && (strcmp(s->method, "GET") == 0 ||
				   strcmp(s->method, "HEAD") == 0 ||
				   strcmp(s->method, "OPTIONS") == 0);
}

struct transfer *
transfer_start(struct pool *p, const struct transfer_setup *s)
{
	struct transfer *t = calloc(1, sizeof(*t));
	CURL *e;

	if (t == NULL)
		return NULL;
	e = pool_take_easy(p);
	if (e == NULL) {
		free(t);
		return NULL;
	}
	t->magic = TRANSFER_MAGIC;
	t->pool = p;
	t->easy = e;
	t->events = s->events;
	t->cls = s->cls;
	t->may_repeat = method_may_repeat(s);
	t->is_chunked = s->has_body && s->content_length < 0;
	t->last_activity_ns = clock_now_ns();
	t->headers = *s->headers;
	*s->headers = NULL;
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, t->reason);
	curl_easy_setopt(e, CURLOPT_PRIVATE, t);
	curl_easy_setopt(e, CURLOPT_HEADERDATA, t);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, t);
	curl_easy_setopt(e, CURLOPT_READDATA, t);
	curl_easy_setopt(e, CURLOPT_PREREQDATA, t);
	transfer_set_target(t, s);
	transfer_set_upstream(t, s);
	transfer_set_method(t, s);
	curl_easy_setopt(e, CURLOPT_HTTPHEADER, t->headers);
	if (curl_multi_add_handle(p->multi, e) != CURLM_OK) {
		transfer_free(t);
		return NULL;
	}
	return t;
}

void
transfer_drop(struct transfer *t)
{
	if (t == NULL)
		return;
	/* libcurl would only queue the reset of an HTTP/2 stream, to be sent
	 * with whatever the connection has to do next: close it instead. */
	curl_easy_setopt(t->easy, CURLOPT_FORBID_REUSE, 1L);
	curl_multi_remove_handle(t->pool->multi, t->easy);
	curl_easy_setopt(t->easy, CURLOPT_FORBID_REUSE, 0L);
	transfer_free(t);
}

static void
transfer_unpause(struct transfer *t)
{
	int mask = (t->is_request_paused ? CURLPAUSE_SEND : 0) |
		   (t->is_answer_paused ? CURLPAUSE_RECV : 0);

	curl_easy_pause(t->easy, mask);
}

void
transfer_resume_answer(struct transfer *t)
{
	if (!t->is_answer_paused)
		return;
	t->is_answer_paused = false;
	transfer_unpause(t);
}

void
transfer_resume_request(struct transfer *t)
{
	if (!t->is_request_paused)
		return;
	t->is_request_paused = false;
	transfer_unpause(t);
}

double
transfer_connect_ms(struct transfer *t)
{
	long n_connects = 0;
	curl_off_t us = 0;

	curl_easy_getinfo(t->easy, CURLINFO_NUM_CONNECTS, &n_connects);
	if (n_connects == 0)
		return 0;
	curl_easy_getinfo(t->easy, CURLINFO_APPCONNECT_TIME_T, &us);
	if (us == 0)
		curl_easy_getinfo(t->easy, CURLINFO_CONNECT_TIME_T, &us);
	return (double)us / 1000.0;
}

int64_t
transfer_sent_bytes(struct transfer *t)
{
	curl_off_t n = 0;

	curl_easy_getinfo(t->easy, CURLINFO_SIZE_UPLOAD_T, &n);
	return n;
}

int64_t
transfer_last_activity_ns(const struct transfer *t)
{
	return t->last_activity_ns;
}

static void
transfer_end(struct transfer *t, enum transfer_end end, const char *reason)
{
	const struct transfer_events *events = t->events;
	void *cls = t->cls;
	char words[CURL_ERROR_SIZE];

	snprintf(words, sizeof(words), "%s",
	    t->reason[0] != '\0' ? t->reason : reason);
	curl_multi_remove_handle(t->pool->multi, t->easy);
	transfer_free(t);
	events->done(cls, end, words);
}

void
transfer_time_out(struct transfer *t)
{
	transfer_end(t, TRANSFER_TIMEOUT, "idle for too long");
}

/* Whether a failed read was a reset. OpenSSL's layer does not hand errno on,
 * its words do. */
static bool
transfer_was_reset(struct transfer *t)
{
	long os_errno = 0;

	curl_easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &os_errno);
	return os_errno == ECONNRESET ||
	       strstr(t->reason, "reset by peer") != NULL;
}

/* Where libcurl's one code says too little, what was sent and seen tells. */
static enum transfer_end
transfer_classify(struct transfer *t, CURLcode code)
{
	if (code == CURLE_OK)
		return TRANSFER_CLEAN;
	if (t->n_sent == 0)
		return TRANSFER_CONNECT_FAILED;
	switch (code) {
	case CURLE_OPERATION_TIMEDOUT: return TRANSFER_TIMEOUT;
	case CURLE_PARTIAL_FILE: return TRANSFER_TRUNCATED;
	case CURLE_RECV_ERROR:
		return t->is_head_done && !transfer_was_reset(t)
			   ? TRANSFER_TRUNCATED
			   : TRANSFER_RESET;
	default: return TRANSFER_RESET;
	}
}

static void
pool_reap(struct pool *p)
{
	CURLMsg *msg;
	int n_left;

	while ((msg = curl_multi_info_read(p->multi, &n_left)) != NULL) {
		struct transfer *t;
		CURLcode code = msg->data.result;
		char *priv = NULL;

		if (msg->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &priv);
		t = transfer_check(priv);
		transfer_end(
		    t, transfer_classify(t, code), curl_easy_strerror(code));
	}
}

int64_t
pool_run(struct pool *p)
{
	int n_running;

	for (int i = 0; i < POOL_RUN_ROUNDS; i++) {
		if (p->due_ns >= 0 && p->due_ns <= clock_now_ns()) {
			p->due_ns = -1;
			curl_multi_socket_action(
			    p->multi, CURL_SOCKET_TIMEOUT, 0, &n_running);
		}
		pool_reap(p);
		if (p->due_ns < 0)
			return -1;
		if (p->due_ns > clock_now_ns())
			break;
	}
	if (p->due_ns <= clock_now_ns())
		return 0;
	return (p->due_ns - clock_now_ns() + 999999) / 1000000;
}

struct pool *
pool_new(struct loop *l)
{
	struct pool *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->loop = l;
	p->due_ns = -1;
	curl_global_init(CURL_GLOBAL_DEFAULT);
	pool_read_environment(p);
	p->ca_file = curl_version_info(CURLVERSION_NOW)->cainfo;
	p->multi = curl_multi_init();
	p->share = curl_share_init();
	if (p->multi == NULL || p->share == NULL) {
		log_err("no memory for the upstream side");
		pool_free(p);
		return NULL;
	}
	curl_share_setopt(
	    p->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
	p->sockets = sockets_new(l, p->multi, transfer_is_paused);
	if (p->sockets == NULL) {
		pool_free(p);
		return NULL;
	}
	curl_multi_setopt(p->multi, CURLMOPT_TIMERFUNCTION, pool_on_timer);
	curl_multi_setopt(p->multi, CURLMOPT_TIMERDATA, p);
	curl_multi_setopt(
	    p->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
	return p;
}

void
pool_free(struct pool *p)
{
	if (p == NULL)
		return;
	while (p->n_idle > 0)
		curl_easy_cleanup(p->idle[--p->n_idle]);
	curl_multi_cleanup(p->multi);
	curl_share_cleanup(p->share);
	sockets_free(p->sockets);
	free(p);
}
