/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "doctor.h"
#include "record/turn.h"
#include "store/store.h"

static void
privacy_print_value(const struct turn_field *f, const struct turn *t)
{
	const void *at = turn_field_at(f, t);

	if (turn_field_is_null(f, t)) {
		printf("NULL\n");
		return;
	}
	switch (f->type) {
	case TURN_TYPE_INT:
	case TURN_TYPE_BOOL:
	case TURN_TYPE_TIME:
		printf("%" PRId64 "\n", *(const int64_t *)at);
		break;
	case TURN_TYPE_REAL: printf("%.15g\n", *(const double *)at); break;
	case TURN_TYPE_TEXT:
	case TURN_TYPE_FLAGS:
	case TURN_TYPE_JSON: printf("'%s'\n", *(const char *const *)at); break;
	case TURN_TYPE_ENUM:
		printf("'%s'\n", turn_field_enum_name(f, *(const int *)at));
		break;
	}
}

static bool
privacy_print(void *cls, const struct turn *t)
{
	bool *is_there = cls;

	*is_there = true;
	printf("the newest turn, exactly as it is stored:\n\n");
	for (size_t i = 0; i < n_turn_fields; i++) {
		printf("  %-24s", turn_fields[i].name);
		privacy_print_value(&turn_fields[i], t);
	}
	for (size_t i = 0; i < t->n_tools; i++)
		printf("  turn_tools               '%s' %" PRId64 " %" PRId64
		       " %" PRId64 "\n",
		    t->tools[i].name, t->tools[i].calls,
		    t->tools[i].result_bytes, t->tools[i].result_errors);
	return false;
}

int
doctor_privacy(const struct reading *r)
{
	struct store_query q = {.n = 1};
	bool is_there = false;
	int result = 0;

	if (r->store != NULL)
		result = store_reader_turns(
		    r->store, &q, privacy_print, &is_there);
	if (result != 0) {
		fprintf(stderr, "%s: %s\n", r->database, strerror(-result));
		return CLI_FAILED;
	}
	if (!is_there)
		printf("no turn is stored yet.\n");
	printf(
	    "\nNever stored, logged, or sent on: API keys, cookies and other "
	    "credentials;\nprompts, system prompts and what files hold; "
	    "answers and reasoning; arguments\nand results of tools; the "
	    "query of a URL. Of these there are sizes, counts and\nnames at "
	    "most, and hashes made with a key that never leaves this machine, "
	    "in a\nfile of its own beside %s.\n",
	    r->database);
	return fflush(stdout) == 0 ? CLI_DONE : CLI_FAILED;
}
