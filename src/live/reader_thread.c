/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Jobs go out through a queue and come back through a list and an eventfd
 * that the loop watches. Not through loop_post: what is posted cannot be taken
 * back, and would reach a thread that has been freed.
 *
 * The database is opened at the first job and kept; a daemon that has not
 * written yet has none, so a failure is tried again at the next one.
 */
#include "live/reader_thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log.h"
#include "base/queue.h"
#include "live/feed.h"
#include "proxy/loop.h"
#include "store/store.h"

enum { READER_THREAD_WAIT_MS = 60 * 1000 };

struct reader_thread {
	/* constant after start */
	char *database;
	struct queue *queue;
	pthread_t thread;
	int done_fd;
	struct loop_fd *watch; /* loop thread only */
	pthread_mutex_t mtx;
	/* under mtx */
	struct reader_job *done; /* newest first */
	/* the reader's thread only */
	struct store_reader *store;
};

static void
reader_thread_give_back(struct reader_thread *t, struct reader_job *j)
{
	uint64_t one = 1;

	pthread_mutex_lock(&t->mtx);
	j->next = t->done;
	t->done = j;
	pthread_mutex_unlock(&t->mtx);
	/* Only fails when the counter is full: then the loop knows already. */
	if (write(t->done_fd, &one, sizeof(one)) < 0)
		return;
}

static void
reader_thread_work(struct reader_thread *t, struct reader_job *j)
{
	char *reason = NULL;
	int error = 0;

	if (t->store == NULL)
		error = store_reader_open(t->database, &t->store, &reason);
	if (error != 0 && error != -ENOENT)
		log_err(
		    "reader: %s", reason != NULL ? reason : strerror(-error));
	free(reason);
	j->work(j, error == 0 ? t->store : NULL, error);
	reader_thread_give_back(t, j);
}

static void *
reader_thread_main(void *cls)
{
	struct reader_thread *t = cls;
	void *job;

	while (!queue_is_closed(t->queue))
		if (queue_take(t->queue, &job, 1, READER_THREAD_WAIT_MS) == 1)
			reader_thread_work(t, job);
	store_reader_close(t->store);
	return NULL;
}

/* Tells those who wait, in the order in which the work was done. */
static void
reader_thread_tell(struct reader_thread *t)
{
	struct reader_job *newest, *oldest = NULL;

	pthread_mutex_lock(&t->mtx);
	newest = t->done;
	t->done = NULL;
	pthread_mutex_unlock(&t->mtx);
	while (newest != NULL) {
		struct reader_job *next = newest->next;

		newest->next = oldest;
		oldest = newest;
		newest = next;
	}
	while (oldest != NULL) {
		struct reader_job *next = oldest->next;

		oldest->done(oldest);
		oldest = next;
	}
}

static void
reader_thread_ready(void *cls, uint32_t events)
{
	struct reader_thread *t = cls;
	uint64_t count;

	(void)events;
	if (read(t->done_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		log_err("reader: eventfd: %s", strerror(errno));
	reader_thread_tell(t);
}

static void
reader_thread_free(struct reader_thread *t)
{
	if (t->watch != NULL)
		loop_remove_fd(t->watch);
	if (t->done_fd >= 0)
		close(t->done_fd);
	queue_free(t->queue);
	pthread_mutex_destroy(&t->mtx);
	free(t->database);
	free(t);
}

int
reader_thread_start(
    struct loop *loop, const char *database, struct reader_thread **thread_out)
{
	struct reader_thread *t = calloc(1, sizeof(*t));
	int r = -ENOMEM;

	if (t == NULL)
		return r;
	pthread_mutex_init(&t->mtx, NULL);
	t->done_fd = -1;
	t->database = strdup(database);
	t->queue = queue_new(READER_THREAD_JOBS);
	if (t->database == NULL || t->queue == NULL)
		goto err_free;
	t->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (t->done_fd >= 0)
		t->watch = loop_add_fd(
		    loop, t->done_fd, EPOLLIN, reader_thread_ready, t);
	if (t->watch == NULL) {
		r = -errno;
		goto err_free;
	}
	r = -pthread_create(&t->thread, NULL, reader_thread_main, t);
	if (r != 0)
		goto err_free;
	*thread_out = t;
	return 0;
err_free:
	reader_thread_free(t);
	return r;
}

int
reader_thread_put(struct reader_thread *t, struct reader_job *j)
{
	return queue_put(t->queue, j);
}

void
reader_thread_stop(struct reader_thread *t)
{
	void *job;

	if (t == NULL)
		return;
	queue_close(t->queue);
	pthread_join(t->thread, NULL);
	reader_thread_tell(t);
	while (queue_take(t->queue, &job, 1, 0) == 1) {
		struct reader_job *j = job;

		j->work(j, NULL, -ECANCELED);
		j->done(j);
	}
	reader_thread_free(t);
}

struct reader_resume {
	struct reader_job job;
	struct feed_batch *batch;
	int64_t after_seq;
	int result;
};

static bool
reader_resume_each(void *cls, const struct turn *t)
{
	struct reader_resume *resume = cls;
	int r = feed_batch_add(resume->batch, t);

	if (r < 0)
		resume->result = r;
	return r == 1;
}

static void
reader_resume_work(struct reader_job *j, struct store_reader *r, int error)
{
	struct reader_resume *resume = (struct reader_resume *)j;
	/* Sorted, or these would be the newest ones. */
	struct store_query query = {
	    .after_seq = resume->after_seq,
	    .sort = "seq",
	    .n = FEED_BATCH_TURNS,
	};

	resume->result = error;
	if (r == NULL)
		return;
	error = store_reader_turns(r, &query, reader_resume_each, resume);
	if (error != 0)
		resume->result = error;
}

static void
reader_resume_done(struct reader_job *j)
{
	struct reader_resume *resume = (struct reader_resume *)j;

	feed_batch_done(&resume->batch, resume->result);
	free(resume);
}

int
reader_thread_resume(void *cls, int64_t after_seq, struct feed_batch *batch)
{
	struct reader_resume *resume = calloc(1, sizeof(*resume));
	int r;

	if (resume == NULL)
		return -ENOMEM;
	resume->job.work = reader_resume_work;
	resume->job.done = reader_resume_done;
	resume->batch = batch;
	resume->after_seq = after_seq;
	r = reader_thread_put(cls, &resume->job);
	if (r != 0)
		free(resume);
	return r;
}
