/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "store_help.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "store/journal.h"
#include "turn_codec.h"

enum { SEEN_MAX = 16 };

/* What a replay gave. */
struct seen {
	struct turn *turns[SEEN_MAX];
	int slots[SEEN_MAX];
	bool is_open[SEEN_MAX];
	size_t n;
};

static void
see(void *cls, struct turn **t, int slot, bool is_open)
{
	struct seen *s = cls;

	assert_true(s->n < SEEN_MAX);
	s->turns[s->n] = *t;
	s->slots[s->n] = slot;
	s->is_open[s->n++] = is_open;
	*t = NULL;
}

static void
forget(struct seen *s)
{
	for (size_t i = 0; i < s->n; i++)
		turn_free(s->turns[i]);
	s->n = 0;
}

static struct journal *
open_journal(const char *path)
{
	struct journal *j = NULL;
	char *error = NULL;
	int r = journal_open(path, &j, &error);

	if (r < 0)
		fail_msg("journal_open: %s", error);
	return j;
}

static int64_t
n_free(struct journal *j)
{
	struct journal_counts counts;

	journal_get_counts(j, &counts);
	return counts.n_free;
}

/* The bytes of slot SLOT in the file. */
static void
poke(const char *path, int slot, size_t at, const void *data, size_t n)
{
	int fd = open(path, O_RDWR);

	assert_true(fd >= 0);
	assert_int_equal(
	    pwrite(fd, data, n,
		(slot + 1) * (off_t)JOURNAL_SLOT_BYTES + (off_t)at),
	    n);
	close(fd);
}

static void
peek(const char *path, int slot, size_t at, void *data, size_t n)
{
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(
	    pread(fd, data, n,
		(slot + 1) * (off_t)JOURNAL_SLOT_BYTES + (off_t)at),
	    n);
	close(fd);
}

static void
test_file_is_private_and_allocated(void **state)
{
	char *path = help_path(*state, "a/b/t.db.journal");
	char *folder = help_path(*state, "a/b");
	mode_t old = umask(0);
	struct journal *j = open_journal(path);
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, (JOURNAL_SLOTS + 1) * JOURNAL_SLOT_BYTES);
	assert_true(st.st_blocks * 512 >= st.st_size);
	assert_int_equal(stat(folder, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	journal_close(j);

	/* a mask that takes our own bits, a file that others may read */
	umask(0777);
	assert_int_equal(chmod(path, 0644), 0);
	j = open_journal(path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	journal_close(j);
	umask(old);
	free(folder);
	free(path);
}

static void
test_second_opener_is_refused(void **state)
{
	char *path = help_path(*state, "t.db.journal");
	struct journal *j = open_journal(path), *second = NULL;
	char *error = NULL;

	assert_int_equal(journal_open(path, &second, &error), -EWOULDBLOCK);
	assert_null(second);
	assert_non_null(strstr(error, "in use"));
	free(error);
	journal_close(j);
	j = open_journal(path);
	journal_close(j);
	free(path);
}

static void
test_replay_gives_what_was_left_in_order(void **state)
{
	char *path = help_path(*state, "t.db.journal");
	struct journal *j = open_journal(path);
	struct turn *late = help_full_turn(9), *early = help_full_turn(8);
	struct turn *young = help_full_turn(0), *old = help_full_turn(0);
	int slots[5];
	struct seen seen = {.n = 0};

	young->seq = old->seq = TURN_NULL;
	young->started_at = old->started_at + 5;
	for (size_t i = 0; i < 5; i++) {
		slots[i] = journal_take(j);
		assert_true(slots[i] >= 0);
	}
	assert_int_equal(journal_write(j, slots[0], young, true), 0);
	assert_int_equal(journal_write(j, slots[1], late, true), 0);
	assert_int_equal(journal_write(j, slots[1], late, false), 0);
	assert_int_equal(journal_write(j, slots[2], old, true), 0);
	assert_int_equal(journal_write(j, slots[3], early, false), 0);
	assert_int_equal(journal_write(j, slots[4], early, false), 0);
	journal_release(j, slots[4]);
	journal_close(j);

	j = open_journal(path);
	assert_int_equal(n_free(j), JOURNAL_SLOTS - 4);
	assert_int_equal(journal_replay(j, see, &seen), 0);
	assert_int_equal(seen.n, 4);
	help_assert_same(seen.turns[0], early);
	help_assert_same(seen.turns[1], late);
	help_assert_same(seen.turns[2], old);
	help_assert_same(seen.turns[3], young);
	assert_false(seen.is_open[0] || seen.is_open[1]);
	assert_true(seen.is_open[2] && seen.is_open[3]);
	for (size_t i = 0; i < seen.n; i++) {
		assert_int_equal(seen.turns[i]->slot, seen.slots[i]);
		journal_release(j, seen.slots[i]);
	}
	forget(&seen);
	journal_close(j);

	j = open_journal(path);
	assert_int_equal(journal_replay(j, see, &seen), 0);
	assert_int_equal(seen.n, 0);
	assert_int_equal(n_free(j), JOURNAL_SLOTS);
	journal_close(j);
	turn_free(late);
	turn_free(early);
	turn_free(young);
	turn_free(old);
	free(path);
}

static void
test_slots_run_out_and_come_back(void **state)
{
	char *path = help_path(*state, "t.db.journal");
	struct journal *j = open_journal(path);
	static bool is_taken[JOURNAL_SLOTS];

	memset(is_taken, 0, sizeof(is_taken));
	for (int i = 0; i < JOURNAL_SLOTS; i++) {
		int slot = journal_take(j);

		assert_in_range(slot, 0, JOURNAL_SLOTS - 1);
		assert_false(is_taken[slot]);
		is_taken[slot] = true;
	}
	assert_int_equal(journal_take(j), -1);
	journal_release(j, 77);
	assert_int_equal(journal_take(j), 77);
	journal_close(j);
	free(path);
}

/* One flipped byte anywhere in what counts is seen. */
static void
test_torn_slot_is_detected(void **state)
{
	char *path = help_path(*state, "t.db.journal");
	struct turn *t = help_full_turn(1);
	unsigned char bytes[JOURNAL_SLOT_BYTES];
	/* the slot's head is 48 bytes */
	size_t n = 48 +
		   turn_encode(t, TURN_CODEC_CUT_NOTHING, bytes, sizeof(bytes));
	size_t n_tried = 0;

	for (size_t at = 0; at < n; at += 37) {
		struct journal *j = open_journal(path);
		struct journal_counts counts;
		struct seen seen = {.n = 0};
		int slot = journal_take(j);
		unsigned char byte;

		assert_int_equal(journal_write(j, slot, t, false), 0);
		journal_close(j);
		peek(path, slot, at, &byte, 1);
		byte ^= 0x40;
		poke(path, slot, at, &byte, 1);
		j = open_journal(path);
		assert_int_equal(journal_replay(j, see, &seen), 0);
		journal_get_counts(j, &counts);
		assert_int_equal(seen.n, 0);
		/* a first byte that is not ours says free */
		assert_int_equal(counts.n_torn, at >= 4);
		assert_int_equal(counts.n_free, JOURNAL_SLOTS);
		forget(&seen);
		journal_close(j);
		n_tried++;
	}
	assert_true(n_tried > 30);
	turn_free(t);
	free(path);
}

static struct turn *
turn_of_two_pages(int64_t seq, char letter)
{
	struct turn *t = help_full_turn(seq);
	char raw[TURN_USAGE_RAW_BYTES + 1];

	memset(raw, letter, sizeof(raw));
	raw[sizeof(raw) - 1] = '\0';
	t->usage_raw = arena_copy(&t->arena, raw, sizeof(raw) - 1);
	return t;
}

/* kill -9 between the two pages of a rewrite: new first page, old second. The
 * turn that the client saw finish must not be lost by it. */
static void
test_half_a_rewrite_keeps_the_turn(void **state)
{
	char *path = help_path(*state, "t.db.journal");
	struct journal *j = open_journal(path);
	struct turn *old = turn_of_two_pages(TURN_NULL, 'o');
	struct turn *new = turn_of_two_pages(5, 'n');
	unsigned char second[4096];
	struct seen seen = {.n = 0};
	int slot = journal_take(j);

	assert_int_equal(journal_write(j, slot, old, true), 0);
	peek(path, slot, 4096, second, sizeof(second));
	assert_int_equal(journal_write(j, slot, new, false), 0);
	poke(path, slot, 4096, second, sizeof(second));
	journal_close(j);

	j = open_journal(path);
	assert_int_equal(journal_replay(j, see, &seen), 0);
	assert_int_equal(seen.n, 1);
	assert_false(seen.is_open[0]);
	assert_int_equal(seen.turns[0]->seq, 5);
	assert_string_equal(seen.turns[0]->id, new->id);
	assert_int_equal(seen.turns[0]->output_tokens, new->output_tokens);
	assert_null(seen.turns[0]->usage_raw);
	assert_true(turn_has_flag(seen.turns[0], "journal_cut"));
	forget(&seen);
	journal_close(j);
	turn_free(old);
	turn_free(new);
	free(path);
}

static void
test_big_turn_loses_tools_then_usage_raw(void **state)
{
	char *path = help_path(*state, "t.db.journal");
	struct journal *j = open_journal(path);
	struct turn *t = turn_of_two_pages(1, 'u');
	struct seen seen = {.n = 0};

	for (int i = 0; i < TURN_TOOLS_MAX; i++) {
		char name[128];
		int n = snprintf(name, sizeof(name), "%0100d", i);

		turn_tool_get(t, name, (size_t)n);
	}
	assert_int_equal(journal_write(j, journal_take(j), t, false), 0);
	for (size_t i = 0; i < n_turn_fields; i++)
		if (turn_fields[i].type == TURN_TYPE_TEXT && t->seq == 1)
			turn_set_str(
			    t, turn_field_at(&turn_fields[i], t), t->usage_raw);
	t->seq = 2;
	assert_int_equal(journal_write(j, journal_take(j), t, false), 0);
	journal_close(j);
	j = open_journal(path);
	assert_int_equal(journal_replay(j, see, &seen), 0);
	assert_int_equal(seen.n, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(seen.turns[i]->n_tools, 0);
		assert_true(turn_has_flag(seen.turns[i], "journal_cut"));
	}
	assert_string_equal(seen.turns[0]->usage_raw, t->usage_raw);
	assert_null(seen.turns[1]->usage_raw);
	assert_string_equal(seen.turns[1]->model, t->model);
	forget(&seen);
	journal_close(j);
	turn_free(t);
	free(path);
}

static void
test_parked_turns_come_back_in_order(void **state)
{
	char *path = help_path(*state, "t.db.journal");
	struct journal *j = open_journal(path);
	struct journal_counts counts;
	struct turn *t;

	/* more than once around the ring */
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 2000; i++) {
			int slot = journal_take(j);

			t = help_turn(i);
			assert_int_equal(journal_write(j, slot, t, false), 0);
			journal_park(j, slot);
			turn_free(t);
		}
		journal_get_counts(j, &counts);
		assert_int_equal(counts.n_parked, 2000);
		for (int i = 0; i < 2000; i++) {
			int slot = journal_unpark(j, &t);

			assert_true(slot >= 0);
			assert_non_null(t);
			assert_int_equal(t->seq, i);
			assert_int_equal(t->slot, slot);
			journal_release(j, slot);
			turn_free(t);
		}
		assert_int_equal(journal_unpark(j, &t), -1);
		assert_null(t);
	}
	assert_int_equal(n_free(j), JOURNAL_SLOTS);
	journal_close(j);
	free(path);
}

/* The header's fields: magic 8 bytes, version, slot size, slots. */
static void
test_other_versions_are_kept_while_they_hold_turns(void **state)
{
	char *path = help_path(*state, "t.db.journal");
	struct journal *j = open_journal(path);
	struct turn *t = help_turn(1);
	uint32_t version = 99;
	int slot = journal_take(j);
	char *error = NULL;

	assert_int_equal(journal_write(j, slot, t, false), 0);
	journal_close(j);
	poke(path, -1, 8, &version, sizeof(version));
	assert_int_equal(journal_open(path, &j, &error), -ENOTSUP);
	assert_non_null(strstr(error, "holds 1 turns"));
	free(error);

	poke(path, slot, 0, "\0\0\0\0", 4);
	j = open_journal(path);
	assert_int_equal(n_free(j), JOURNAL_SLOTS);
	journal_close(j);

	poke(path, -1, 0, "SQLite", 6);
	assert_int_equal(journal_open(path, &j, &error), -EBADMSG);
	free(error);
	turn_free(t);
	free(path);
}

/* A crash may leave a file without its header, or an empty one. */
static void
test_unfinished_file_is_made_anew(void **state)
{
	static const off_t sizes[] = {
	    0, 3, 4096, (JOURNAL_SLOTS + 1) * (off_t)JOURNAL_SLOT_BYTES};
	char *path = help_path(*state, "t.db.journal");

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct journal *j;
		int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

		assert_int_equal(ftruncate(fd, sizes[i]), 0);
		close(fd);
		j = open_journal(path);
		assert_int_equal(n_free(j), JOURNAL_SLOTS);
		journal_close(j);
	}
	free(path);
}

static void
test_held_turns_are_counted_from_outside(void **state)
{
	char *path = help_path(*state, "t.db.journal");
	int64_t n_open = -1, n_closed = -1;
	struct journal *j;
	struct turn *t = help_turn(1);

	assert_int_equal(journal_count_held(path, &n_open, &n_closed), 0);
	assert_int_equal(n_open + n_closed, 0);
	j = open_journal(path);
	journal_write(j, journal_take(j), t, true);
	journal_write(j, journal_take(j), t, false);
	journal_write(j, journal_take(j), t, false);
	assert_int_equal(journal_count_held(path, &n_open, &n_closed), 0);
	assert_int_equal(n_open, 1);
	assert_int_equal(n_closed, 2);
	journal_close(j);
	turn_free(t);
	free(path);
}

/* The limit on file sizes stands for a disk that takes no more. */
static void
test_failed_write_is_counted_and_survived(void **state)
{
	char *path = help_path(*state, "t.db.journal");
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		struct journal *j = NULL;
		struct journal_counts counts;
		struct turn *t = help_full_turn(1);
		char *error;
		struct rlimit no = {
		    .rlim_cur = 4096, .rlim_max = RLIM_INFINITY};
		int r = journal_open(path, &j, &error), slot;

		signal(SIGXFSZ, SIG_IGN);
		if (r < 0 || setrlimit(RLIMIT_FSIZE, &no) < 0)
			_exit(1);
		slot = journal_take(j);
		if (journal_write(j, slot, t, false) != -EFBIG)
			_exit(2);
		journal_get_counts(j, &counts);
		if (counts.n_errors != 1)
			_exit(3);
		no.rlim_cur = RLIM_INFINITY;
		if (setrlimit(RLIMIT_FSIZE, &no) < 0 ||
		    journal_write(j, slot, t, false) != 0)
			_exit(4);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	free(path);
}

#define TEST(f) \
	cmocka_unit_test_setup_teardown(f, help_make_folder, help_remove_folder)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_file_is_private_and_allocated),
	    TEST(test_second_opener_is_refused),
	    TEST(test_replay_gives_what_was_left_in_order),
	    TEST(test_slots_run_out_and_come_back),
	    TEST(test_torn_slot_is_detected),
	    TEST(test_half_a_rewrite_keeps_the_turn),
	    TEST(test_big_turn_loses_tools_then_usage_raw),
	    TEST(test_parked_turns_come_back_in_order),
	    TEST(test_other_versions_are_kept_while_they_hold_turns),
	    TEST(test_unfinished_file_is_made_anew),
	    TEST(test_held_turns_are_counted_from_outside),
	    TEST(test_failed_write_is_counted_and_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
