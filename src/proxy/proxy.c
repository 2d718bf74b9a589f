/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "proxy/proxy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "exchange.h"
#include "proxy/loop.h"
#include "server.h"
#include "upstream.h"

enum { PROXY_SWEEP_MS = 1000, PROXY_SWEEP_MIN_MS = 50 };

/* Often enough for the idle limit, never more than once a second. */
static int64_t
proxy_sweep_ms(const struct proxy *p)
{
	int64_t ms = p->config->config->idle_timeout_ms / 4;

	if (ms > PROXY_SWEEP_MS)
		return PROXY_SWEEP_MS;
	return ms < PROXY_SWEEP_MIN_MS ? PROXY_SWEEP_MIN_MS : ms;
}

static void
proxy_on_sweep(void *cls)
{
	struct proxy *p = cls;

	server_sweep(p);
	p->sweep = loop_timer_add(
	    p->loop, proxy_sweep_ms(p), proxy_on_sweep, p);
}

int
proxy_new(const struct proxy_setup *setup, struct proxy **proxy_out)
{
	struct proxy *p = calloc(1, sizeof(*p));
	int r;

	*proxy_out = NULL;
	if (p == NULL)
		return -ENOMEM;
	p->loop = setup->loop;
	p->listen_fd = setup->listen_fd;
	p->sink = setup->sink;
	p->admin = setup->admin;
	p->admin_cls = setup->admin_cls;
	p->keys = setup->keys;
	r = server_set_config(p, setup->config, NULL, NULL);
	if (r < 0)
		goto out;
	p->pool = pool_new(p->loop);
	r = -ENOMEM;
	if (p->pool == NULL)
		goto out;
	r = server_open(p);
	if (r < 0)
		goto out;
	loop_on_turn(p->loop, server_turn, p);
	proxy_on_sweep(p);
	*proxy_out = p;
	return 0;
out:
	proxy_free(p);
	return r;
}

void
proxy_free(struct proxy *p)
{
	if (p == NULL)
		return;
	loop_on_turn(p->loop, NULL, NULL);
	loop_timer_cancel(p->sweep);
	server_close(p);
	pool_free(p->pool);
	while (p->loads != NULL) {
		struct load *l = p->loads;

		p->loads = l->next;
		free(l->upstream);
		free(l);
	}
	free(p->config);
	free(p);
}

void
proxy_set_config(struct proxy *p, const struct config *config,
    void (*release)(void *cls, const struct config *old), void *cls)
{
	/* Without memory the old one stays in force, and is kept. */
	server_set_config(p, config, release, cls);
}

void
proxy_drain(struct proxy *p, void (*done)(void *cls), void *cls)
{
	p->is_draining = true;
	p->drained = done;
	p->drained_cls = cls;
	server_drain(p);
}

void
proxy_abort(struct proxy *p)
{
	server_abort(p);
}

void
proxy_get_counts(const struct proxy *p, struct proxy_counts *counts_out)
{
	*counts_out = p->counts;
}
