/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * reader_thread: what asks the database while the loop goes on.
 *
 * One thread with one store_reader and a bounded queue of jobs. A job's work
 * runs there; its done runs on the loop's thread afterwards. Made, asked and
 * stopped on the loop's thread.
 */
#ifndef LIVE_READER_THREAD_H
#define LIVE_READER_THREAD_H

#include <stdint.h>

struct feed_batch;
struct loop;
struct reader_thread;
struct store_reader;

enum { READER_THREAD_JOBS = 32 };

/* Embedded first in whatever the job needs; the caller's until done. */
struct reader_job {
	/* On the reader's thread. R is NULL where the database could not be
	 * opened, ERROR is why, else 0. */
	void (*work)(struct reader_job *j, struct store_reader *r, int error);
	/* On the loop's thread, once: gives the job back. */
	void (*done)(struct reader_job *j);
	struct reader_job *next; /* the thread's */
};

/* DATABASE is copied; it may come to be later. 0 or -errno. */
int reader_thread_start(
    struct loop *loop, const char *database, struct reader_thread **thread_out);

/* 0, or -ENOBUFS: too many wait already, the job stays with the caller. */
int reader_thread_put(struct reader_thread *t, struct reader_job *j);

/* Waits for the job under way, does no other, calls done for every one left,
 * frees. NULL is fine. */
void reader_thread_stop(struct reader_thread *t);

/* A feed_resume_fn: CLS is the reader_thread. */
int reader_thread_resume(
    void *cls, int64_t after_seq, struct feed_batch *batch);

#endif
