/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * queue: whole objects handed from one thread to another, in order.
 *
 * Bounded: queue_put never blocks and says when it is full. The taker waits on
 * a condition with a time limit. The queue borrows the objects; ownership
 * passes with the pointer.
 */
#ifndef BASE_QUEUE_H
#define BASE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

struct queue;

/* NULL without memory. */
struct queue *queue_new(size_t n_max);
/* The queue must be empty, or its objects are lost to the caller. */
void queue_free(struct queue *q);

/* 0, or -ENOBUFS: the object stays with the caller. Any thread. */
int queue_put(struct queue *q, void *object);

/* Takes up to N_MAX objects; waits at most TIMEOUT_MS for the first one.
 * Returns how many; 0 on time-out or when closed and empty. One thread. */
size_t queue_take(
    struct queue *q, void **objects, size_t n_max, int timeout_ms);

/* Wakes the taker; later puts are refused with -ENOBUFS. Any thread. */
void queue_close(struct queue *q);
bool queue_is_closed(struct queue *q);
size_t queue_len(struct queue *q);

#endif
