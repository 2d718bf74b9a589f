/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * The database in good times: schema, rows, queries, upkeep; and files that
 * must be refused.
 */
#include "store_daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>

#include "schema.h"
#include "sql.h"

/* The columns are the table of fields: names, order, types. */
static void
test_columns_are_the_fields(void **state)
{
	struct daemon d;
	sqlite3 *db;
	sqlite3_stmt *stmt;
	size_t n = 0;

	daemon_start(&d, *state, 16);
	db = open_plain(d.path);
	assert_int_equal(
	    sqlite3_prepare_v2(db, "PRAGMA table_info(turns)", -1, &stmt, NULL),
	    SQLITE_OK);
	for (; sqlite3_step(stmt) == SQLITE_ROW; n++) {
		const char *type;

		assert_true(n < n_turn_fields);
		switch (turn_fields[n].type) {
		case TURN_TYPE_INT:
		case TURN_TYPE_BOOL:
		case TURN_TYPE_TIME: type = "INTEGER"; break;
		case TURN_TYPE_REAL: type = "REAL"; break;
		default: type = "TEXT"; break;
		}
		assert_string_equal(
		    sqlite3_column_text(stmt, 1), turn_fields[n].name);
		assert_string_equal(sqlite3_column_text(stmt, 2), type);
	}
	assert_int_equal(n, n_turn_fields);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	assert_int_equal(
	    query_number(d.path,
		"SELECT count(*) FROM "
		"pragma_table_list WHERE schema = 'main' AND strict"
		" AND name IN ('turns', 'turn_tools')"),
	    2);
	assert_int_equal(
	    query_number(d.path, "PRAGMA user_version"), SCHEMA_VERSION);
	daemon_stop(&d, PATIENCE_MS);
}

/* docs/database.md lists the same: "| `name` | TYPE | meaning |". */
static void
test_columns_are_documented(void **state)
{
	FILE *f = fopen(SOURCE_ROOT "/docs/database.md", "r");
	char line[1024], want[128];
	size_t n = 0;

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		const char *type = "TEXT";

		/* the table of files has dots in its names */
		if (strncmp(line, "| `", 3) != 0 ||
		    strncmp(line, "| `turnmeter.db", 15) == 0)
			continue;
		assert_true(n < n_turn_fields);
		if (turn_fields[n].type == TURN_TYPE_REAL)
			type = "REAL";
		else if (turn_fields[n].type <= TURN_TYPE_BOOL ||
			 turn_fields[n].type == TURN_TYPE_TIME)
			type = "INTEGER";
		snprintf(want, sizeof(want), "| `%s` | %s | ",
		    turn_fields[n].name, type);
		line[strlen(want)] = '\0';
		assert_string_equal(line, want);
		n++;
	}
	fclose(f);
	assert_int_equal(n, n_turn_fields);
}

static void
test_every_field_comes_back(void **state)
{
	struct daemon d;
	struct turn *full = help_full_turn(1), *blank = turn_new();
	struct store_query q = {0};
	struct rows rows = {0};

	daemon_start(&d, *state, 16);
	daemon_give(&d, turn_copy(full));
	blank->seq = 2;
	daemon_give(&d, turn_copy(blank));
	daemon_await(&d, 2);
	assert_int_equal(read_rows(d.path, &q, &rows), 0);
	assert_int_equal(rows.n, 2);
	help_assert_same(rows.turns[0], full);
	help_assert_same(rows.turns[1], blank);
	assert_int_equal(n_slots_free(d.journal), JOURNAL_SLOTS);
	forget_rows(&rows);
	turn_free(full);
	turn_free(blank);
	daemon_stop(&d, PATIENCE_MS);
}

static void
test_files_are_private(void **state)
{
	static const char *const names[] = {
	    "t.db", "t.db-wal", "t.db-shm", "t.db.journal"};
	char *folder = help_path(*state, "deep/er");
	mode_t old = umask(0);
	struct daemon d;
	struct stat st;

	daemon_start(&d, folder, 16);
	daemon_give(&d, help_turn(0));
	daemon_await(&d, 1);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char *path = help_path(folder, names[i]);

		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0600);
		free(path);
	}
	assert_int_equal(stat(folder, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	umask(old);
	daemon_stop(&d, PATIENCE_MS);
	free(folder);
}

/* Sets what the text says, one turn a row, seq from 1. */
static void
fill_for_queries(struct daemon *d)
{
	static const struct {
		int64_t started_at;
		const char *upstream, *model, *served, *session;
		int kind, outcome, usage;
		int64_t output_tokens;
	} turns[] = {
	    {1000, "a", "m1", NULL, "s1", TURN_KIND_TURN, TURN_OUTCOME_OK,
		TURN_USAGE_SOURCE_REPORTED, 50},
	    {3000, "a", "m2", "m1", "s1", TURN_KIND_SIDE, TURN_OUTCOME_OK,
		TURN_USAGE_SOURCE_NONE, TURN_NULL},
	    {2000, "b", "m2", NULL, "s2", TURN_KIND_TURN,
		TURN_OUTCOME_RATE_LIMITED, TURN_USAGE_SOURCE_NONE, 30},
	    {4000, "b", "m3", NULL, NULL, TURN_KIND_TURN, TURN_OUTCOME_OK,
		TURN_USAGE_SOURCE_NULL, 0},
	    /* an import: late in the table, early in time */
	    {500, "a", "m1", NULL, NULL, TURN_KIND_TURN, TURN_OUTCOME_OK,
		TURN_USAGE_SOURCE_REPORTED, 50},
	};
	size_t n = sizeof(turns) / sizeof(*turns);

	for (size_t i = 0; i < n; i++) {
		struct turn *t = turn_new();

		t->started_at = turns[i].started_at;
		turn_set_str(t, &t->upstream, turns[i].upstream);
		turn_set_str(t, &t->model, turns[i].model);
		turn_set_str(t, &t->model_served, turns[i].served);
		turn_set_str(t, &t->session_id, turns[i].session);
		t->id = arena_copy(&t->arena, i == 2 ? "aa77" : "aa7-", 4);
		if (i != 2)
			((char *)(uintptr_t)t->id)[3] = (char)('a' + i);
		t->kind = turns[i].kind;
		t->outcome = turns[i].outcome;
		t->usage_source = turns[i].usage;
		t->output_tokens = turns[i].output_tokens;
		daemon_give(d, t);
	}
	daemon_await(d, (int64_t)n);
}

/* The seqs that a query gives, as digits. */
static void
assert_selects(const char *path, const struct store_query *q, const char *want)
{
	struct rows rows = {0};
	char got[16] = "";

	assert_int_equal(read_rows(path, q, &rows), 0);
	for (size_t i = 0; i < rows.n; i++)
		got[i] = (char)('0' + rows.turns[i]->seq);
	assert_string_equal(got, want);
	forget_rows(&rows);
}

static void
test_queries_select_and_order(void **state)
{
	static const struct {
		struct store_query q;
		const char *want;
	} cases[] = {
	    {{0}, "12345"},
	    {{.is_descending = true}, "54321"},
	    {{.n = 2}, "45"},
	    {{.n = 2, .is_descending = true}, "54"},
	    {{.n = 9}, "12345"},
	    {{.since_ms = 2000}, "234"},
	    {{.since_ms = 2000, .n = 1}, "4"},
	    {{.until_ms = 2000}, "15"},
	    {{.since_ms = 1000, .until_ms = 4000}, "123"},
	    {{.since_ms = 9000}, ""},
	    {{.until_ms = 1}, ""},
	    {{.after_seq = 3}, "45"},
	    {{.seq = 3}, "3"},
	    {{.upstream = "b"}, "34"},
	    {{.upstream = "b' OR 1 --"}, ""},
	    {{.model = "m1"}, "125"},
	    {{.model = "m2", .upstream = "a"}, "2"},
	    {{.session = "s1"}, "12"},
	    {{.session = "s1", .since_ms = 2000}, "2"},
	    {{.kind = "side"}, "2"},
	    {{.id = "aa7"}, "12345"},
	    {{.id = "aa77"}, "3"},
	    {{.id = "aa7b"}, "2"},
	    {{.id = "b"}, ""},
	    {{.id = "%"}, ""},
	    {{.project = "p"}, ""},
	    {{.client = "c"}, ""},
	    /* a sort orders all, then takes N; NULL last either way */
	    {{.sort = "output_tokens"}, "43152"},
	    {{.sort = "output_tokens", .is_descending = true}, "51342"},
	    {{.sort = "output_tokens", .n = 2}, "43"},
	    {{.sort = "started_at", .is_descending = true, .n = 3}, "423"},
	    {{.sort = "seq", .n = 2}, "12"},
	};
	struct store_query bad = {.sort = "seq; DROP TABLE turns"};
	struct rows rows = {.n_max = 3};
	struct daemon d;

	daemon_start(&d, *state, 16);
	fill_for_queries(&d);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_selects(d.path, &cases[i].q, cases[i].want);
	assert_int_equal(read_rows(d.path, &bad, &rows), -EINVAL);
	assert_int_equal(rows.n, 0);
	/* the caller has seen enough */
	bad.sort = NULL;
	assert_int_equal(read_rows(d.path, &bad, &rows), 0);
	assert_int_equal(rows.n, 3);
	forget_rows(&rows);
	daemon_stop(&d, PATIENCE_MS);
}

/* Today's turns are found without looking at all the others. */
static void
test_time_is_searched_by_its_index(void **state)
{
	struct store_query q = {.since_ms = 2000, .until_ms = 3000, .n = 20};
	sqlite3_stmt *stmt, *plan;
	int n_index = 0, n_seq = 0;
	struct daemon d;
	sqlite3 *db;
	char *sql;

	daemon_start(&d, *state, 16);
	db = open_plain(d.path);
	assert_int_equal(
	    sql_prepare_query(db, SQL_SELECT_SEQS, &q, &stmt), SQLITE_OK);
	assert_true(
	    asprintf(&sql, "EXPLAIN QUERY PLAN %s", sqlite3_sql(stmt)) > 0);
	assert_int_equal(
	    sqlite3_prepare_v2(db, sql, -1, &plan, NULL), SQLITE_OK);
	while (sqlite3_step(plan) == SQLITE_ROW) {
		const char *step = (const char *)sqlite3_column_text(plan, 3);

		assert_null(strstr(step, "SCAN"));
		assert_null(strstr(step, "TEMP B-TREE"));
		n_index += strstr(step, "COVERING INDEX turns_started_at") !=
			   NULL;
		n_seq += strstr(step, "INTEGER PRIMARY KEY") != NULL;
	}
	assert_int_equal(n_index, 2);
	assert_int_equal(n_seq, 1);
	sqlite3_finalize(plan);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	free(sql);
	daemon_stop(&d, PATIENCE_MS);
}

static void
test_counts(void **state)
{
	struct store_query all = {0}, late = {.since_ms = 2000};
	struct store_counts counts;
	struct store_reader *r;
	int64_t db_bytes, wal_bytes, free_bytes;
	struct daemon d;
	char *error;

	daemon_start(&d, *state, 16);
	fill_for_queries(&d);
	assert_int_equal(store_reader_open(d.path, &r, &error), 0);
	assert_int_equal(store_reader_count(r, &all, &counts), 0);
	assert_int_equal(counts.n_turns, 5);
	assert_int_equal(counts.n_sessions, 2);
	assert_int_equal(counts.n_rate_limited, 1);
	assert_int_equal(counts.n_no_usage, 2);
	assert_int_equal(counts.last_seq, 5);
	assert_int_equal(store_reader_count(r, &late, &counts), 0);
	assert_int_equal(counts.n_turns, 3);
	assert_int_equal(counts.n_sessions, 2);
	assert_int_equal(counts.last_seq, 5);
	assert_int_equal(
	    store_reader_sizes(r, &db_bytes, &wal_bytes, &free_bytes), 0);
	assert_true(db_bytes >= 4096);
	assert_true(wal_bytes > 0);
	assert_true(free_bytes > 0);
	store_reader_close(r);
	daemon_stop(&d, PATIENCE_MS);
}

static void
test_replay_is_harmless(void **state)
{
	struct turn *t = help_full_turn(1), *again = turn_copy(t);
	struct daemon d;

	daemon_start(&d, *state, 16);
	daemon_give(&d, turn_copy(t));
	d.seq = 0;
	daemon_give(&d, turn_copy(t)); /* same id, same seq */
	d.seq = 70;
	daemon_give(&d, again); /* same id, another seq */
	daemon_await(&d, 3);
	assert_int_equal(query_number(d.path, "SELECT count(*) FROM turns"), 1);
	assert_int_equal(query_number(d.path, "SELECT seq FROM turns"), 1);
	assert_int_equal(
	    query_number(d.path, "SELECT count(*) FROM turn_tools"), 2);
	turn_free(t);
	daemon_stop(&d, PATIENCE_MS);
}

static void
test_taken_seq_becomes_the_next(void **state)
{
	struct turn *mine = help_full_turn(0);
	char id[UUID_TEXT_BYTES], *sql;
	struct daemon d;

	daemon_start(&d, *state, 16);
	for (int i = 0; i < 3; i++)
		daemon_give(&d, help_turn(0));
	d.seq = 1;
	memcpy(id, mine->id, sizeof(id));
	daemon_give(&d, mine); /* asks for 2 */
	mine = help_turn(0);
	mine->seq = TURN_NULL;
	assert_int_equal(store_writer_put(d.writer, &mine, -1), 0);
	daemon_await(&d, 5);
	assert_true(
	    asprintf(&sql, "SELECT seq FROM turns WHERE id = '%s'", id) > 0);
	assert_int_equal(query_number(d.path, sql), 4);
	assert_int_equal(query_number(d.path, "SELECT max(seq) FROM turns"), 5);
	assert_int_equal(
	    query_number(
		d.path, "SELECT count(*) FROM turn_tools WHERE turn_seq = 4"),
	    2);
	free(sql);
	daemon_stop(&d, PATIENCE_MS);
}

/* A row that the database refuses for good does not hold up the others. */
static void
test_impossible_row_is_counted(void **state)
{
	struct store_writer_state wstate;
	struct turn *t = help_turn(7);
	struct daemon d;

	daemon_start(&d, *state, 16);
	t->id = NULL;
	assert_int_equal(store_writer_put(d.writer, &t, -1), 0);
	daemon_give(&d, help_turn(0));
	daemon_await(&d, 1);
	store_writer_get_state(d.writer, &wstate);
	assert_int_equal(wstate.n_lost, 1);
	assert_false(wstate.is_failing);
	daemon_stop(&d, PATIENCE_MS);
}

static void
start_fails(const char *folder, int want, const char *word)
{
	char *path = help_path(folder, "t.db"), *error = NULL;
	struct store_writer_setup setup = {.path = path, .n_queue = 4};
	struct store_writer *w;
	struct store_reader *r;

	assert_int_equal(store_writer_start(&setup, &w, &error), want);
	assert_null(w);
	assert_non_null(error);
	assert_non_null(strstr(error, word));
	free(error);
	assert_int_equal(store_reader_open(path, &r, &error), want);
	assert_null(r);
	assert_non_null(strstr(error, word));
	free(error);
	free(path);
}

static void
test_newer_schema_is_refused(void **state)
{
	struct daemon d;
	sqlite3 *db;
	char *path = help_path(*state, "t.db"), *text;

	daemon_start(&d, *state, 4);
	daemon_stop(&d, PATIENCE_MS);
	db = open_plain(path);
	exec(db, "PRAGMA user_version = 1000");
	sqlite3_close(db);
	start_fails(*state, -ENOTSUP, "newer turnmeter (schema 1000");
	assert_int_equal(store_check(path, &text), -ENOTSUP);
	assert_non_null(strstr(text, "update turnmeter"));
	free(text);
	free(path);
}

static void
test_foreign_and_broken_files_are_refused(void **state)
{
	char *path = help_path(*state, "t.db"), *text;
	sqlite3 *db = open_plain(path);
	int fd;

	exec(db, "CREATE TABLE notes (a)");
	sqlite3_close(db);
	start_fails(*state, -EBADMSG, "another program");
	assert_int_equal(
	    query_number(path, "SELECT count(*) FROM sqlite_schema"), 1);

	fd = open(path, O_WRONLY | O_TRUNC);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(write(fd, "no database ", 12), 12);
	close(fd);
	start_fails(*state, -EBADMSG, "turnmeter db check");
	assert_int_equal(store_check(path, &text), -EBADMSG);
	free(text);
	free(path);
}

static void
test_reader_makes_nothing(void **state)
{
	char *path = help_path(*state, "none.db"), *error = NULL;
	struct store_reader *r;

	assert_int_equal(store_reader_open(path, &r, &error), -ENOENT);
	assert_non_null(strstr(error, "does not exist"));
	assert_int_equal(access(path, F_OK), -1);
	free(error);
	free(path);
}

/* As nobody, from a folder of root's: there -shm cannot be made. */
static void
child_reads_as_nobody(const char *folder)
{
	struct store_query q = {0};
	struct rows rows = {0};
	char *path = help_path(folder, "t.db");

	if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setuid(65534) < 0))
		_exit(3);
	assert_int_equal(read_rows(path, &q, &rows), 0);
	assert_int_equal(rows.n, 1);
}

static void
test_reads_from_a_folder_without_write_permission(void **state)
{
	struct daemon d;
	char *path = help_path(*state, "t.db");

	daemon_start(&d, *state, 4);
	daemon_give(&d, help_turn(0));
	daemon_await(&d, 1);
	daemon_stop(&d, PATIENCE_MS);
	if (geteuid() == 0)
		assert_int_equal(chown(path, 65534, 65534), 0);
	assert_int_equal(chmod(*state, 0555), 0);
	run_in_child(child_reads_as_nobody, *state);
	assert_int_equal(chmod(*state, 0700), 0);
	free(path);
}

static void
test_backup_is_whole_and_private(void **state)
{
	char *to = help_path(*state, "copy.db"), *text;
	mode_t old = umask(0);
	struct stat st;
	struct daemon d;

	daemon_start(&d, *state, 64);
	for (int i = 0; i < 50; i++)
		daemon_give(&d, help_full_turn(0));
	daemon_await(&d, 50);
	assert_int_equal(store_backup(d.path, to, &text), 0);
	assert_non_null(strstr(text, "50 turns, to seq 50"));
	free(text);
	assert_int_equal(stat(to, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_sound(to);
	assert_int_equal(query_number(to, "SELECT count(*) FROM turns"), 50);
	assert_int_equal(
	    query_number(to, "PRAGMA user_version"), SCHEMA_VERSION);
	/* never over a file */
	assert_int_equal(store_backup(d.path, to, &text), -EEXIST);
	free(text);
	umask(old);
	daemon_stop(&d, PATIENCE_MS);
	free(to);
}

static void
test_check_tells_sound_from_damaged(void **state)
{
	char *path = help_path(*state, "t.db"), *text;
	struct stat st;
	struct daemon d;
	int fd;

	daemon_start(&d, *state, 64);
	for (int i = 0; i < 200; i++)
		daemon_give(&d, help_full_turn(0));
	daemon_await(&d, 200);
	assert_int_equal(store_check(path, &text), 0);
	assert_non_null(strstr(text, "turns: 200, to seq 200"));
	assert_non_null(strstr(text, "integrity: ok"));
	assert_non_null(strstr(text, "sound\n"));
	free(text);
	assert_int_equal(store_rebuild(path, &text), -EWOULDBLOCK);
	free(text);
	daemon_stop(&d, PATIENCE_MS);

	assert_int_equal(stat(path, &st), 0);
	fd = open(path, O_RDWR);
	for (off_t at = 16384; at < st.st_size; at += 4096)
		assert_int_equal(pwrite(fd, "\xff\xff\xff\xff", 4, at), 4);
	close(fd);
	assert_int_equal(store_check(path, &text), -EBADMSG);
	assert_non_null(strstr(text, "NOT SOUND"));
	free(text);
	free(path);
}

#define TEST(f) \
	cmocka_unit_test_setup_teardown(f, help_make_folder, help_remove_folder)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_columns_are_the_fields),
	    TEST(test_columns_are_documented),
	    TEST(test_every_field_comes_back),
	    TEST(test_files_are_private),
	    TEST(test_queries_select_and_order),
	    TEST(test_time_is_searched_by_its_index),
	    TEST(test_counts),
	    TEST(test_replay_is_harmless),
	    TEST(test_taken_seq_becomes_the_next),
	    TEST(test_impossible_row_is_counted),
	    TEST(test_newer_schema_is_refused),
	    TEST(test_foreign_and_broken_files_are_refused),
	    TEST(test_reader_makes_nothing),
	    TEST(test_reads_from_a_folder_without_write_permission),
	    TEST(test_backup_is_whole_and_private),
	    TEST(test_check_tells_sound_from_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
