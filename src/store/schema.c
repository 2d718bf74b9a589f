/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * The steps are written out and never edited once shipped: what a user's
 * database went through must stay what it says here. A new field of a turn is
 * a row at the end of turn_fields and a step with its ALTER TABLE; a unit test
 * holds the two against each other.
 *
 * Indexes: the UNIQUE of id serves ids and their beginnings, started_at every
 * bound of time, session_id one conversation. Upstream, model and the others
 * have none: they select large parts of the table, where an index saves
 * nothing, and a scan of 1,000,000 turns for a rare one takes a fraction of a
 * second (tests/bench/bench_store.c), while each index costs every insert.
 */
#include "schema.h"

#include <stdio.h>

#include <sqlite3.h>

enum { SCHEMA_APPLICATION_ID = 0x74726e6d }; /* "trnm" */

/* clang-format off */
static const char schema_step_1[] =
    "CREATE TABLE turns (\n"
    "\tseq INTEGER PRIMARY KEY,\n"
    "\tid TEXT UNIQUE NOT NULL,\n"
    "\tsource TEXT,\n"
    "\tstarted_at INTEGER,\n"
    "\tupstream TEXT,\n"
    "\tprotocol TEXT,\n"
    "\tmethod TEXT,\n"
    "\tpath TEXT,\n"
    "\tmodel TEXT,\n"
    "\tmodel_served TEXT,\n"
    "\tservice_tier TEXT,\n"
    "\tstreaming INTEGER,\n"
    "\tupstream_request_id TEXT,\n"
    "\tclient TEXT,\n"
    "\tsession_id TEXT,\n"
    "\tsession_source TEXT,\n"
    "\tagent TEXT,\n"
    "\ttask_id TEXT,\n"
    "\tturn_index INTEGER,\n"
    "\tkind TEXT,\n"
    "\tattempt INTEGER,\n"
    "\tproject TEXT,\n"
    "\tbranch TEXT,\n"
    "\taccount TEXT,\n"
    "\tstatus INTEGER,\n"
    "\toutcome TEXT,\n"
    "\terror_kind TEXT,\n"
    "\tfinish_reason TEXT,\n"
    "\tstop TEXT,\n"
    "\tflags TEXT,\n"
    "\tinput_tokens INTEGER,\n"
    "\tuncached_tokens INTEGER,\n"
    "\tcache_read_tokens INTEGER,\n"
    "\tcache_write_tokens INTEGER,\n"
    "\tcache_write_1h_tokens INTEGER,\n"
    "\toutput_tokens INTEGER,\n"
    "\treasoning_tokens INTEGER,\n"
    "\ttool_calls INTEGER,\n"
    "\tusage_source TEXT,\n"
    "\tusage_raw TEXT,\n"
    "\tn_messages INTEGER,\n"
    "\tlast_message TEXT,\n"
    "\tbreak_at INTEGER,\n"
    "\tprefix_hash TEXT,\n"
    "\tbody_hash TEXT,\n"
    "\tmax_tokens INTEGER,\n"
    "\teffort TEXT,\n"
    "\tcontext_window INTEGER,\n"
    "\tcontext_system_bytes INTEGER,\n"
    "\tcontext_tools_bytes INTEGER,\n"
    "\tcontext_user_bytes INTEGER,\n"
    "\tcontext_assistant_bytes INTEGER,\n"
    "\tcontext_results_bytes INTEGER,\n"
    "\tsent_ms REAL,\n"
    "\tttfb_ms REAL,\n"
    "\tgen_start_ms REAL,\n"
    "\tttft_ms REAL,\n"
    "\tfirst_text_ms REAL,\n"
    "\ttool_ready_ms REAL,\n"
    "\tlast_token_ms REAL,\n"
    "\ttotal_ms REAL,\n"
    "\tconnect_ms REAL,\n"
    "\tdecode_ms REAL,\n"
    "\titl_p50_ms REAL,\n"
    "\titl_p99_ms REAL,\n"
    "\titl_max_ms REAL,\n"
    "\tserver_queue_ms REAL,\n"
    "\tserver_prefill_ms REAL,\n"
    "\tserver_decode_ms REAL,\n"
    "\theld_ms REAL,\n"
    "\tstall_ms REAL,\n"
    "\tstalls INTEGER,\n"
    "\tgap_ms REAL,\n"
    "\tgap_kind TEXT,\n"
    "\tn_pieces INTEGER,\n"
    "\tfirst_piece_bytes INTEGER,\n"
    "\ttext_bytes INTEGER,\n"
    "\treasoning_bytes INTEGER,\n"
    "\ttool_bytes INTEGER,\n"
    "\tin_flight INTEGER,\n"
    "\tin_flight_mean REAL,\n"
    "\tusable_tps REAL,\n"
    "\tdecode_tps REAL,\n"
    "\tprefill_tps REAL,\n"
    "\tcost_pusd INTEGER,\n"
    "\tcost_source TEXT,\n"
    "\tprovider_cost_pusd INTEGER,\n"
    "\tprice_id INTEGER,\n"
    "\tretry_after_ms REAL,\n"
    "\tlimit_dimension TEXT,\n"
    "\trequest_bytes INTEGER,\n"
    "\tresponse_bytes INTEGER\n"
    ") STRICT;\n"
    "CREATE INDEX turns_started_at ON turns (started_at);\n"
    "CREATE INDEX turns_session_id ON turns (session_id)\n"
    "\tWHERE session_id IS NOT NULL;\n"
    "CREATE TABLE turn_tools (\n"
    "\tturn_seq INTEGER NOT NULL\n"
    "\t\tREFERENCES turns (seq) ON DELETE CASCADE,\n"
    "\tname TEXT NOT NULL,\n"
    "\tcalls INTEGER NOT NULL,\n"
    "\tresult_bytes INTEGER NOT NULL,\n"
    "\tresult_errors INTEGER NOT NULL,\n"
    "\tPRIMARY KEY (turn_seq, name)\n"
    ") STRICT, WITHOUT ROWID;\n";
/* clang-format on */

/* Append only. The position, counted from 1, is the user_version. */
static const char *const schema_steps[] = {
    schema_step_1,
};

enum { SCHEMA_N_STEPS = sizeof(schema_steps) / sizeof(*schema_steps) };
_Static_assert((int)SCHEMA_N_STEPS == (int)SCHEMA_VERSION,
    "SCHEMA_VERSION counts the steps");

static int
schema_number(sqlite3 *db, const char *sql, int *n_out)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	if (rc == SQLITE_OK) {
		rc = sqlite3_step(stmt);
		if (rc == SQLITE_ROW) {
			*n_out = sqlite3_column_int(stmt, 0);
			rc = SQLITE_OK;
		}
	}
	sqlite3_finalize(stmt);
	return rc;
}

int
schema_read(sqlite3 *db, struct schema_state *state_out)
{
	int application_id = 0, n_tables = 0;
	int rc = schema_number(db, "PRAGMA user_version", &state_out->version);

	if (rc == SQLITE_OK)
		rc = schema_number(
		    db, "PRAGMA application_id", &application_id);
	if (rc == SQLITE_OK)
		rc = schema_number(
		    db, "SELECT count(*) FROM sqlite_schema", &n_tables);
	state_out->is_empty = n_tables == 0;
	state_out->is_ours = application_id == SCHEMA_APPLICATION_ID;
	return rc;
}

int
schema_upgrade(sqlite3 *db, int version)
{
	int rc = SQLITE_OK;

	for (int i = version; i < SCHEMA_VERSION && rc == SQLITE_OK; i++) {
		char mark[96];

		snprintf(mark, sizeof(mark),
		    "PRAGMA application_id = %d; PRAGMA user_version = %d;",
		    SCHEMA_APPLICATION_ID, i + 1);
		rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
		if (rc != SQLITE_OK)
			return rc;
		rc = sqlite3_exec(db, schema_steps[i], NULL, NULL, NULL);
		if (rc == SQLITE_OK)
			rc = sqlite3_exec(db, mark, NULL, NULL, NULL);
		if (rc == SQLITE_OK)
			rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
		if (rc != SQLITE_OK && !sqlite3_get_autocommit(db))
			sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	}
	return rc;
}
