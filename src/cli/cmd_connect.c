/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * connect: a client's own configuration, once and for good.
 *
 * The first change keeps the file as it was beside it; --undo puts that back
 * byte for byte. A file that connect made has an empty `.turnmeter-created`
 * beside it instead, and --undo takes both away. Nothing is written before it
 * was shown and agreed to.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "client.h"
#include "command.h"
#include "config/config.h"
#include "endpoint.h"
#include "files.h"
#include "reading.h"

enum { CONNECT_BYTES = 8 << 20, CONNECT_NAME_BYTES = FILES_PATH_BYTES + 32 };

static void
connect_show(const char *path, const char *before, const char *after)
{
	struct buf out;

	buf_init(&out, CONNECT_BYTES);
	files_diff(path, before, after, &out);
	fwrite(buf_data(&out), 1, buf_len(&out), stdout);
	fflush(stdout);
	buf_fini(&out);
}

/* 0 where the user says yes; else an exit status. */
static int
connect_ask(const struct cli_call *call, const char *question)
{
	char answer[16];

	if (cli_has(call, "yes"))
		return 0;
	if (!isatty(STDIN_FILENO)) {
		return cli_fail(call, CLI_FAILED,
		    "nothing was changed: --yes agrees where nobody can be "
		    "asked");
	}
	printf("%s [y/N] ", question);
	fflush(stdout);
	if (fgets(answer, sizeof(answer), stdin) != NULL &&
	    (answer[0] == 'y' || answer[0] == 'Y'))
		return 0;
	fprintf(stderr, "nothing was changed\n");
	return CLI_FAILED;
}

static int
connect_failed(const struct cli_call *call, const char *path, int result)
{
	return cli_fail(call, CLI_FAILED, "%s: %s", path, strerror(-result));
}

/* The file as it was, once; -errno. */
static int
connect_keep(const struct client_plan *plan)
{
	char backup[CONNECT_NAME_BYTES], created[CONNECT_NAME_BYTES];

	snprintf(backup, sizeof(backup), "%s.turnmeter-backup", plan->path);
	snprintf(created, sizeof(created), "%s.turnmeter-created", plan->path);
	if (files_exists(backup) || files_exists(created))
		return 0;
	if (plan->before != NULL)
		return files_replace(backup, plan->before);
	return files_replace(created, "");
}

static int
connect_do(const struct cli_call *call, const struct client *client,
    const struct client_plan *plan)
{
	int status, result;

	fwrite(buf_data(&plan->notes), 1, buf_len(&plan->notes), stderr);
	if (plan->after == NULL) {
		if (buf_len(&plan->notes) == 0 || plan->n_here > 0)
			printf("%s points here already; nothing to change\n",
			    client->title);
		return buf_len(&plan->notes) == 0 || plan->n_here > 0
			   ? CLI_DONE
			   : CLI_FAILED;
	}
	connect_show(plan->path, plan->before, plan->after);
	status = connect_ask(call, "Change it so?");
	if (status != 0)
		return status;
	result = connect_keep(plan);
	if (result == 0)
		result = files_replace(plan->path, plan->after);
	if (result != 0)
		return connect_failed(call, plan->path, result);
	printf("%s now talks through turnmeter; back: turnmeter connect %s "
	       "--undo\n",
	    client->title, client->name);
	return CLI_DONE;
}

/* Takes away the file that connect had made. */
static int
connect_undo_created(const struct cli_call *call,
    const struct client_plan *plan, const char *created)
{
	int status;

	connect_show(plan->path, plan->before, NULL);
	status = connect_ask(call, "Remove it?");
	if (status != 0)
		return status;
	if ((plan->before != NULL && unlink(plan->path) != 0) ||
	    unlink(created) != 0)
		return connect_failed(call, plan->path, -errno);
	printf("%s is removed: connect had made it\n", plan->path);
	return CLI_DONE;
}

static int
connect_undo(const struct cli_call *call, const struct client *client,
    const struct client_plan *plan)
{
	char backup[CONNECT_NAME_BYTES], created[CONNECT_NAME_BYTES];
	char *text = NULL;
	int status, result;

	snprintf(backup, sizeof(backup), "%s.turnmeter-backup", plan->path);
	snprintf(created, sizeof(created), "%s.turnmeter-created", plan->path);
	if (files_exists(created))
		return connect_undo_created(call, plan, created);
	result = files_read(backup, &text);
	if (result == -ENOENT)
		return cli_fail(call, CLI_FAILED,
		    "%s is not connected: there is no %s", client->title,
		    backup);
	if (result != 0)
		return connect_failed(call, backup, result);
	connect_show(plan->path, plan->before, text);
	status = connect_ask(call, "Put it back so?");
	if (status != 0)
		goto out;
	result = files_replace(plan->path, text);
	if (result == 0 && unlink(backup) != 0)
		result = -errno;
	if (result != 0) {
		status = connect_failed(call, plan->path, result);
		goto out;
	}
	printf("%s is as it was\n", plan->path);
out:
	free(text);
	return status;
}

static int
connect_unknown(const struct cli_call *call, const char *name)
{
	const struct client *client = client_find(name);

	cli_fail(call, 0,
	    client != NULL
		? "%s cannot be connected for good yet; it is pointed "
		  "here by: %s"
		: "no client '%s'%s",
	    client != NULL ? client->title : name,
	    client != NULL ? client->variables : "");
	fprintf(stderr, "these can be connected:");
	for (size_t i = 0; i < n_clients; i++)
		if (clients[i].plan != NULL)
			fprintf(stderr, " %s", clients[i].name);
	fprintf(stderr, "\n");
	return CLI_USAGE;
}

static int
cmd_connect_run(const struct cli_call *call)
{
	const struct client *client = client_find(call->argv[0]);
	struct client_plan plan;
	char folder[PATH_MAX], base[ENDPOINT_BYTES];
	struct config *c = NULL;
	int status, result;

	if (client == NULL || client->plan == NULL)
		return connect_unknown(call, call->argv[0]);
	status = cli_config(call, &c);
	if (status != 0)
		return status;
	client_plan_init(&plan);
	endpoint_base(c, reading_project(call, folder, sizeof(folder)), base);
	result = client->plan(c, base, &plan);
	if (result != 0) {
		fwrite(buf_data(&plan.notes), 1, buf_len(&plan.notes), stderr);
		status = CLI_FAILED;
	} else if (cli_has(call, "undo")) {
		status = connect_undo(call, client, &plan);
	} else {
		status = connect_do(call, client, &plan);
	}
	client_plan_fini(&plan);
	config_free(c);
	return status;
}

static const struct cli_option connect_options[] = {
    {"undo", 0, NULL, "put the client's configuration back as it was"},
    {"yes", 'y', NULL, "agree to the change that is shown"},
    {"project", 0, "NAME",
	"tag the turns with this project; . for the folder's name"},
    {0},
};

const struct cli_command cli_command_connect = {
    .name = "connect",
    .synopsis = "CLIENT",
    .summary = "Point a client here for good, in its own configuration",
    .detail = "CLIENT is opencode, claude or codex. Shows the change, asks, "
	      "keeps the file as\n"
	      "it was as FILE.turnmeter-backup, and writes. Comments and all "
	      "that does not\n"
	      "change stay where they are. What cannot be changed safely is "
	      "printed, and left\n"
	      "alone.",
    .options = connect_options,
    .min_operands = 1,
    .max_operands = 1,
    .run = cmd_connect_run,
};
