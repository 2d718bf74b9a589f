/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * loop: the one thread that owns every socket. Callbacks for readable files,
 * timers, and work posted from other threads.
 *
 * Everything but loop_post runs on the loop's thread.
 */
#ifndef PROXY_LOOP_H
#define PROXY_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct loop;
struct loop_fd;
struct loop_timer;

/* NULL with errno set. */
struct loop *loop_new(void);
void loop_free(struct loop *l);

/*
 * TURN is called after each batch of events, before the loop waits again: here
 * a room does once what many events asked for. It returns the milliseconds
 * after which it wants to be called even without an event, -1 for never. One
 * turn function a loop.
 */
void loop_on_turn(struct loop *l, int64_t (*turn)(void *cls), void *cls);

/* Runs until loop_stop. 0 or -errno. */
int loop_run(struct loop *l);
void loop_stop(struct loop *l);

/* EVENTS are EPOLL*. Borrows FD until loop_remove_fd. NULL with errno set. */
struct loop_fd *loop_add_fd(struct loop *l, int fd, uint32_t events,
    void (*ready)(void *cls, uint32_t events), void *cls);
void loop_set_events(struct loop_fd *f, uint32_t events);
/* Safe within any callback of the loop; F is no more to be used. */
void loop_remove_fd(struct loop_fd *f);
/* The same where the descriptor was closed before: its number may be
 * another's by now, whose registration is left alone. */
void loop_release_fd(struct loop_fd *f);

/* Fires once, DELAY_MS from now, unless cancelled; afterwards the pointer is
 * no more to be used. NULL without memory. */
struct loop_timer *loop_timer_add(
    struct loop *l, int64_t delay_ms, void (*fire)(void *cls), void *cls);
void loop_timer_cancel(struct loop_timer *t);

/* Has FN called on the loop's thread. Any thread. 0 or -ENOMEM. */
int loop_post(struct loop *l, void (*fn)(void *cls), void *cls);

#endif
