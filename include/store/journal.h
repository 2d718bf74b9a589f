/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * journal: what the client saw finish survives a crash (law 5).
 *
 * A preallocated file of fixed-size checksummed slots beside the database,
 * written with pwrite on the loop's thread before the piece that ends an
 * answer is queued to the client; no fsync, no mmap. A slot is taken when an
 * exchange starts (then it says "open": a crash leaves it as interrupted) and
 * released by the writer after the row is committed. A lock on the file keeps
 * a second daemon from the same database.
 */
#ifndef STORE_JOURNAL_H
#define STORE_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct journal;
struct turn;

enum { JOURNAL_SLOT_BYTES = 8192, JOURNAL_SLOTS = 4096 };

/* Behind the database's path. */
#define JOURNAL_SUFFIX ".journal"

/* 0; -EWOULDBLOCK: another daemon holds it; -errno. A file of another version
 * or size is refused where it still holds turns, else made anew. */
int journal_open(
    const char *path, struct journal **journal_out, char **error_out);
void journal_close(struct journal *j);

/* Calls EACH for every turn left by a crash, in order of seq, those without
 * one last and in order of start: gives the turn; IS_OPEN where the exchange
 * had not ended. A seq here may lie above the last one in the table. The slots
 * stay taken until released. Before any journal_take. */
int journal_replay(struct journal *j,
    void (*each)(void *cls, struct turn **t, int slot, bool is_open),
    void *cls);

/* A free slot, -1 where none is left. Loop thread. */
int journal_take(struct journal *j);

/* Writes the turn as it stands; IS_OPEN: the exchange goes on. 0 or -errno
 * (counted, never fatal). A turn too big for the slot loses tools, then
 * usage_raw, and gets the flag journal_cut. Loop thread. */
int journal_write(
    struct journal *j, int slot, const struct turn *t, bool is_open);

/* The row is committed, or the exchange leaves none. Any thread. */
void journal_release(struct journal *j, int slot);

/* Leaves a closed turn to the journal alone: it is drained, first in first
 * out, when the writer's queue has run empty. Loop thread. */
void journal_park(struct journal *j, int slot);

/* The slot parked longest, -1 for none; gives its turn, NULL where it cannot
 * be read back. The slot stays taken until released. Writer thread. */
int journal_unpark(struct journal *j, struct turn **t_out);

struct journal_counts {
	int64_t n_free;
	int64_t n_parked;
	int64_t n_errors; /* failed writes */
	int64_t n_torn;   /* slots that the opening could not read */
};
void journal_get_counts(struct journal *j, struct journal_counts *out);

/* How many turns the file at PATH holds at this moment, without its lock: for
 * checks. 0 and zeros where there is no such file; -errno. */
int journal_count_held(
    const char *path, int64_t *n_open_out, int64_t *n_closed_out);

#endif
