/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * exchange: one request and its answer, as the modules of this room share it.
 *
 *     server.c   libmicrohttpd's callbacks, the turn of the loop
 *     client.c   connections
 *     guard.c    what is refused before routing (law 6, malformed framing)
 *     relay.c    the exchange with an upstream, with relay_headers.c,
 *                relay_answer.c and load.c
 *     reply.c   what turnmeter answers itself
 *     admin.c    the exchange with a handler above
 *
 * Loop thread only. An exchange is made when a request line has arrived and
 * freed when libmicrohttpd says that the request is over.
 */
#ifndef PROXY_EXCHANGE_H
#define PROXY_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <microhttpd.h>

#include "base/buf.h"
#include "proxy/proxy.h"
#include "proxy/route.h"

struct meter;
struct transfer;

enum {
	EXCHANGE_MAGIC = 0x65786368,
	CLIENT_MAGIC = 0x636c6965,
	/* A request body up to this is collected and sent in one piece. */
	EXCHANGE_SMALL_BYTES = 64 * 1024,
	/* Of a bigger one, at most this waits for the upstream. */
	EXCHANGE_UP_BYTES = 128 * 1024,
	/* Above HIGH the upstream is paused until LOW is left. */
	EXCHANGE_HIGH_BYTES = 128 * 1024,
	EXCHANGE_LOW_BYTES = 32 * 1024,
	/* libcurl itself refuses longer heads. */
	EXCHANGE_HEAD_BYTES = 512 * 1024,
	EXCHANGE_ADMIN_BYTES = 256 * 1024,
	/* A connection's pool beyond max_header: libmicrohttpd's own lists. */
	CLIENT_POOL_EXTRA_BYTES = 0,
	CLIENT_POOL_HEADER_BYTES = 64, /* of it a header takes, about */
	PROXY_SHARDS = 64              /* a bit each in proxy.runnable */
};

/*
 *   NEW -> OWN                                   answered by turnmeter
 *   NEW -> ADMIN                                 answered by a handler
 *   NEW -> RECEIVING -> WAITING -> ANSWERING     relayed
 *              |           |
 *              +-----------+--> OWN              (the upstream gave none)
 *   any -> GONE                                  the client has left
 */
enum exchange_state {
	EXCHANGE_NEW,       /* the request line is known */
	EXCHANGE_OWN,       /* x->own is to be sent, or being sent */
	EXCHANGE_ADMIN,     /* with the handler */
	EXCHANGE_RECEIVING, /* the request body comes in */
	EXCHANGE_WAITING,   /* the request is whole, no answer queued yet */
	EXCHANGE_ANSWERING, /* the answer is queued, its body may go on */
	EXCHANGE_GONE,      /* nobody to answer to */
	EXCHANGE_STATE_COUNT
};

/* An answer of turnmeter's own. */
struct own_reply {
	int status;
	const char *kind; /* x-turnmeter-error, NULL: none */
	const char *content_type;
	char *body; /* malloc'd */
	size_t n_body;
	bool is_close;
};

/* A configuration, as long as an exchange needs it. */
struct config_ref {
	const struct config *config;
	size_t n_users;
	bool is_replaced;
	void (*release)(void *cls, const struct config *config);
	void *release_cls;
};

/* How busy one upstream is; kept by name over reloads. */
struct load {
	struct load *next;
	char *upstream;
	int64_t n;
	int64_t last_ns;
	double integral; /* of n over time, in ns */
};

/* One libmicrohttpd daemon of several, see server.c. */
struct shard {
	struct proxy *proxy;
	struct MHD_Daemon *daemon;
	struct loop_fd *fd;
	unsigned number;
	unsigned n_parsing;   /* requests whose head began in this run */
	unsigned n_idle_runs; /* on end: asked for, and nothing moved */
};

struct client {
	unsigned magic;
	struct proxy *proxy;
	struct shard *shard;
	struct client *next, *prev;
	struct MHD_Connection *connection;
	struct exchange *exchange; /* the one under way, or NULL */
	struct loop_fd *fd;
	int socket;
	bool has_left; /* it has closed its side */
	bool is_shut;  /* we have closed ours */
	struct client *next_left;
};

struct exchange {
	unsigned magic;
	enum exchange_state state;
	struct proxy *proxy;
	struct exchange *next, *prev;
	struct exchange *next_dirty;
	struct exchange *next_late;
	struct client *client;
	struct MHD_Connection *connection;
	struct config_ref *config;
	int64_t t0_ns;
	char *target;           /* as received */
	const char *raw_target; /* the same in the connection's buffer */
	char *method;
	struct route route;
	bool is_begun;
	bool is_dirty;
	bool is_late;
	bool is_suspended;
	bool is_counted; /* among those that a drain waits for */

	/* the request */
	int64_t content_length; /* -1: chunked */
	bool has_body;
	bool has_connection; /* a Connection header */
	bool is_http11;
	bool is_collected; /* small: sent upstream when whole */
	bool is_expecting; /* the client waits for a 100 */
	bool wants_100;    /* the upstream does */
	bool is_request_whole;
	int64_t request_bytes;
	struct buf up;
	size_t head_room; /* for the answer's head in the connection's pool */
	struct curl_slist *headers; /* until the transfer takes them */

	/* the upstream */
	struct transfer *transfer;
	struct load *load;
	double load_integral;
	int64_t load_start_ns;

	/* the answer */
	int status;
	bool is_head_whole;
	bool is_body_whole;    /* nothing follows what is in `out` */
	bool is_broken;        /* it must not end cleanly */
	int64_t answer_length; /* the head's Content-Length, -1: none */
	int64_t response_bytes;
	int64_t head_ns;
	struct buf head;
	struct buf trailers;
	struct buf out;
	bool has_trailers_sent;
	bool is_direct;    /* chunks are written past libmicrohttpd */
	struct buf framed; /* of those, what the socket did not take */
	struct own_reply own;
	struct MHD_Response *response; /* for footers; borrowed */

	/* metering */
	struct turn *turn;
	struct meter *meter;
	bool is_started;
	bool is_settled;
	int64_t settled_bytes;
	int64_t progress_ns;

	/* admin */
	struct admin_call *call;
	struct admin_stream *stream;
};

struct proxy {
	struct loop *loop;
	struct pool *pool;
	struct shard shards[PROXY_SHARDS];
	unsigned next_shard;
	uint64_t runnable; /* shards whose libmicrohttpd has work */
	uint64_t spinning; /* those that say so and have none */
	int listen_fd;
	struct loop_fd *listener; /* NULL once draining */
	struct loop_timer *accept_pause;
	struct loop_timer *sweep;
	struct proxy_sink sink;
	admin_handler_fn *admin;
	void *admin_cls;
	const struct keyhash *keys;
	struct config_ref *config;
	struct load *loads;
	struct client *clients;
	struct client *left; /* to be shut at the end of the turn */
	struct exchange *exchanges;
	struct exchange *dirty;
	struct exchange *late; /* uploads to be passed on, see relay_upload */
	bool is_draining;
	bool is_closing;
	void (*drained)(void *cls);
	void *drained_cls;
	struct proxy_counts counts;
};

struct exchange *exchange_check(void *cls);
void exchange_set_state(struct exchange *x, enum exchange_state state);

/* Has the exchange looked at in this turn of the loop. */
void exchange_mark(struct exchange *x);
/* Has relay_pass_upload called once libmicrohttpd has nothing more to read. */
void exchange_mark_late(struct exchange *x);
void exchange_suspend(struct exchange *x);
void exchange_resume(struct exchange *x);

/* Its client has left; for whatever kind of exchange it is. */
void exchange_client_gone(struct exchange *x);
void exchange_free(struct exchange *x);

static inline const struct config *
exchange_config(const struct exchange *x)
{
	return x->config->config;
}

/* Moves up to MAX bytes of what waits for the client to DATA. */
size_t exchange_take(struct exchange *x, char *data, size_t max);

/* A request header's value, NULL where absent. */
const char *exchange_header(struct exchange *x, const char *name);

/* -- client.c --------------------------------------------------------- */

/* *SOCKET is what libmicrohttpd keeps with the connection; NULL where there is
 * no memory. */
void client_open(
    struct shard *shard, struct MHD_Connection *connection, void **socket);
void client_close(struct client *c);

/*
 * Ends our side of the connections whose clients have left. libmicrohttpd
 * overlooks an end that came in one with data: it takes a short read for the
 * last of what there is, and the edge is gone. This makes a new one, after it
 * had its chance to read what came before the end.
 */
void clients_shut_left(struct proxy *p);

/* -- guard.c ---------------------------------------------------------- */

/* Why a request is refused before routing; .status 0: it is not. */
struct refusal {
	int status;
	const char *kind;
	const char *message;
	bool is_close; /* the connection is not to be trusted further */
};
struct refusal guard_check(struct exchange *x, const char *version);
/* For paths under /_turnmeter/ besides. */
struct refusal guard_check_admin(struct exchange *x);

/* -- reply.c --------------------------------------------------------- */

/* Makes the exchange answer with turnmeter's own words, in the shape of the
 * protocol that TARGET belongs to. From RECEIVING on the upload is read first. */
void reply_error(
    struct exchange *x, int status, const char *kind, const char *message);
void reply_refusal(struct exchange *x, const struct refusal *r);
/* Takes BODY. */
void reply_own(struct exchange *x, int status, const char *kind,
    const char *content_type, char *body, size_t n);
enum MHD_Result reply_queue(struct exchange *x);
void reply_fini(struct own_reply *own);

/* -- relay.c ---------------------------------------------------------- */

void relay_begin(struct exchange *x);
enum MHD_Result relay_upload(struct exchange *x, const char *data, size_t *n);
void relay_pass_upload(struct exchange *x);
/* The request is whole; also called again after each resume. */
enum MHD_Result relay_answer(struct exchange *x);
/* Whether there is something for libmicrohttpd to do. */
bool relay_is_ready(const struct exchange *x);
/* The client left. */
void relay_client_gone(struct exchange *x);
/* turnmeter ends, or its patience does. */
void relay_interrupt(struct exchange *x);
void relay_check_idle(struct exchange *x, int64_t now_ns);
/* Ends the transfer and the metering; turnmeter will answer itself. */
void relay_give_up(struct exchange *x);
void relay_free(struct exchange *x);

/* -- relay_headers.c -------------------------------------------------- */

/* Fills x->headers, and shows them to the meter; false without memory. */
bool relay_make_headers(struct exchange *x);

/* -- relay_answer.c --------------------------------------------------- */

/* Queues the upstream's answer, whose head is whole. */
enum MHD_Result relay_reply(struct exchange *x);

/* Writes what is there of a streamed answer straight to the socket. Returns
 * whether libmicrohttpd is to go on with it (its end, or it is not such an
 * answer). */
bool relay_write_direct(struct exchange *x);

/* -- load.c ----------------------------------------------------------- */

/* The exchange is in flight on its upstream, from t0 on. */
void load_enter(struct exchange *x);
/* The mean of the others in flight over this exchange so far. */
double load_mean(struct exchange *x, int64_t now_ns);
void load_leave(struct exchange *x);

/* -- admin.c ---------------------------------------------------------- */

void admin_begin(struct exchange *x);
void admin_drain(struct exchange *x); /* ends its stream; GONE is told */
enum MHD_Result admin_answer(struct exchange *x);
bool admin_is_ready(const struct exchange *x);
void admin_client_gone(struct exchange *x);
void admin_free(struct exchange *x);

/* -- headers.c -------------------------------------------------------- */

/* NAME, of N bytes, is the literal LIT in any case. */
#define HEADER_IS(name, n, lit) \
	((n) == sizeof(lit) - 1 && strncasecmp(name, lit, sizeof(lit) - 1) == 0)

/* Hop-by-hop by its name, or named in CONNECTION, a list of names. */
bool header_is_hop(const char *name, size_t n, const char *connection);
bool header_name_is_token(const char *name, size_t n);
/* Not what frames or routes a message, nor what is no name. */
bool header_may_trail(const char *name);

#endif
