/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * A socket stays registered with the loop when libcurl takes its interest off
 * it between transfers ("lazy"), which saves two calls a request: an event
 * while nobody is interested drops the registration. Not so the sockets of
 * libcurl's resolver, which were not opened here.
 *
 * libcurl closes some sockets without a word: its resolver's, and those of a
 * connection that was given up while it was made. Their numbers are soon
 * another's, a client's for example. So nothing is done to a descriptor that
 * was kept before it is seen to be the same socket still, by its inode.
 */
#include "sockets.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proxy/loop.h"

enum { SOCKETS_DRAIN_BYTES = 4096 };

struct socket_entry {
	struct sockets *sockets;
	int fd;
	struct loop_fd *registered; /* NULL: not */
	ino_t inode;                /* of the one that is registered */
	bool is_wanted;             /* libcurl has an interest in it */
	bool is_paused;             /* it has none, but a transfer goes on */
	bool is_opened;             /* by us, so that we are told of its end */
};

struct sockets {
	struct loop *loop;
	CURLM *multi;
	bool (*is_paused)(CURL *easy);
	struct socket_entry **entries; /* by descriptor */
	size_t n_entries;
};

/* NULL without memory. */
static struct socket_entry *
sockets_at(struct sockets *s, int fd)
{
	size_t need = (size_t)fd + 1;

	if (need > s->n_entries) {
		size_t n = need * 2;
		struct socket_entry **e = realloc(s->entries, n * sizeof(*e));

		if (e == NULL)
			return NULL;
		memset(e + s->n_entries, 0, (n - s->n_entries) * sizeof(*e));
		s->entries = e;
		s->n_entries = n;
	}
	if (s->entries[fd] == NULL) {
		s->entries[fd] = calloc(1, sizeof(**s->entries));
		if (s->entries[fd] == NULL)
			return NULL;
		s->entries[fd]->sockets = s;
		s->entries[fd]->fd = fd;
	}
	return s->entries[fd];
}

static ino_t
socket_inode(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

static bool
socket_is_same(const struct socket_entry *e)
{
	return socket_inode(e->fd) == e->inode;
}

static void
socket_forget(struct socket_entry *e)
{
	if (e->registered == NULL)
		return;
	if (socket_is_same(e))
		loop_remove_fd(e->registered);
	else
		loop_release_fd(e->registered);
	e->registered = NULL;
}

/*
 * Something came on a connection that no transfer uses. Bytes that nobody
 * asked for would be the answer to the next request, and its answer that of
 * the one after: libcurl 7.88 takes such a connection for sound, so its end is
 * made visible. What looks like a TLS record may be a ticket or a ping.
 */
static void
socket_is_stray(struct socket_entry *e, uint32_t events)
{
	unsigned char bytes[SOCKETS_DRAIN_BYTES];
	ssize_t n;

	if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) {
		loop_set_events(e->registered, EPOLLIN);
		return;
	}
	n = recv(e->fd, bytes, 2, MSG_PEEK | MSG_DONTWAIT);
	if (n > 0 && (n < 2 || (bytes[0] & ~3) != 0x14 || bytes[1] != 3)) {
		shutdown(e->fd, SHUT_RDWR);
		while (recv(e->fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
			; /* more of it is answered by a reset */
	}
	socket_forget(e);
}

static void
socket_ready(void *cls, uint32_t events)
{
	struct socket_entry *e = cls;
	int n_running, what = 0;

	if (!e->is_wanted) {
		if (e->is_paused || !socket_is_same(e))
			socket_forget(e);
		else
			socket_is_stray(e, events);
		return;
	}
	if (events & EPOLLIN)
		what |= CURL_CSELECT_IN;
	if (events & EPOLLOUT)
		what |= CURL_CSELECT_OUT;
	if (events & (EPOLLERR | EPOLLHUP))
		what |= CURL_CSELECT_ERR;
	curl_multi_socket_action(e->sockets->multi, e->fd, what, &n_running);
}

static int
sockets_on_interest(
    CURL *easy, curl_socket_t fd, int what, void *cls, void *priv)
{
	struct sockets *s = cls;
	struct socket_entry *e = sockets_at(s, fd);
	uint32_t events = 0;

	(void)priv;
	if (e == NULL)
		return -1;
	e->is_wanted = what != CURL_POLL_REMOVE;
	e->is_paused = !e->is_wanted && s->is_paused(easy);
	if (!e->is_wanted) {
		if (!e->is_opened)
			socket_forget(e);
		return 0;
	}
	if (what & CURL_POLL_IN)
		events |= EPOLLIN;
	if (what & CURL_POLL_OUT)
		events |= EPOLLOUT;
	if (e->registered != NULL) {
		loop_set_events(e->registered, events);
		return 0;
	}
	e->inode = socket_inode(fd);
	e->registered = loop_add_fd(s->loop, fd, events, socket_ready, e);
	return e->registered != NULL ? 0 : -1;
}

static int
sockets_close(void *cls, curl_socket_t fd)
{
	struct sockets *s = cls;

	if ((size_t)fd < s->n_entries && s->entries[fd] != NULL) {
		struct socket_entry *e = s->entries[fd];

		socket_forget(e);
		e->is_wanted = e->is_paused = e->is_opened = false;
	}
	return close(fd);
}

static curl_socket_t
sockets_open(void *cls, curlsocktype purpose, struct curl_sockaddr *a)
{
	int fd = socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
	struct socket_entry *e = fd >= 0 ? sockets_at(cls, fd) : NULL;

	(void)purpose;
	if (e != NULL) {
		socket_forget(e);
		e->is_wanted = e->is_paused = false;
		e->is_opened = true;
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return CURL_SOCKET_BAD;
}

struct sockets *
sockets_new(struct loop *l, CURLM *multi, bool (*is_paused)(CURL *easy))
{
	struct sockets *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->loop = l;
	s->multi = multi;
	s->is_paused = is_paused;
	curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, sockets_on_interest);
	curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, s);
	return s;
}

void
sockets_free(struct sockets *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->n_entries; i++) {
		if (s->entries[i] != NULL)
			socket_forget(s->entries[i]);
		free(s->entries[i]);
	}
	free(s->entries);
	free(s);
}

void
sockets_set(struct sockets *s, CURL *easy)
{
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, sockets_open);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, s);
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, sockets_close);
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, s);
}
