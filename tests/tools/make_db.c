/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * make_db FILE: writes the turns on stdin, one JSON object a line as `turns
 * --json` prints them, into a database through the store's own writer. For
 * the tests of what reads.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "record/turn.h"
#include "record/turn_json.h"
#include "store/store.h"

enum { MAKE_DB_WAIT_MS = 10000 };

int
main(int argc, char **argv)
{
	struct store_writer_setup setup = {.n_queue = 4096};
	struct store_writer *w = NULL;
	char *error = NULL, *line = NULL;
	size_t size = 0;
	long long n = 0;

	if (argc != 2)
		return 2;
	setup.path = argv[1];
	if (store_writer_start(&setup, &w, &error) != 0) {
		fprintf(stderr, "%s\n", error != NULL ? error : "?");
		return 1;
	}
	while (getline(&line, &size, stdin) > 0) {
		json_t *object = json_loads(line, 0, NULL);
		struct turn *t = turn_from_json(object);

		json_decref(object);
		if (t == NULL || store_writer_put(w, &t, -1) != 0)
			return 1;
		n++;
	}
	free(line);
	store_writer_stop(w, MAKE_DB_WAIT_MS);
	return n > 0 ? 0 : 1;
}
