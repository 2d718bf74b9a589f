/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * env: what a shell evaluates to point every client started from it here.
 */
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "config/config.h"
#include "environ.h"
#include "reading.h"

/* In single quotes, as every shell of the sh family reads it back. */
static void
env_print(const char *name, const char *value)
{
	printf("export %s='", name);
	for (; *value != '\0'; value++) {
		if (*value == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*value);
	}
	printf("'\n");
}

static int
env_print_json(const struct environ *e)
{
	json_t *object = json_object();
	char *text;

	for (size_t i = 0; i < e->n; i++)
		json_object_set_new(object, e->variables[i].name,
		    json_string(e->variables[i].value));
	text = json_dumps(object, JSON_COMPACT);
	if (text != NULL)
		puts(text);
	free(text);
	json_decref(object);
	return text != NULL ? CLI_DONE : CLI_FAILED;
}

static int
cmd_env_run(const struct cli_call *call)
{
	struct config *c = NULL;
	struct environ e;
	char folder[PATH_MAX];
	const char *project = reading_project(call, folder, sizeof(folder));
	int status;

	if (cli_has(call, "unset")) {
		for (size_t i = 0; environ_names[i] != NULL; i++)
			printf("unset %s\n", environ_names[i]);
		return CLI_DONE;
	}
	status = cli_config(call, &c);
	if (status != 0)
		return status;
	if (environ_make(&e, c, project) != 0)
		status = cli_fail(call, CLI_FAILED, "no memory");
	else if (cli_has(call, "json"))
		status = env_print_json(&e);
	else
		for (size_t i = 0; i < e.n; i++)
			env_print(e.variables[i].name, e.variables[i].value);
	if (status == CLI_DONE && fflush(stdout) != 0)
		status = CLI_FAILED;
	fwrite(buf_data(&e.plan.notes), 1, buf_len(&e.plan.notes), stderr);
	environ_fini(&e);
	config_free(c);
	return status;
}

static const struct cli_option env_options[] = {
    {"project", 0, "NAME",
	"tag the turns with this project; . for the folder's name"},
    {"unset", 0, NULL, "print the lines that take them away again"},
    {0},
};

const struct cli_command cli_command_env = {
    .name = "env",
    .synopsis = "",
    .summary = "Print the variables that point clients here, for a shell",
    .detail =
	"    eval \"$(turnmeter env)\"\n"
	"\n"
	"A base URL that is set already goes on to where it went. Codex "
	"reads none of\n"
	"them: use `turnmeter run -- codex` or `turnmeter connect codex`.",
    .options = env_options,
    .groups = CLI_GROUP_JSON,
    .run = cmd_env_run,
};
