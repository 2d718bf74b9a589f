/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * command: one descriptor a command, and the parsing that they share.
 *
 * Adding a command is one file with its descriptor and one line in
 * command.c's registry. Options are data: parsing, --help and the test that
 * holds the man pages against them all read the same table.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit statuses of every command (docs/architecture.md). */
enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_UNREACHABLE = 3 };

struct cli_option {
	const char *name; /* long, without dashes; NULL ends the table */
	char letter;      /* 0: none */
	const char *arg;  /* what its value is called; NULL: a switch */
	const char *help; /* one line */
};

/* Groups that many commands share; appended to a command's own table. */
enum {
	CLI_GROUP_ROWS = 1 << 0,   /* -n --sort */
	CLI_GROUP_FILTER = 1 << 1, /* --since --until --upstream --model
				    * --session --project --client --kind --tz */
	CLI_GROUP_JSON = 1 << 2,   /* --json */
	CLI_GROUP_DB = 1 << 3,     /* --db */
	CLI_GROUP_QUERY = CLI_GROUP_ROWS | CLI_GROUP_FILTER | CLI_GROUP_JSON |
			  CLI_GROUP_DB
};

enum { CLI_VALUES_MAX = 48 };

/* One parsed command line. */
struct cli_call {
	const struct cli_command *command;
	const char *names[CLI_VALUES_MAX];
	const char *values[CLI_VALUES_MAX];
	size_t n_values;
	int argc; /* operands */
	char **argv;
};

struct cli_command {
	const char *name;
	const char *synopsis; /* operands, "" for none */
	const char *summary;  /* one line, no dot */
	const char *detail;   /* paragraphs of --help; may be NULL */
	const struct cli_option *options;
	unsigned groups;
	bool takes_rest; /* the first operand ends the options (run) */
	int min_operands;
	int max_operands; /* -1: any */
	int (*run)(const struct cli_call *call);
};

extern const struct cli_command *const cli_commands[]; /* NULL-terminated */

/* NULL where the option was not given; a switch gives "". The last one
 * wins. */
const char *cli_value(const struct cli_call *call, const char *name);
bool cli_has(const struct cli_call *call, const char *name);

/* "turnmeter NAME: text" to stderr; gives STATUS, for `return cli_fail(...)`. */
int cli_fail(const struct cli_call *call, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Loads the configuration that --config and --set of CALL name. On failure the
 * reasons are printed and an exit status is given, else 0. */
struct config;
int cli_config(const struct cli_call *call, struct config **config_out);

/* Where it was read from, for a reload; SETTINGS has CLI_VALUES_MAX places and
 * must live as long as the source. */
struct config_source;
void cli_config_source(const struct cli_call *call,
    struct config_source *source_out, const char **settings);

#endif
