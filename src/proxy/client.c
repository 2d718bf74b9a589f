/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * A client's connection. Its socket is watched here beside libmicrohttpd, for
 * its other end's close and for room to write: libmicrohttpd does not look at
 * a suspended connection, and most of an exchange's life is spent suspended.
 */
#include <assert.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "exchange.h"
#include "proxy/loop.h"

void
exchange_client_gone(struct exchange *x)
{
	if (x->state == EXCHANGE_GONE)
		return;
	if (x->is_counted)
		relay_client_gone(x);
	else
		admin_client_gone(x);
	exchange_resume(x);
}

static void
client_ready(void *cls, uint32_t events)
{
	struct client *c = cls;

	assert(c->magic == CLIENT_MAGIC);
	if ((events & EPOLLOUT) && c->exchange != NULL)
		exchange_mark(c->exchange);
	if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) == 0)
		return;
	if (!c->has_left) {
		c->has_left = true;
		c->next_left = c->proxy->left;
		c->proxy->left = c;
	}
	if (c->exchange != NULL && c->exchange->is_begun)
		exchange_client_gone(c->exchange);
}

void
clients_shut_left(struct proxy *p)
{
	while (p->left != NULL) {
		struct client *c = p->left;

		p->left = c->next_left;
		c->is_shut = true;
		shutdown(c->socket, SHUT_RDWR);
	}
}

void
client_open(
    struct shard *shard, struct MHD_Connection *connection, void **socket)
{
	struct proxy *p = shard->proxy;
	struct client *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return; /* its requests are refused: no client */
	c->magic = CLIENT_MAGIC;
	c->proxy = p;
	c->shard = shard;
	c->connection = connection;
	c->socket = MHD_get_connection_info(
	    connection, MHD_CONNECTION_INFO_CONNECTION_FD)
			->connect_fd;
	c->fd = loop_add_fd(p->loop, c->socket, EPOLLRDHUP | EPOLLOUT | EPOLLET,
	    client_ready, c);
	c->next = p->clients;
	if (c->next != NULL)
		c->next->prev = c;
	p->clients = c;
	p->counts.n_connections++;
	*socket = c;
}

void
client_close(struct client *c)
{
	if (c == NULL)
		return;
	/* Of a request whose query it cannot hold, libmicrohttpd does not tell
	 * the end. */
	if (c->exchange != NULL)
		exchange_free(c->exchange);
	if (c->fd != NULL)
		loop_remove_fd(c->fd);
	if (c->has_left && !c->is_shut) {
		struct client **at = &c->proxy->left;

		while (*at != c)
			at = &(*at)->next_left;
		*at = c->next_left;
	}
	if (c->next != NULL)
		c->next->prev = c->prev;
	if (c->prev != NULL)
		c->prev->next = c->next;
	else
		c->proxy->clients = c->next;
	c->proxy->counts.n_connections--;
	c->magic = 0;
	free(c);
}
