/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * The client side. libmicrohttpd runs in external epoll mode: its own epoll
 * descriptor is one of the loop's, and MHD_run is called at most once for all
 * that a turn of the loop brought.
 *
 * A call that resumes a connection walks the daemon's list of all suspended
 * ones, which is a cache miss each. So connections are accepted here and dealt
 * out to several daemons in turn: with 2,000 open streams a walk meets 32.
 */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "exchange.h"
#include "proxy/loop.h"
#include "server.h"
#include "upstream.h"

enum {
	SERVER_CONNECTIONS_MAX = 16384,
	SERVER_TURN_ROUNDS = 8,
	SERVER_IDLE_RUNS_MAX = 256,
	SERVER_SPIN_MS = 20,
	SERVER_ACCEPT_BATCH = 64,
	SERVER_ACCEPT_PAUSE_MS = 100
};

/* The allowed moves; to GONE from everywhere. */
static const unsigned exchange_moves[EXCHANGE_STATE_COUNT] = {
    [EXCHANGE_NEW] = 1u << EXCHANGE_OWN | 1u << EXCHANGE_ADMIN |
		     1u << EXCHANGE_RECEIVING,
    [EXCHANGE_OWN] = 1u << EXCHANGE_OWN,
    [EXCHANGE_ADMIN] = 1u << EXCHANGE_OWN | 1u << EXCHANGE_ANSWERING,
    [EXCHANGE_RECEIVING] = 1u << EXCHANGE_WAITING | 1u << EXCHANGE_OWN,
    [EXCHANGE_WAITING] = 1u << EXCHANGE_ANSWERING | 1u << EXCHANGE_OWN,
};

struct exchange *
exchange_check(void *cls)
{
	struct exchange *x = cls;

	assert(x != NULL && x->magic == EXCHANGE_MAGIC);
	return x;
}

void
exchange_set_state(struct exchange *x, enum exchange_state state)
{
	assert(state == EXCHANGE_GONE ||
	       (exchange_moves[x->state] & 1u << state) != 0);
	x->state = state;
}

void
exchange_mark(struct exchange *x)
{
	if (x->is_dirty)
		return;
	x->is_dirty = true;
	x->next_dirty = x->proxy->dirty;
	x->proxy->dirty = x;
}

void
exchange_mark_late(struct exchange *x)
{
	if (x->is_late)
		return;
	x->is_late = true;
	x->next_late = x->proxy->late;
	x->proxy->late = x;
}

static void
shard_mark(struct shard *s)
{
	s->proxy->runnable |= (uint64_t)1 << s->number;
}

void
exchange_suspend(struct exchange *x)
{
	x->is_suspended = true;
	MHD_suspend_connection(x->connection);
}

void
exchange_resume(struct exchange *x)
{
	if (!x->is_suspended)
		return;
	x->is_suspended = false;
	MHD_resume_connection(x->connection);
	shard_mark(x->client->shard);
}

size_t
exchange_take(struct exchange *x, char *data, size_t max)
{
	size_t have = buf_len(&x->out);

	if (have == 0)
		return 0;
	if (have > max)
		have = max;
	x->client->shard->n_idle_runs = 0;
	memcpy(data, buf_data(&x->out), have);
	buf_consume(&x->out, have);
	return have;
}

const char *
exchange_header(struct exchange *x, const char *name)
{
	return MHD_lookup_connection_value(
	    x->connection, MHD_HEADER_KIND, name);
}

/* -- configurations --------------------------------------------------- */

static void
config_ref_drop(struct config_ref *ref)
{
	if (--ref->n_users > 0 || !ref->is_replaced)
		return;
	if (ref->release != NULL)
		ref->release(ref->release_cls, ref->config);
	free(ref);
}

int
server_set_config(struct proxy *p, const struct config *config,
    void (*release)(void *cls, const struct config *old), void *cls)
{
	struct config_ref *ref = calloc(1, sizeof(*ref));
	struct config_ref *old = p->config;

	if (ref == NULL)
		return -ENOMEM;
	ref->config = config;
	ref->n_users = 1;
	p->config = ref;
	if (old != NULL) {
		old->is_replaced = true;
		old->release = release;
		old->release_cls = cls;
		config_ref_drop(old);
	}
	return 0;
}

/* -- exchanges -------------------------------------------------------- */

static struct client *
server_client_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
	    c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info != NULL ? info->socket_context : NULL;
}

static void *
server_on_target(void *cls, const char *target, struct MHD_Connection *c)
{
	struct shard *shard = cls;
	struct proxy *p = shard->proxy;
	struct exchange *x = calloc(1, sizeof(*x));

	if (x == NULL)
		return NULL;
	shard->n_parsing++;
	x->magic = EXCHANGE_MAGIC;
	x->proxy = p;
	x->connection = c;
	x->raw_target = target;
	x->target = strdup(target);
	if (x->target == NULL) {
		free(x);
		return NULL;
	}
	x->client = server_client_of(c);
	if (x->client != NULL)
		x->client->exchange = x;
	x->answer_length = -1;
	buf_init(&x->up, EXCHANGE_UP_BYTES + 1);
	buf_init(&x->head, EXCHANGE_HEAD_BYTES);
	buf_init(&x->trailers, EXCHANGE_HEAD_BYTES);
	buf_init(&x->out, 2 * EXCHANGE_HIGH_BYTES);
	buf_init(&x->framed, 3 * EXCHANGE_HIGH_BYTES);
	x->next = p->exchanges;
	if (x->next != NULL)
		x->next->prev = x;
	p->exchanges = x;
	return x;
}

static void
exchange_unlink(struct exchange *x)
{
	struct proxy *p = x->proxy;
	struct exchange **at;

	for (at = &p->dirty; x->is_dirty && *at != NULL;
	     at = &(*at)->next_dirty) {
		if (*at == x) {
			*at = x->next_dirty;
			break;
		}
	}
	for (at = &p->late; x->is_late && *at != NULL; at = &(*at)->next_late) {
		if (*at == x) {
			*at = x->next_late;
			break;
		}
	}
	if (x->next != NULL)
		x->next->prev = x->prev;
	if (x->prev != NULL)
		x->prev->next = x->next;
	else
		p->exchanges = x->next;
	if (x->client != NULL && x->client->exchange == x)
		x->client->exchange = NULL;
}

void
exchange_free(struct exchange *x)
{
	relay_free(x);
	admin_free(x);
	exchange_unlink(x);
	if (x->is_counted)
		x->proxy->counts.n_in_flight--;
	if (x->config != NULL)
		config_ref_drop(x->config);
	route_fini(&x->route);
	reply_fini(&x->own);
	buf_fini(&x->up);
	buf_fini(&x->head);
	buf_fini(&x->trailers);
	buf_fini(&x->out);
	buf_fini(&x->framed);
	free(x->target);
	free(x->method);
	x->magic = 0;
	free(x);
}

static void
server_on_completed(void *cls, struct MHD_Connection *connection,
    void **exchange, enum MHD_RequestTerminationCode code)
{
	(void)cls;
	(void)connection;
	(void)code;
	if (*exchange != NULL)
		exchange_free(exchange_check(*exchange));
	*exchange = NULL;
}

static bool
server_is_upgrade(struct exchange *x)
{
	const char *upgrade = exchange_header(x, "Upgrade");

	return upgrade != NULL && strcasecmp(upgrade, "websocket") == 0;
}

static void
server_answer_unknown(struct exchange *x)
{
	char *body = route_unknown_body(exchange_config(x));

	x->proxy->counts.n_refused++;
	reply_own(x, 404, "no_route", "application/json", body,
	    body != NULL ? strlen(body) : 0);
}

/* Where the request goes, by its target. */
static void
server_dispatch(struct exchange *x)
{
	struct refusal r = {0, NULL, NULL, false};
	int error = route_resolve(exchange_config(x), x->target,
	    exchange_header(x, "Host"), exchange_header(x, "x-turnmeter-token"),
	    &x->route);

	if (error != 0) {
		reply_error(x, 503, "no_memory", "turnmeter: no memory");
		return;
	}
	switch (x->route.result) {
	case ROUTE_UPSTREAM:
		if (!server_is_upgrade(x)) {
			relay_begin(x);
			return;
		}
		r = (struct refusal){426, "upgrade",
		    "WebSocket is not relayed; use HTTP", false};
		break;
	case ROUTE_ADMIN:
		r = guard_check_admin(x);
		if (r.status == 0) {
			admin_begin(x);
			return;
		}
		break;
	case ROUTE_ROOT:
		if (strcmp(x->method, "HEAD") == 0) {
			reply_own(x, 200, NULL, NULL, NULL, 0);
			return;
		}
		server_answer_unknown(x);
		return;
	case ROUTE_UNKNOWN: server_answer_unknown(x); return;
	case ROUTE_BAD_TARGET:
		r = (struct refusal){400, "malformed",
		    "the request target is of another authority", true};
		break;
	case ROUTE_BAD_TOKEN:
		r = (struct refusal){403, "token",
		    "an access token is needed (see token)", false};
		break;
	}
	reply_refusal(x, &r);
}

/* The first call: the head is here, nothing of the body. */
static enum MHD_Result
server_begin(struct exchange *x, const char *method, const char *version)
{
	struct refusal r;

	x->is_begun = true;
	x->is_http11 = strcmp(version, "HTTP/1.1") == 0;
	x->t0_ns = clock_now_ns();
	x->method = strdup(method);
	if (x->client == NULL || x->method == NULL)
		return MHD_NO;
	if (x->client->shard->n_parsing > 0)
		x->client->shard->n_parsing--;
	x->config = x->proxy->config;
	x->config->n_users++;
	r = guard_check(x, version);
	if (r.status == 0) {
		server_dispatch(x);
		/* The edge may have come before the request was read; then
		 * none will come any more. */
		if (x->client->has_left) {
			exchange_client_gone(x);
			return MHD_NO;
		}
		return MHD_YES;
	}
	reply_refusal(x, &r);
	/* An answer on the first call makes libmicrohttpd close. */
	return reply_queue(x);
}

static enum MHD_Result
server_on_request(void *cls, struct MHD_Connection *connection, const char *url,
    const char *method, const char *version, const char *data, size_t *n,
    void **exchange)
{
	struct exchange *x;

	(void)cls;
	(void)connection;
	(void)url;
	if (*exchange == NULL)
		return MHD_NO; /* no memory for it */
	x = exchange_check(*exchange);
	if (!x->is_begun)
		return server_begin(x, method, version);
	if (x->state == EXCHANGE_GONE)
		return MHD_NO;
	x->client->shard->n_idle_runs = 0;
	if (*n > 0 && x->is_counted)
		return relay_upload(x, data, n);
	if (*n > 0) {
		*n = 0;
		return MHD_YES;
	}
	return x->is_counted ? relay_answer(x) : admin_answer(x);
}

/* -- the turn of the loop --------------------------------------------- */

static void
server_look_at_dirty(struct proxy *p)
{
	while (p->dirty != NULL) {
		struct exchange *x = p->dirty;

		p->dirty = x->next_dirty;
		x->is_dirty = false;
		if (!x->is_suspended)
			continue;
		if (x->is_counted ? relay_is_ready(x) && relay_write_direct(x)
				  : admin_is_ready(x))
			exchange_resume(x);
	}
}

static void
server_check_drained(struct proxy *p)
{
	void (*drained)(void *) = p->drained;

	if (!p->is_draining || drained == NULL || p->counts.n_in_flight > 0)
		return;
	p->drained = NULL;
	drained(p->drained_cls);
}

/* libmicrohttpd asks to be run again for as long as a connection waits for
 * what its pool cannot hold, such as the rest of a chunk's extension. The
 * client may stay like that: then the shard runs now and then only. */
static void
shard_run(struct shard *s)
{
	MHD_UNSIGNED_LONG_LONG ms;

	MHD_run(s->daemon);
	/* It may have closed one of these, which takes another run to tell. */
	if (s->n_parsing > 0)
		shard_mark(s);
	s->n_parsing = 0;
	if (MHD_get_timeout(s->daemon, &ms) != MHD_YES || ms != 0)
		s->n_idle_runs = 0;
	else if (++s->n_idle_runs < SERVER_IDLE_RUNS_MAX)
		shard_mark(s);
	else
		s->proxy->spinning |= (uint64_t)1 << s->number;
}

/* Runs the daemons that have something to do; whether there was any. */
static bool
server_run_shards(struct proxy *p)
{
	uint64_t runnable = p->runnable;

	p->runnable = 0;
	for (uint64_t left = runnable; left != 0; left &= left - 1)
		shard_run(&p->shards[__builtin_ctzll(left)]);
	return runnable != 0;
}

/* Whether there were any. */
static bool
server_pass_uploads(struct proxy *p)
{
	bool had_any = p->late != NULL;

	while (p->late != NULL) {
		struct exchange *x = p->late;

		p->late = x->next_late;
		x->is_late = false;
		relay_pass_upload(x);
	}
	return had_any;
}

int64_t
server_turn(void *cls)
{
	struct proxy *p = cls;
	int64_t wait;

	p->runnable |= p->spinning;
	p->spinning = 0;
	for (int i = 0; i < SERVER_TURN_ROUNDS; i++) {
		wait = pool_run(p->pool);
		server_look_at_dirty(p);
		if (server_run_shards(p) || server_pass_uploads(p))
			continue;
		clients_shut_left(p);
		server_check_drained(p);
		if (p->spinning != 0 && (wait < 0 || wait > SERVER_SPIN_MS))
			return SERVER_SPIN_MS;
		return wait;
	}
	clients_shut_left(p);
	server_check_drained(p);
	return 0;
}

static void
shard_ready(void *cls, uint32_t events)
{
	struct shard *s = cls;

	(void)events;
	shard_mark(s);
}

static void
server_accept_again(void *cls)
{
	struct proxy *p = cls;

	p->accept_pause = NULL;
	if (p->listener != NULL)
		loop_set_events(p->listener, EPOLLIN);
}

/* Without descriptors or memory for another client, the listening socket
 * stays readable: it is not looked at for a while. */
static void
server_pause_accept(struct proxy *p)
{
	if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS &&
	    errno != ENOMEM)
		return;
	p->accept_pause = loop_timer_add(
	    p->loop, SERVER_ACCEPT_PAUSE_MS, server_accept_again, p);
	if (p->accept_pause != NULL)
		loop_set_events(p->listener, 0);
}

static void
server_accept(void *cls, uint32_t events)
{
	struct proxy *p = cls;
	struct sockaddr_storage address;

	(void)events;
	for (int i = 0; i < SERVER_ACCEPT_BATCH; i++) {
		socklen_t n = sizeof(address);
		int fd = accept4(p->listen_fd, (struct sockaddr *)&address, &n,
		    SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct shard *s = &p->shards[p->next_shard];

		if (fd < 0) {
			server_pause_accept(p);
			return;
		}
		p->next_shard = (p->next_shard + 1) % PROXY_SHARDS;
		MHD_add_connection(
		    s->daemon, fd, (struct sockaddr *)&address, n);
		shard_mark(s);
	}
}

void
server_sweep(struct proxy *p)
{
	int64_t now = clock_now_ns();
	struct exchange *x, *next;

	for (x = p->exchanges; x != NULL; x = next) {
		next = x->next;
		if (x->is_counted)
			relay_check_idle(x, now);
	}
}

/* -- its life --------------------------------------------------------- */

__attribute__((format(printf, 2, 0), nonnull(2))) static void
server_log(void *cls, const char *format, va_list args)
{
	char text[256];

	(void)cls;
	vsnprintf(text, sizeof(text), format, args);
	log_debug("http: %s", text);
}

static void
server_on_connection(void *cls, struct MHD_Connection *connection,
    void **socket, enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		client_open(cls, connection, socket);
	else
		client_close(*socket);
}

static int
shard_open(struct shard *s, struct proxy *p)
{
	const struct config *c = p->config->config;
	const union MHD_DaemonInfo *info;

	s->proxy = p;
	s->number = (unsigned)(s - p->shards);
	s->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET |
					 MHD_ALLOW_SUSPEND_RESUME |
					 MHD_USE_SUPPRESS_DATE_NO_CLOCK |
					 MHD_USE_ERROR_LOG,
	    0, NULL, NULL, server_on_request, p, MHD_OPTION_EXTERNAL_LOGGER,
	    server_log, p, MHD_OPTION_URI_LOG_CALLBACK, server_on_target, s,
	    MHD_OPTION_NOTIFY_COMPLETED, server_on_completed, p,
	    MHD_OPTION_NOTIFY_CONNECTION, server_on_connection, s,
	    MHD_OPTION_CONNECTION_MEMORY_LIMIT,
	    (size_t)c->max_header + CLIENT_POOL_EXTRA_BYTES,
	    MHD_OPTION_CONNECTION_LIMIT,
	    (unsigned)(SERVER_CONNECTIONS_MAX / PROXY_SHARDS), MHD_OPTION_END);
	if (s->daemon == NULL)
		return -EIO;
	info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	s->fd = loop_add_fd(p->loop, info->epoll_fd, EPOLLIN, shard_ready, s);
	return s->fd != NULL ? 0 : -errno;
}

int
server_open(struct proxy *p)
{
	for (int i = 0; i < PROXY_SHARDS; i++) {
		int r = shard_open(&p->shards[i], p);

		if (r < 0) {
			log_err("cannot serve: %s", strerror(-r));
			return r;
		}
	}
	p->listener = loop_add_fd(
	    p->loop, p->listen_fd, EPOLLIN, server_accept, p);
	return p->listener != NULL ? 0 : -errno;
}

static void
server_stop_listening(struct proxy *p)
{
	loop_timer_cancel(p->accept_pause);
	p->accept_pause = NULL;
	if (p->listener != NULL)
		loop_remove_fd(p->listener);
	p->listener = NULL;
	if (p->listen_fd >= 0)
		close(p->listen_fd);
	p->listen_fd = -1;
}

void
server_drain(struct proxy *p)
{
	server_stop_listening(p);
	for (struct exchange *x = p->exchanges; x != NULL; x = x->next)
		if (x->stream != NULL)
			admin_drain(x);
	/* Idle connections are closed, so that their clients ask anew and
	 * find whoever listens then. */
	for (struct client *c = p->clients; c != NULL; c = c->next)
		if (c->exchange == NULL || !c->exchange->is_begun)
			shutdown(c->socket, SHUT_RDWR);
}

void
server_abort(struct proxy *p)
{
	struct exchange *x, *next;

	for (x = p->exchanges; x != NULL; x = next) {
		next = x->next;
		if (!x->is_begun || x->state == EXCHANGE_GONE)
			continue;
		if (x->is_counted)
			relay_interrupt(x);
		else
			admin_client_gone(x);
		if (x->client != NULL)
			shutdown(x->client->socket, SHUT_RDWR);
		exchange_resume(x);
	}
}

void
server_close(struct proxy *p)
{
	server_stop_listening(p);
	server_abort(p);
	for (int i = 0; i < SERVER_TURN_ROUNDS && p->exchanges != NULL; i++)
		server_run_shards(p);
	for (int i = 0; i < PROXY_SHARDS; i++) {
		struct shard *s = &p->shards[i];

		if (s->fd != NULL)
			loop_remove_fd(s->fd);
		if (s->daemon != NULL)
			MHD_stop_daemon(s->daemon);
	}
}
