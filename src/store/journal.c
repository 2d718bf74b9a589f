/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * The file: one slot's room for the header, then JOURNAL_SLOTS slots. A slot
 * whose first four bytes are JOURNAL_SLOT_MAGIC holds a turn; that holds for
 * every version of the file, so that an unknown one is never thrown away
 * while it is needed. Numbers are in the machine's byte order: the file does
 * not travel.
 *
 *   free --take--> taken --write(open)*--> --write(closed)*--> queued or
 *   parked --the row is committed--> release --> free
 *
 * Why a write in place is enough. What must be survived is kill -9: the page
 * cache outlives the process, so a pwrite that returned is safe, and only one
 * under way can be cut short. The kernel looks for a fatal signal between
 * pages, never inside one, and goes from front to back: a slot (two pages,
 * aligned) is afterwards all old, all new, or has a new first page and an old
 * second one. Each page has a checksum of its own; in the third case the turn
 * is read from the first page alone, which in practice lacks usage_raw or some
 * tools (see turn_codec.h) and says so with the flag journal_cut. After a
 * power cut anything may be on the disk: then the checksums keep out what is
 * not whole.
 *
 * The space is allocated when the file is made, so a full disk does not reach
 * a write (on copying file systems such as btrfs it may; it is then counted,
 * like every failed write). The free slots are a stack: few slots are used
 * over and over, their pages stay warm, and the rest of the file is never
 * touched.
 */
#include "store/journal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/log.h"
#include "record/turn.h"

#include "folder.h"
#include "turn_codec.h"

enum {
	JOURNAL_VERSION = 1,
	JOURNAL_SLOT_MAGIC = 0x4e525554, /* "TURN" */
	JOURNAL_PAGE_BYTES = 4096
};

static const char journal_magic[8] = "turnjrnl";

struct journal_header {
	char magic[8];
	uint32_t version;
	uint32_t slot_bytes;
	uint32_t n_slots;
};

enum journal_state { JOURNAL_STATE_OPEN = 1, JOURNAL_STATE_CLOSED };

struct journal_head {
	uint32_t magic;
	uint32_t state;
	uint64_t sum_front; /* of all that follows in the first page */
	uint64_t sum_rest;  /* of the second page's part */
	int64_t seq;
	int64_t started_at;
	uint32_t length; /* of the encoded turn behind the head */
	uint32_t reserved;
};

enum {
	JOURNAL_TURN_BYTES = JOURNAL_SLOT_BYTES - sizeof(struct journal_head),
	JOURNAL_FREE_BYTES = offsetof(struct journal_head, sum_front),
	JOURNAL_SUM_FROM = offsetof(struct journal_head, sum_rest)
};
_Static_assert(JOURNAL_SLOT_BYTES == 2 * JOURNAL_PAGE_BYTES,
    "the reasoning on torn writes is about two pages");

enum journal_use { JOURNAL_USE_FREE, JOURNAL_USE_TAKEN, JOURNAL_USE_PARKED };

/* A turn that the opening found. */
struct journal_found {
	int slot;
	int64_t seq;
	int64_t started_at;
};

struct journal {
	int fd;         /* constant after open; holds the flock */
	char *path;     /* constant after open */
	int64_t n_torn; /* constant after open */

	/* the opening thread, until replayed */
	struct journal_found *found;
	size_t n_found;

	/* loop thread */
	unsigned char slot[JOURNAL_SLOT_BYTES];
	bool is_failing;

	atomic_int_least64_t n_errors;

	pthread_mutex_t mtx;
	/* under mtx */
	unsigned char use[JOURNAL_SLOTS];
	int free[JOURNAL_SLOTS]; /* a stack */
	size_t n_free;
	int parked[JOURNAL_SLOTS]; /* a ring */
	size_t parked_head;
	size_t n_parked;
};

static int journal_say(char **error_out, int r, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int
journal_say(char **error_out, int r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (vasprintf(error_out, format, args) < 0)
		*error_out = NULL;
	va_end(args);
	return r;
}

static off_t
journal_offset(int slot)
{
	return ((off_t)slot + 1) * JOURNAL_SLOT_BYTES;
}

static int
journal_pwrite(int fd, const void *data, size_t n, off_t at)
{
	const char *p = data;

	while (n > 0) {
		ssize_t done = pwrite(fd, p, n, at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? -errno : -EIO;
		p += done;
		n -= (size_t)done;
		at += done;
	}
	return 0;
}

/* The bytes read, fewer than N only at the end of the file; -errno. */
static ssize_t
journal_pread(int fd, void *data, size_t n, off_t at)
{
	size_t have = 0;

	while (have < n) {
		ssize_t done = pread(
		    fd, (char *)data + have, n - have, at + (off_t)have);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		if (done == 0)
			break;
		have += (size_t)done;
	}
	return (ssize_t)have;
}

/* Seals the slot image of N bytes: head and turn. */
static void
journal_seal(unsigned char *slot, size_t n)
{
	struct journal_head h;
	size_t front = n < JOURNAL_PAGE_BYTES ? n : JOURNAL_PAGE_BYTES;

	memcpy(&h, slot, sizeof(h));
	h.sum_rest = XXH3_64bits(slot + front, n - front);
	memcpy(slot, &h, sizeof(h));
	h.sum_front = XXH3_64bits_withSeed(
	    slot + JOURNAL_SUM_FROM, front - JOURNAL_SUM_FROM, h.state);
	memcpy(slot, &h, sizeof(h));
}

/* The bytes of the image that can be believed, head included: all of them,
 * the first page's, or 0. */
static size_t
journal_sound_bytes(const unsigned char *slot, size_t n_read)
{
	struct journal_head h;
	size_t n, front;

	if (n_read < sizeof(h))
		return 0;
	memcpy(&h, slot, sizeof(h));
	if (h.magic != JOURNAL_SLOT_MAGIC || h.length > JOURNAL_TURN_BYTES)
		return 0;
	n = sizeof(h) + h.length;
	front = n < JOURNAL_PAGE_BYTES ? n : JOURNAL_PAGE_BYTES;
	if (n > n_read ||
	    h.sum_front != XXH3_64bits_withSeed(slot + JOURNAL_SUM_FROM,
			       front - JOURNAL_SUM_FROM, h.state))
		return 0;
	return h.sum_rest == XXH3_64bits(slot + front, n - front) ? n : front;
}

/* The turn of a slot, NULL where it holds none that can be believed. */
static struct turn *
journal_read(int fd, int slot, struct journal_head *head_out)
{
	unsigned char image[JOURNAL_SLOT_BYTES];
	ssize_t n = journal_pread(
	    fd, image, sizeof(image), journal_offset(slot));
	size_t sound = n > 0 ? journal_sound_bytes(image, (size_t)n) : 0;
	struct turn *t;

	if (sound == 0)
		return NULL;
	memcpy(head_out, image, sizeof(*head_out));
	t = turn_decode(image + sizeof(*head_out), sound - sizeof(*head_out),
	    sound < sizeof(*head_out) + head_out->length);
	if (t != NULL)
		t->slot = slot;
	return t;
}

/* The next slot from SLOT on that may hold something: most of the file has
 * never been written and need not be read. N_SLOTS where there is none. */
static int
journal_next_data(int fd, int slot, int n_slots, off_t slot_bytes)
{
	off_t at = lseek(fd, ((off_t)slot + 1) * slot_bytes, SEEK_DATA);

	if (slot >= n_slots || (at < 0 && errno == ENXIO))
		return n_slots;
	if (at < 0)
		return slot;
	at = at / slot_bytes - 1;
	return at < slot ? slot : at < n_slots ? (int)at : n_slots;
}

/* How many slots of a file of any version hold a turn. */
static int64_t
journal_n_held(int fd, const struct journal_header *h)
{
	int64_t held = 0;
	int n = h->n_slots < INT32_MAX / 2 ? (int)h->n_slots : INT32_MAX / 2;

	for (int i = 0; h->slot_bytes > 0 && i < n; i++) {
		uint32_t magic = 0;

		i = journal_next_data(fd, i, n, h->slot_bytes);
		if (i == n)
			break;
		if (journal_pread(fd, &magic, sizeof(magic),
			((off_t)i + 1) * h->slot_bytes) <
		    (ssize_t)sizeof(magic))
			break;
		held += magic == JOURNAL_SLOT_MAGIC;
	}
	return held;
}

/* Opens and locks the file. Between the two a leaving daemon's owner may have
 * deleted it: then the lock is on a file that nobody else will find. */
static int
journal_lock(struct journal *j, char **error_out)
{
	struct stat mine, there;
	int r;

	for (int i = 0; i < 10; i++) {
		j->fd = open(
		    j->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (j->fd < 0)
			return journal_say(error_out, -errno,
			    "cannot open %s: %s", j->path, strerror(errno));
		if (flock(j->fd, LOCK_EX | LOCK_NB) < 0) {
			r = -errno;
			return journal_say(error_out, r,
			    r == -EWOULDBLOCK
				? "%s is in use: another turnmeter works on "
				  "this database"
				: "cannot lock %s",
			    j->path);
		}
		if (fstat(j->fd, &mine) == 0 && stat(j->path, &there) == 0 &&
		    mine.st_ino == there.st_ino && mine.st_dev == there.st_dev)
			break;
		close(j->fd);
		j->fd = -1;
	}
	if (j->fd < 0 || fchmod(j->fd, 0600) < 0)
		return journal_say(
		    error_out, -EIO, "cannot keep hold of %s", j->path);
	return 0;
}

static int
journal_make(struct journal *j, char **error_out)
{
	struct journal_header h = {.version = JOURNAL_VERSION,
	    .slot_bytes = JOURNAL_SLOT_BYTES,
	    .n_slots = JOURNAL_SLOTS};
	off_t size = journal_offset(JOURNAL_SLOTS);
	int r;

	memcpy(h.magic, journal_magic, sizeof(h.magic));
	if (ftruncate(j->fd, 0) < 0)
		return journal_say(error_out, -errno, "cannot empty %s: %s",
		    j->path, strerror(errno));
	/* posix_fallocate writes zeros where the file system cannot reserve */
	do
		r = posix_fallocate(j->fd, 0, size);
	while (r == EINTR);
	if (r == 0)
		r = -journal_pwrite(j->fd, &h, sizeof(h), 0);
	if (r == 0)
		return 0;
	if (ftruncate(j->fd, 0) < 0)
		log_warn("cannot empty %s: %s", j->path, strerror(errno));
	return journal_say(error_out, -r, "cannot reserve %lld MiB for %s: %s",
	    (long long)size >> 20, j->path, strerror(r));
}

/* Takes the file as it is, or makes it anew where nothing is lost by it. */
static int
journal_check_header(struct journal *j, char **error_out)
{
	static const struct journal_header zero;
	struct journal_header h = {.version = 0};
	ssize_t n = journal_pread(j->fd, &h, sizeof(h), 0);
	struct stat st;
	int64_t held;

	if (n < 0 || fstat(j->fd, &st) < 0)
		return journal_say(error_out, n < 0 ? (int)n : -errno,
		    "cannot read %s", j->path);
	/* All zeros: a crash between making room and writing the header. */
	if (n == 0 || memcmp(&h, &zero, sizeof(h)) == 0)
		return journal_make(j, error_out);
	if (memcmp(h.magic, journal_magic, sizeof(h.magic)) != 0)
		return journal_say(error_out, -EBADMSG,
		    "%s is not a turnmeter journal: move it away", j->path);
	if (h.version == JOURNAL_VERSION &&
	    h.slot_bytes == JOURNAL_SLOT_BYTES && h.n_slots == JOURNAL_SLOTS &&
	    st.st_size == journal_offset(JOURNAL_SLOTS))
		return 0;
	held = journal_n_held(j->fd, &h);
	if (held > 0)
		return journal_say(error_out, -ENOTSUP,
		    "%s holds %lld turns in the form of another turnmeter "
		    "(version %u): start that one once, and stop it",
		    j->path, (long long)held, h.version);
	return journal_make(j, error_out);
}

static int
journal_found_compare(const void *a, const void *b)
{
	const struct journal_found *x = a, *y = b;
	/* those without a seq behind those with one */
	int64_t x_seq = x->seq == TURN_NULL ? INT64_MAX : x->seq;
	int64_t y_seq = y->seq == TURN_NULL ? INT64_MAX : y->seq;

	if (x_seq != y_seq)
		return x_seq < y_seq ? -1 : 1;
	if (x->started_at != y->started_at)
		return x->started_at < y->started_at ? -1 : 1;
	return x->slot - y->slot;
}

static void
journal_free_slot(struct journal *j, int slot)
{
	static const unsigned char zeros[JOURNAL_FREE_BYTES];

	/* What stays behind in the file is replayed once more; its id makes
	 * that harmless. */
	if (journal_pwrite(j->fd, zeros, sizeof(zeros), journal_offset(slot)) <
	    0)
		atomic_fetch_add(&j->n_errors, 1);
}

/* Finds what a crash has left, and makes the stack of free slots. */
static int
journal_scan(struct journal *j)
{
	for (int i = 0; i < JOURNAL_SLOTS; i++) {
		struct journal_head h = {0};
		struct turn *t;

		i = journal_next_data(
		    j->fd, i, JOURNAL_SLOTS, JOURNAL_SLOT_BYTES);
		if (i == JOURNAL_SLOTS)
			break;
		if (journal_pread(j->fd, &h, sizeof(h), journal_offset(i)) <
		    (ssize_t)sizeof(h))
			return -EIO;
		if (h.magic != JOURNAL_SLOT_MAGIC)
			continue;
		t = journal_read(j->fd, i, &h);
		if (t == NULL) {
			j->n_torn++;
			journal_free_slot(j, i);
			continue;
		}
		turn_free(t);
		j->use[i] = JOURNAL_USE_TAKEN;
		j->found[j->n_found++] = (struct journal_found){
		    .slot = i, .seq = h.seq, .started_at = h.started_at};
	}
	for (int i = JOURNAL_SLOTS - 1; i >= 0; i--)
		if (j->use[i] == JOURNAL_USE_FREE)
			j->free[j->n_free++] = i;
	qsort(j->found, j->n_found, sizeof(*j->found), journal_found_compare);
	return 0;
}

int
journal_open(const char *path, struct journal **journal_out, char **error_out)
{
	struct journal *j = calloc(1, sizeof(*j));
	int r = -ENOMEM;

	*journal_out = NULL;
	*error_out = NULL;
	if (j == NULL)
		return r;
	j->fd = -1;
	pthread_mutex_init(&j->mtx, NULL);
	j->path = strdup(path);
	j->found = calloc(JOURNAL_SLOTS, sizeof(*j->found));
	if (j->path == NULL || j->found == NULL)
		goto out;
	r = folder_make_for(path);
	if (r < 0) {
		journal_say(error_out, r, "cannot make the folder of %s: %s",
		    path, strerror(-r));
		goto out;
	}
	r = journal_lock(j, error_out);
	if (r == 0)
		r = journal_check_header(j, error_out);
	if (r < 0)
		goto out;
	r = journal_scan(j);
	if (r < 0) {
		journal_say(error_out, r, "cannot read %s", path);
		goto out;
	}
	if (j->n_torn > 0)
		log_warn("%s: %lld slots were not whole and are dropped", path,
		    (long long)j->n_torn);
	*journal_out = j;
	return 0;
out:
	journal_close(j);
	return r;
}

void
journal_close(struct journal *j)
{
	if (j == NULL)
		return;
	if (j->fd >= 0)
		close(j->fd);
	pthread_mutex_destroy(&j->mtx);
	free(j->found);
	free(j->path);
	free(j);
}

int
journal_replay(struct journal *j,
    void (*each)(void *cls, struct turn **t, int slot, bool is_open), void *cls)
{
	for (size_t i = 0; i < j->n_found; i++) {
		struct journal_head h;
		struct turn *t = journal_read(j->fd, j->found[i].slot, &h);

		if (t == NULL)
			return -EIO;
		each(cls, &t, j->found[i].slot, h.state == JOURNAL_STATE_OPEN);
		turn_free(t);
	}
	free(j->found);
	j->found = NULL;
	j->n_found = 0;
	return 0;
}

int
journal_take(struct journal *j)
{
	int slot = -1;

	pthread_mutex_lock(&j->mtx);
	if (j->n_free > 0) {
		slot = j->free[--j->n_free];
		j->use[slot] = JOURNAL_USE_TAKEN;
	}
	pthread_mutex_unlock(&j->mtx);
	return slot;
}

/* One line when writes begin to fail and one when they work again: a full
 * disk must not fill the log too. */
static void
journal_note(struct journal *j, int r)
{
	if (r < 0)
		atomic_fetch_add(&j->n_errors, 1);
	if ((r < 0) == j->is_failing)
		return;
	j->is_failing = r < 0;
	if (r < 0)
		log_err("cannot write %s: %s; a crash now may cost turns",
		    j->path, strerror(-r));
	else
		log_info("%s can be written again", j->path);
}

int
journal_write(struct journal *j, int slot, const struct turn *t, bool is_open)
{
	struct journal_head h = {
	    .magic = JOURNAL_SLOT_MAGIC,
	    .state = is_open ? JOURNAL_STATE_OPEN : JOURNAL_STATE_CLOSED,
	    .seq = t->seq,
	    .started_at = t->started_at,
	};
	size_t n = 0;
	int r = -EMSGSIZE;

	assert(slot >= 0 && slot < JOURNAL_SLOTS);
	for (int cut = TURN_CODEC_CUT_NOTHING;
	     n == 0 && cut <= TURN_CODEC_CUT_USAGE_RAW; cut++)
		n = turn_encode(t, (enum turn_codec_cut)cut,
		    j->slot + sizeof(h), JOURNAL_TURN_BYTES);
	if (n > 0) {
		h.length = (uint32_t)n;
		memcpy(j->slot, &h, sizeof(h));
		journal_seal(j->slot, sizeof(h) + n);
		r = journal_pwrite(
		    j->fd, j->slot, sizeof(h) + n, journal_offset(slot));
	}
	journal_note(j, r);
	return r;
}

void
journal_release(struct journal *j, int slot)
{
	assert(slot >= 0 && slot < JOURNAL_SLOTS);
	/* First the file, then the stack: the next taker writes there. */
	journal_free_slot(j, slot);
	pthread_mutex_lock(&j->mtx);
	assert(j->use[slot] == JOURNAL_USE_TAKEN);
	j->use[slot] = JOURNAL_USE_FREE;
	j->free[j->n_free++] = slot;
	pthread_mutex_unlock(&j->mtx);
}

void
journal_park(struct journal *j, int slot)
{
	assert(slot >= 0 && slot < JOURNAL_SLOTS);
	pthread_mutex_lock(&j->mtx);
	assert(j->use[slot] == JOURNAL_USE_TAKEN);
	j->use[slot] = JOURNAL_USE_PARKED;
	j->parked[(j->parked_head + j->n_parked++) % JOURNAL_SLOTS] = slot;
	pthread_mutex_unlock(&j->mtx);
}

int
journal_unpark(struct journal *j, struct turn **t_out)
{
	struct journal_head h;
	int slot = -1;

	*t_out = NULL;
	pthread_mutex_lock(&j->mtx);
	if (j->n_parked > 0) {
		slot = j->parked[j->parked_head];
		j->parked_head = (j->parked_head + 1) % JOURNAL_SLOTS;
		j->n_parked--;
		j->use[slot] = JOURNAL_USE_TAKEN;
	}
	pthread_mutex_unlock(&j->mtx);
	if (slot >= 0)
		*t_out = journal_read(j->fd, slot, &h);
	return slot;
}

void
journal_get_counts(struct journal *j, struct journal_counts *out)
{
	pthread_mutex_lock(&j->mtx);
	out->n_free = (int64_t)j->n_free;
	out->n_parked = (int64_t)j->n_parked;
	pthread_mutex_unlock(&j->mtx);
	out->n_errors = atomic_load(&j->n_errors);
	out->n_torn = j->n_torn;
}

int
journal_count_held(const char *path, int64_t *n_open_out, int64_t *n_closed_out)
{
	struct journal_header header;
	struct journal_head h;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int r = 0;

	*n_open_out = 0;
	*n_closed_out = 0;
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (journal_pread(fd, &header, sizeof(header), 0) <
		(ssize_t)sizeof(header) ||
	    memcmp(header.magic, journal_magic, sizeof(header.magic)) != 0 ||
	    header.version != JOURNAL_VERSION)
		r = -EBADMSG;
	for (int i = 0; r == 0 && i < JOURNAL_SLOTS; i++) {
		struct turn *t;

		i = journal_next_data(fd, i, JOURNAL_SLOTS, JOURNAL_SLOT_BYTES);
		if (i == JOURNAL_SLOTS)
			break;
		t = journal_read(fd, i, &h);
		if (t == NULL)
			continue;
		if (h.state == JOURNAL_STATE_OPEN)
			++*n_open_out;
		else
			++*n_closed_out;
		turn_free(t);
	}
	close(fd);
	return r;
}
