/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Locks, full disks, vanished files and kill -9: no finished turn is lost.
 */
#include "store_daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* Another program's transaction holds the lock through 40 turns. */
static void
test_busy_database_loses_nothing(void **state)
{
	struct daemon d;
	struct store_query q = {0};
	struct rows rows = {0};
	sqlite3 *other;

	/* 4 in memory, the rest must wait in the journal */
	daemon_start(&d, *state, 4);
	other = open_plain(d.path);
	exec(other, "BEGIN IMMEDIATE");
	for (int i = 0; i < 40; i++)
		daemon_give(&d, help_turn(0));
	daemon_await_failure(&d, "locked");
	exec(other, "COMMIT");
	sqlite3_close(other);
	daemon_await(&d, 40);
	assert_int_equal(read_rows(d.path, &q, &rows), 0);
	assert_int_equal(rows.n, 40);
	for (size_t i = 0; i < rows.n; i++)
		assert_int_equal(rows.turns[i]->seq, i + 1);
	assert_int_equal(n_slots_free(d.journal), JOURNAL_SLOTS);
	forget_rows(&rows);
	assert_sound(d.path);
	daemon_stop(&d, PATIENCE_MS);
}

/* The turn as it is when it is given to the writer is what comes out, not as
 * it was when its answer ended. */
static void
test_parked_turn_keeps_what_came_after_the_journal(void **state)
{
	struct daemon d;
	struct store_query q = {0};
	struct rows rows = {0};
	sqlite3 *other;

	daemon_start(&d, *state, 1);
	other = open_plain(d.path);
	exec(other, "BEGIN IMMEDIATE");
	for (int i = 0; i < 20; i++) {
		struct turn *t = help_full_turn(++d.seq);
		int slot = journal_take(d.journal);

		t->cost_pusd = TURN_NULL;
		assert_int_equal(journal_write(d.journal, slot, t, false), 0);
		t->cost_pusd = 4242;
		assert_int_equal(store_writer_put(d.writer, &t, slot), 0);
	}
	exec(other, "COMMIT");
	sqlite3_close(other);
	daemon_await(&d, 20);
	assert_int_equal(read_rows(d.path, &q, &rows), 0);
	assert_int_equal(rows.n, 20);
	for (size_t i = 0; i < rows.n; i++) {
		assert_int_equal(rows.turns[i]->cost_pusd, 4242);
		assert_int_equal(rows.turns[i]->n_tools, 2);
	}
	forget_rows(&rows);
	daemon_stop(&d, PATIENCE_MS);
}

/* No slot and no room: the caller keeps the turn and is told. */
static void
test_full_queue_without_slot_says_so(void **state)
{
	struct store_writer_state wstate;
	struct daemon d;
	sqlite3 *other;
	int64_t n_taken = 0;
	int r = 0;

	daemon_start(&d, *state, 2);
	other = open_plain(d.path);
	exec(other, "BEGIN IMMEDIATE");
	for (int i = 0; i < 2000 && r == 0; i++) {
		struct turn *t = help_turn(i + 1);

		r = store_writer_put(d.writer, &t, -1);
		n_taken += r == 0;
		assert_int_equal(t != NULL, r < 0);
		turn_free(t);
	}
	assert_int_equal(r, -ENOBUFS);
	store_writer_count_lost(d.writer, 1);
	exec(other, "COMMIT");
	sqlite3_close(other);
	daemon_await(&d, n_taken);
	store_writer_get_state(d.writer, &wstate);
	assert_int_equal(wstate.n_lost, 1);
	daemon_stop(&d, PATIENCE_MS);
}

/* Stopped while the database is locked: the next start has them all. */
static void
test_stop_while_busy_leaves_the_journal(void **state)
{
	int64_t n_open, n_closed;
	char *journal = help_path(*state, "t.db.journal"), *text;
	struct daemon d;
	sqlite3 *other;

	daemon_start(&d, *state, 4);
	other = open_plain(d.path);
	exec(other, "BEGIN IMMEDIATE");
	for (int i = 0; i < 10; i++)
		daemon_give(&d, help_turn(0));
	daemon_stop(&d, 30);
	exec(other, "COMMIT");
	sqlite3_close(other);
	assert_int_equal(journal_count_held(journal, &n_open, &n_closed), 0);
	assert_int_equal(n_closed, 10);

	d.path = help_path(*state, "t.db");
	assert_int_equal(store_rebuild(d.path, &text), 0);
	assert_non_null(strstr(text, "10 finished and 0 interrupted"));
	assert_int_equal(query_number(d.path, "SELECT count(*) FROM turns"
					      " WHERE source = 'recovered'"),
	    10);
	free(text);
	free(d.path);
	free(journal);
}

/* In a child, whose files may not grow: what a full disk does. */
static void
child_with_full_disk(const char *folder)
{
	struct rlimit limit;
	struct daemon d;

	signal(SIGXFSZ, SIG_IGN);
	daemon_start(&d, folder, 8);
	daemon_give(&d, help_turn(0));
	daemon_await(&d, 1);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = 32768;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	/* the journal lies above that limit, so these have no slot */
	for (int i = 0; i < 8; i++) {
		struct turn *t = help_full_turn(++d.seq);

		assert_int_equal(store_writer_put(d.writer, &t, -1), 0);
	}
	daemon_await_failure(&d, "disk");
	limit.rlim_cur = RLIM_INFINITY;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	daemon_await(&d, 9);
	daemon_stop(&d, PATIENCE_MS);
}

static void
test_full_disk_loses_nothing(void **state)
{
	char *path = help_path(*state, "t.db");

	run_in_child(child_with_full_disk, *state);
	assert_int_equal(query_number(path, "SELECT count(*) FROM turns"), 9);
	assert_sound(path);
	free(path);
}

static void
test_deleted_database_is_made_again(void **state)
{
	struct store_query q = {0};
	struct store_counts counts;
	struct store_reader *r;
	char *error, *away = help_path(*state, "away.db");
	struct daemon d;

	daemon_start(&d, *state, 16);
	daemon_give(&d, help_turn(0));
	daemon_await(&d, 1);
	assert_int_equal(store_reader_open(d.path, &r, &error), 0);
	assert_int_equal(rename(d.path, away), 0);
	daemon_give(&d, help_turn(0));
	daemon_await(&d, 2);
	/* a reader that was open all the time follows */
	assert_int_equal(store_reader_count(r, &q, &counts), 0);
	assert_int_equal(counts.n_turns, 1);
	assert_int_equal(counts.last_seq, 2);
	store_reader_close(r);
	daemon_stop(&d, PATIENCE_MS);
	/* and the one that was moved has its row although nobody emptied the
	 * -wal into it before */
	assert_int_equal(query_number(away, "SELECT max(seq) FROM turns"), 1);
	assert_sound(away);
	free(away);
}

/* stderr goes to a file while this lives. */
static int
catch_log(const char *path)
{
	int kept = dup(STDERR_FILENO);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);

	assert_true(kept >= 0 && fd >= 0);
	dup2(fd, STDERR_FILENO);
	close(fd);
	return kept;
}

static int
count_in_log(const char *path, const char *word)
{
	static char text[65536];
	FILE *f = fopen(path, "r");
	size_t n = fread(text, 1, sizeof(text) - 1, f);
	int count = 0;

	text[n] = '\0';
	fclose(f);
	for (char *p = strstr(text, word); p != NULL; p = strstr(p + 1, word))
		count++;
	return count;
}

static void
test_wal_shrinks_after_a_pinned_reader(void **state)
{
	enum { LIMIT = 4 << 20, WARN = 16 << 20, TURNS_MAX = 60000 };
	char *log = help_path(*state, "log"), *wal;
	int64_t until, n = 0;
	struct stat st = {0};
	sqlite3_stmt *pin;
	struct daemon d;
	sqlite3 *other;
	int kept;

	daemon_start(&d, *state, 512);
	wal = help_path(*state, "t.db-wal");
	daemon_give(&d, help_turn(0));
	daemon_await(&d, ++n);
	other = open_plain(d.path);
	exec(other, "BEGIN");
	assert_int_equal(
	    sqlite3_prepare_v2(other, "SELECT * FROM turns", -1, &pin, NULL),
	    SQLITE_OK);
	assert_int_equal(sqlite3_step(pin), SQLITE_ROW);
	kept = catch_log(log);
	until = clock_now_ns() + PATIENCE_MS * INT64_C(1000000);
	while (count_in_log(log, "-wal has grown") == 0 && n < TURNS_MAX &&
	       clock_now_ns() < until) {
		for (int i = 0; i < 500; i++, n++)
			daemon_give(&d, help_full_turn(0));
		daemon_await(&d, n);
	}
	for (int i = 0; i < 500; i++, n++)
		daemon_give(&d, help_full_turn(0));
	daemon_await(&d, n);
	assert_int_equal(stat(wal, &st), 0);
	assert_true(st.st_size > WARN);
	sqlite3_finalize(pin);
	exec(other, "COMMIT");
	/* no more turns: the writer does it by itself */
	until = clock_now_ns() + PATIENCE_MS * INT64_C(1000000);
	while (
	    stat(wal, &st) == 0 && st.st_size > LIMIT && clock_now_ns() < until)
		pause_ms(10);
	dup2(kept, STDERR_FILENO);
	close(kept);
	assert_true(st.st_size <= LIMIT);
	assert_int_equal(count_in_log(log, "-wal has grown"), 1);
	sqlite3_close(other);
	assert_int_equal(query_number(d.path, "SELECT count(*) FROM turns"), n);
	daemon_stop(&d, PATIENCE_MS);
	free(wal);
	free(log);
}

/* 2,000 turns at about 1,000 a second: each is in, once, in order. */
static void
test_a_thousand_turns_a_second(void **state)
{
	enum { N = 2000 };
	struct daemon d;

	daemon_start(&d, *state, 256);
	for (int i = 0; i < N; i++) {
		daemon_give(&d, help_full_turn(0));
		if (i % 10 == 0)
			pause_ms(10);
	}
	daemon_await(&d, N);
	assert_int_equal(query_number(d.path, "SELECT count(*) FROM turns"), N);
	assert_int_equal(query_number(d.path, "SELECT max(seq) FROM turns"), N);
	assert_int_equal(
	    query_number(d.path, "SELECT count(*) FROM turn_tools"), 2 * N);
	assert_int_equal(n_slots_free(d.journal), JOURNAL_SLOTS);
	daemon_stop(&d, PATIENCE_MS);
}

/* The child is a daemon in small: each turn is open for a while, is closed in
 * the journal, is then reported (the client saw its end), then stored. */
static void
child_relays(const char *folder, int out)
{
	enum { IN_FLIGHT = 8 };
	struct turn *turns[IN_FLIGHT] = {0};
	int slots[IN_FLIGHT];
	struct daemon d;

	daemon_start(&d, folder, 16);
	for (unsigned i = 0;; i++) {
		unsigned k = i % IN_FLIGHT;
		char id[UUID_TEXT_BYTES];

		if (turns[k] != NULL) {
			struct turn *t = turns[k];

			memcpy(id, t->id, sizeof(id));
			t->outcome = TURN_OUTCOME_OK;
			t->output_tokens = 17;
			t->seq = ++d.seq;
			if (journal_write(d.journal, slots[k], t, false) < 0 ||
			    write(out, id, sizeof(id)) != sizeof(id) ||
			    store_writer_put(d.writer, &turns[k], slots[k]) < 0)
				_exit(5);
		}
		do
			slots[k] = journal_take(d.journal);
		while (slots[k] < 0);
		turns[k] = help_full_turn(0);
		turns[k]->seq = TURN_NULL;
		turns[k]->outcome = TURN_OUTCOME_NULL;
		if (journal_write(d.journal, slots[k], turns[k], true) < 0)
			_exit(6);
	}
}

/* The ids that the child reported, in a growing array. */
struct reports {
	char (*ids)[UUID_TEXT_BYTES];
	size_t n;
	size_t size;
};

/* Reads what is in the pipe until N_MIN are there, or all until its end. */
static void
reports_read(struct reports *r, int fd, size_t n_min)
{
	while (r->n < n_min) {
		size_t have = 0;

		if (r->n == r->size) {
			r->size = r->size > 0 ? 2 * r->size : 1024;
			r->ids = realloc(r->ids, r->size * sizeof(*r->ids));
			assert_non_null(r->ids);
		}
		while (have < sizeof(*r->ids)) {
			ssize_t n = read(
			    fd, r->ids[r->n] + have, sizeof(*r->ids) - have);

			if (n <= 0)
				return;
			have += (size_t)n;
		}
		r->n++;
	}
}

static void
assert_reported_are_stored(const char *path, const struct reports *r)
{
	sqlite3 *db = open_plain(path);
	sqlite3_stmt *stmt;

	assert_int_equal(
	    sqlite3_prepare_v2(db,
		"SELECT count(*) FROM turns WHERE id = ? AND outcome = 'ok'"
		" AND output_tokens = 17",
		-1, &stmt, NULL),
	    SQLITE_OK);
	for (size_t i = 0; i < r->n; i++) {
		sqlite3_bind_text(stmt, 1, r->ids[i], -1, SQLITE_STATIC);
		assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
		assert_int_equal(sqlite3_column_int(stmt, 0), 1);
		sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
	sqlite3_close(db);
}

static void
test_kill_9_loses_no_finished_turn(void **state)
{
	enum { ROUNDS = 50 };
	char *path = help_path(*state, "t.db"), *text;
	struct reports reports = {0};
	unsigned seed = 20261130;

	for (int round = 0; round < ROUNDS; round++) {
		int fds[2];
		pid_t pid;

		assert_int_equal(pipe(fds), 0);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			close(fds[0]);
			child_relays(*state, fds[1]);
		}
		close(fds[1]);
		/* a random moment, told by its work and not by a clock */
		reports_read(&reports, fds[0],
		    reports.n + 1 + (size_t)rand_r(&seed) % 200);
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		reports_read(&reports, fds[0], SIZE_MAX);
		close(fds[0]);
		/* every other time it is found by the next child */
		if (round % 2 == 0)
			continue;
		assert_int_equal(store_rebuild(path, &text), 0);
		free(text);
		assert_sound(path);
		assert_reported_are_stored(path, &reports);
	}
	assert_true(reports.n >= ROUNDS);
	/* and nothing twice: what was never reported is at most interrupted */
	assert_int_equal(query_number(path, "SELECT count(*) FROM turns"),
	    query_number(path, "SELECT count(DISTINCT id) FROM turns"));
	assert_true(query_number(path, "SELECT count(*) FROM turns"
				       " WHERE outcome = 'interrupted'") > 0);
	free(reports.ids);
	free(path);
}

#define TEST(f) \
	cmocka_unit_test_setup_teardown(f, help_make_folder, help_remove_folder)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_busy_database_loses_nothing),
	    TEST(test_parked_turn_keeps_what_came_after_the_journal),
	    TEST(test_full_queue_without_slot_says_so),
	    TEST(test_stop_while_busy_leaves_the_journal),
	    TEST(test_full_disk_loses_nothing),
	    TEST(test_deleted_database_is_made_again),
	    TEST(test_wal_shrinks_after_a_pinned_reader),
	    TEST(test_a_thousand_turns_a_second),
	    TEST(test_kill_9_loses_no_finished_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
