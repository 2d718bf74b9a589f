/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * turnmeter db: look after the database. The work is the store's
 * (store/store.h); this file names it.
 */
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "store/store.h"

struct cmd_db_verb {
	const char *name;
	int n_operands; /* behind the verb */
	int (*run)(const char *path, char **operands, char **text_out);
};

static int
cmd_db_check(const char *path, char **operands, char **text_out)
{
	(void)operands;
	return store_check(path, text_out);
}

static int
cmd_db_backup(const char *path, char **operands, char **text_out)
{
	return store_backup(path, operands[0], text_out);
}

static int
cmd_db_rebuild(const char *path, char **operands, char **text_out)
{
	(void)operands;
	return store_rebuild(path, text_out);
}

static const struct cmd_db_verb cmd_db_verbs[] = {
    {"check", 0, cmd_db_check},
    {"backup", 1, cmd_db_backup},
    {"rebuild", 0, cmd_db_rebuild},
};

static const struct cmd_db_verb *
cmd_db_find(const char *name)
{
	for (size_t i = 0; i < sizeof(cmd_db_verbs) / sizeof(*cmd_db_verbs);
	     i++)
		if (strcmp(cmd_db_verbs[i].name, name) == 0)
			return &cmd_db_verbs[i];
	return NULL;
}

static int
cmd_db_run(const struct cli_call *call)
{
	const struct cmd_db_verb *verb = cmd_db_find(call->argv[0]);
	const char *path = cli_value(call, "db");
	struct config *config = NULL;
	char *text = NULL;
	int r;

	if (verb == NULL || call->argc != 1 + verb->n_operands)
		return cli_fail(call, CLI_USAGE,
		    "usage: turnmeter db %s (see --help)",
		    call->command->synopsis);
	if (path == NULL) {
		r = cli_config(call, &config);
		if (r != 0)
			return r;
		path = config->database;
	}
	r = verb->run(path, call->argv + 1, &text);
	if (text == NULL)
		cli_fail(call, CLI_FAILED, "no memory");
	else if (r < 0)
		fprintf(stderr, "%s", text);
	else
		printf("%s", text);
	free(text);
	config_free(config);
	return r < 0 ? CLI_FAILED : CLI_DONE;
}

const struct cli_command cli_command_db = {
    .name = "db",
    .synopsis = "check | backup FILE | rebuild",
    .summary = "Check, copy or rebuild the database of turns",
    .detail =
	"check    says whether the database is sound, and what waits in the\n"
	"         journal; changes nothing\n"
	"backup   copies it to FILE, which must not exist, also while the\n"
	"         daemon runs\n"
	"rebuild  stores what a crash has left in the journal, makes indexes\n"
	"         and statistics anew and packs the file; the daemon must be\n"
	"         stopped",
    .groups = CLI_GROUP_DB,
    .min_operands = 1,
    .max_operands = 2,
    .run = cmd_db_run,
};
