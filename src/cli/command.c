/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Parsing goes through getopt_long with a table made from the command's
 * options and the groups it asked for.
 */
#include "command.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "config/config.h"

enum { CLI_OPTIONS_MAX = 64 };

/* The registry: one line a command. */
extern const struct cli_command cli_command_db;
extern const struct cli_command cli_command_config;
extern const struct cli_command cli_command_connect;
extern const struct cli_command cli_command_doctor;
extern const struct cli_command cli_command_env;
extern const struct cli_command cli_command_explain;
extern const struct cli_command cli_command_run;
extern const struct cli_command cli_command_serve;
extern const struct cli_command cli_command_sim;
extern const struct cli_command cli_command_status;
extern const struct cli_command cli_command_tail;
extern const struct cli_command cli_command_turns;

const struct cli_command *const cli_commands[] = {
    &cli_command_db,
    &cli_command_config,
    &cli_command_connect,
    &cli_command_doctor,
    &cli_command_env,
    &cli_command_explain,
    &cli_command_run,
    &cli_command_serve,
    &cli_command_sim,
    &cli_command_status,
    &cli_command_tail,
    &cli_command_turns,
    NULL,
};

/* What `turnmeter` alone runs; NULL: the help. */
static const char *const cli_default_command = "status";

static const struct cli_option cli_options_all[] = {
    {"config", 0, "FILE", "read this configuration file alone"},
    {"set", 0, "KEY=VALUE", "override a configuration key; repeatable"},
    {"help", 'h', NULL, "say what the command does and end"},
    {0},
};

static const struct cli_option cli_options_rows[] = {
    {"n", 'n', "N", "the newest N rows; 0 for all"},
    {"sort", 0, "COLUMN", "order by a column; -COLUMN for descending"},
    {0},
};

static const struct cli_option cli_options_filter[] = {
    {"since", 0, "WHEN", "from WHEN on: 30d, 24h, 2026-11, ISO date or time"},
    {"until", 0, "WHEN", "before WHEN; a day or month includes its end"},
    {"upstream", 0, "NAME", "only turns of this upstream"},
    {"model", 0, "NAME", "only turns of this model, asked for or served"},
    {"session", 0, "ID", "only turns of this session"},
    {"project", 0, "NAME", "only turns of this project"},
    {"client", 0, "NAME",
	"only turns of this client, any version or NAME/VERSION"},
    {"kind", 0, "KIND", "only turns of this kind: turn, side, count ..."},
    {"tz", 0, "ZONE", "time zone in which days and months are cut"},
    {0},
};

static const struct cli_option cli_options_json[] = {
    {"json", 0, NULL, "one JSON object a line"},
    {0},
};

static const struct cli_option cli_options_db[] = {
    {"db", 0, "FILE", "read this database"},
    {0},
};

struct cli_table {
	const struct cli_option *rows[CLI_OPTIONS_MAX];
	size_t n;
};

static void
cli_table_add(struct cli_table *t, const struct cli_option *options)
{
	for (; options != NULL && options->name != NULL; options++)
		if (t->n < CLI_OPTIONS_MAX - 1)
			t->rows[t->n++] = options;
}

static void
cli_table_of(struct cli_table *t, const struct cli_command *c)
{
	t->n = 0;
	cli_table_add(t, c->options);
	if (c->groups & CLI_GROUP_ROWS)
		cli_table_add(t, cli_options_rows);
	if (c->groups & CLI_GROUP_FILTER)
		cli_table_add(t, cli_options_filter);
	if (c->groups & CLI_GROUP_JSON)
		cli_table_add(t, cli_options_json);
	if (c->groups & CLI_GROUP_DB)
		cli_table_add(t, cli_options_db);
	cli_table_add(t, cli_options_all);
}

/* The text in a column of its own, wrapped at 80. */
static void
cli_help_option(const char *left, const char *text)
{
	enum { TEXT_AT = 29, WIDTH = 80 };
	int at = printf("  %-26s", left);

	if (at >= TEXT_AT)
		at = printf("\n%*s", TEXT_AT - 1, "") - 1;
	while (*text != '\0') {
		int n = (int)strcspn(text, " ");

		if (at > TEXT_AT - 1 && at + 1 + n > WIDTH)
			at = printf("\n%*s", TEXT_AT - 1, "") - 1;
		at += printf(" %.*s", n, text);
		text += n;
		text += strspn(text, " ");
	}
	putchar('\n');
}

static void
cli_help(const struct cli_command *c)
{
	struct cli_table table;

	printf("usage: turnmeter %s [options]%s%s\n\n%s.\n", c->name,
	    c->synopsis[0] != '\0' ? " " : "", c->synopsis, c->summary);
	if (c->detail != NULL)
		printf("\n%s\n", c->detail);
	cli_table_of(&table, c);
	printf("\noptions:\n");
	for (size_t i = 0; i < table.n; i++) {
		const struct cli_option *o = table.rows[i];
		char left[64];

		if (strlen(o->name) == 1)
			snprintf(left, sizeof(left), "-%s%s%s", o->name,
			    o->arg != NULL ? " " : "",
			    o->arg != NULL ? o->arg : "");
		else
			snprintf(left, sizeof(left), "%s%c%s--%s%s%s",
			    o->letter != 0 ? "-" : "",
			    o->letter != 0 ? o->letter : ' ',
			    o->letter != 0 ? ", " : "   ", o->name,
			    o->arg != NULL ? " " : "",
			    o->arg != NULL ? o->arg : "");
		cli_help_option(left, o->help);
	}
	printf("\nexit status: 0 done, 1 failed, 2 wrong usage, "
	       "3 daemon not reachable\n");
}

static void
cli_overview(FILE *out)
{
	fprintf(out, "usage: turnmeter [COMMAND] [options]\n\n");
	for (size_t i = 0; cli_commands[i] != NULL; i++)
		fprintf(out, "  %-12s %s\n", cli_commands[i]->name,
		    cli_commands[i]->summary);
	fprintf(out,
	    "\n`turnmeter COMMAND --help` says more; `turnmeter --version`.\n");
}

static const struct cli_command *
cli_find(const char *name)
{
	for (size_t i = 0; cli_commands[i] != NULL; i++)
		if (strcmp(cli_commands[i]->name, name) == 0)
			return cli_commands[i];
	return NULL;
}

const char *
cli_value(const struct cli_call *call, const char *name)
{
	for (size_t i = call->n_values; i-- > 0;)
		if (strcmp(call->names[i], name) == 0)
			return call->values[i];
	return NULL;
}

bool
cli_has(const struct cli_call *call, const char *name)
{
	return cli_value(call, name) != NULL;
}

int
cli_fail(const struct cli_call *call, int status, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "turnmeter %s: ", call->command->name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return status;
}

void
cli_config_source(const struct cli_call *call, struct config_source *source_out,
    const char **settings)
{
	*source_out = (struct config_source){
	    .file = cli_value(call, "config"), .settings = settings};
	for (size_t i = 0; i < call->n_values; i++)
		if (strcmp(call->names[i], "set") == 0)
			settings[source_out->n_settings++] = call->values[i];
}

int
cli_config(const struct cli_call *call, struct config **config_out)
{
	const char *settings[CLI_VALUES_MAX];
	struct config_source source;
	char *error = NULL;

	cli_config_source(call, &source, settings);
	if (config_load(&source, config_out, &error) == 0)
		return 0;
	fprintf(stderr, "%s\n", error != NULL ? error : "no memory");
	free(error);
	return CLI_FAILED;
}

/* C is what getopt_long gave. It names a letter by optopt, for optind stays
 * where it was in the middle of a group of letters. */
static void
cli_complain(const struct cli_call *call, int c, char **argv)
{
	const char *word = argv[optind - 1];

	if (c != ':' && optopt > 0 && optopt < 1000)
		cli_fail(call, 0, "unknown option -%c (see --help)", optopt);
	else if (c == ':')
		cli_fail(call, 0, "%s needs a value (see --help)", word);
	else if (optopt >= 1000)
		cli_fail(call, 0, "%s: it takes no value (see --help)", word);
	else
		cli_fail(call, 0, "unknown option %s (see --help)", word);
}

/* 0 to run, 1 after --help, -1 after a complaint. */
static int
cli_parse(struct cli_call *call, int argc, char **argv)
{
	struct option longs[CLI_OPTIONS_MAX] = {0};
	char letters[3 * CLI_OPTIONS_MAX] = "+";
	struct cli_table table;
	size_t n = 1;
	int index, c;

	cli_table_of(&table, call->command);
	if (!call->command->takes_rest)
		n = 0;
	letters[n++] = ':';
	for (size_t i = 0; i < table.n; i++) {
		const struct cli_option *o = table.rows[i];

		longs[i].name = o->name;
		longs[i].has_arg = o->arg != NULL ? required_argument
						  : no_argument;
		longs[i].val = 1000 + (int)i;
		if (o->letter != 0) {
			letters[n++] = o->letter;
			if (o->arg != NULL)
				letters[n++] = ':';
		}
	}
	letters[n] = '\0';
	opterr = 0;
	optind = 1;
	while ((c = getopt_long(argc, argv, letters, longs, &index)) != -1) {
		const struct cli_option *o = NULL;

		for (size_t i = 0; i < table.n; i++)
			if (c == 1000 + (int)i ||
			    (c < 1000 && c == table.rows[i]->letter))
				o = table.rows[i];
		if (o == NULL) {
			cli_complain(call, c, argv);
			return -1;
		}
		if (call->n_values == CLI_VALUES_MAX) {
			cli_fail(call, 0, "more than %d options",
			    (int)CLI_VALUES_MAX);
			return -1;
		}
		if (strcmp(o->name, "help") == 0) {
			cli_help(call->command);
			return 1;
		}
		call->names[call->n_values] = o->name;
		call->values[call->n_values++] = o->arg != NULL ? optarg : "";
	}
	call->argc = argc - optind;
	call->argv = argv + optind;
	if (call->argc < call->command->min_operands) {
		cli_fail(call, 0, "usage: turnmeter %s %s (see --help)",
		    call->command->name, call->command->synopsis);
		return -1;
	}
	if (call->command->max_operands >= 0 &&
	    call->argc > call->command->max_operands) {
		cli_fail(call, 0, "unexpected operand '%s' (see --help)",
		    call->argv[call->command->max_operands]);
		return -1;
	}
	return 0;
}

/* What a command printed has reached its reader, or the command has failed:
 * a full disk must not make an empty file of `turns --json > FILE` and say 0.
 * The reader who went away is no news. */
static int
cli_end(const char *name, int status)
{
	bool is_lost = ferror(stdout) != 0;
	int error = 0;

	if (fflush(stdout) != 0) {
		error = errno;
		is_lost = true;
	}
	if (!is_lost)
		return status;
	if (error != EPIPE)
		fprintf(stderr,
		    "turnmeter%s%s: the output was not written%s%s\n",
		    name[0] != '\0' ? " " : "", name, error != 0 ? ": " : "",
		    error != 0 ? strerror(error) : "");
	return status == CLI_DONE ? CLI_FAILED : status;
}

static int
cli_dispatch(int argc, char **argv)
{
	struct cli_call call = {0};
	const char *name = argc > 1 ? argv[1] : NULL;

	if (name != NULL &&
	    (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 ||
		strcmp(name, "help") == 0)) {
		cli_overview(stdout);
		return CLI_DONE;
	}
	if (name != NULL &&
	    (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)) {
		printf("turnmeter %s\n", TURNMETER_VERSION);
		return CLI_DONE;
	}
	if (name == NULL || name[0] == '-') {
		name = cli_default_command;
	} else {
		argc--;
		argv++;
	}
	call.command = cli_find(name);
	if (call.command == NULL) {
		fprintf(stderr, "turnmeter: no command '%s'\n", name);
		cli_overview(stderr);
		return CLI_USAGE;
	}
	switch (cli_parse(&call, argc, argv)) {
	case 0: return call.command->run(&call);
	case 1: return CLI_DONE;
	default: return CLI_USAGE;
	}
}

int
cli_main(int argc, char **argv)
{
	const char *name = argc > 1 && argv[1][0] != '-' ? argv[1] : "";

	return cli_end(name, cli_dispatch(argc, argv));
}
