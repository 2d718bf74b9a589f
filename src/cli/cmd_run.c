/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * run: a client, once, with its base URLs pointing here.
 *
 * The command takes this process's place, so its signals, terminal and exit
 * status are its own. A daemon that is not there is started first: this
 * program as `serve`, in a session of its own, its messages in the state
 * folder, and it stays when the client ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "command.h"
#include "config/config.h"
#include "endpoint.h"
#include "environ.h"
#include "files.h"
#include "follow.h"
#include "reading.h"

enum {
	RUN_HEALTH_MS = 1000,
	RUN_START_MS = 5000,
	RUN_PAUSE_MS = 25,
	RUN_ARGS_MAX = 64,
	RUN_LOG_BYTES = 2048,
	RUN_NOT_FOUND = 127,
	RUN_NOT_RUN = 126
};

/* The daemon's messages, beside the database. */
static void
run_log_path(const struct config *c, char out[FILES_PATH_BYTES])
{
	const char *slash = strrchr(c->database, '/');

	snprintf(out, FILES_PATH_BYTES, "%.*s/serve.log",
	    slash != NULL ? (int)(slash - c->database) : 1,
	    slash != NULL ? c->database : ".");
}

static void
run_make_folder(const char *path)
{
	char folder[FILES_PATH_BYTES];

	snprintf(folder, sizeof(folder), "%s", path);
	for (char *p = strchr(folder + 1, '/'); p != NULL;
	     p = strchr(p + 1, '/')) {
		*p = '\0';
		(void)mkdir(folder, 0700);
		*p = '/';
	}
}

/* What the daemon that did not come up has said: LOG from byte START on. */
static void
run_show_log(int log, off_t start)
{
	char text[RUN_LOG_BYTES];
	ssize_t n = pread(log, text, sizeof(text), start);

	if (n > 0)
		fwrite(text, 1, (size_t)n, stderr);
}

/* Never returns: in the child of a child, the daemon. */
static void
run_become_daemon(const struct cli_call *call, int log)
{
	const char *args[RUN_ARGS_MAX] = {"turnmeter", "serve"};
	char program[PATH_MAX];
	ssize_t length;
	size_t n = 2;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (size_t i = 0; i < call->n_values && n + 3 < RUN_ARGS_MAX; i++) {
		if (strcmp(call->names[i], "config") == 0)
			args[n++] = "--config";
		else if (strcmp(call->names[i], "set") == 0)
			args[n++] = "--set";
		else
			continue;
		args[n++] = call->values[i];
	}
	args[n] = NULL;
	if (null < 0 || dup2(null, 0) < 0 || dup2(log, 1) < 0 ||
	    dup2(log, 2) < 0)
		_exit(RUN_NOT_RUN);
	/* By its path, so that it has its name in ps; by the link where the
	 * file was replaced meanwhile. */
	length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	if (length > 0) {
		program[length] = '\0';
		execv(program, (char *const *)(uintptr_t)args);
	}
	execv("/proc/self/exe", (char *const *)(uintptr_t)args);
	_exit(RUN_NOT_RUN);
}

/* A daemon that is nobody's child. 0 or -errno. */
static int
run_fork_daemon(const struct cli_call *call, int log)
{
	pid_t pid = fork();
	int state;

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		setsid();
		pid = fork();
		if (pid == 0)
			run_become_daemon(call, log);
		_exit(pid > 0 ? 0 : RUN_NOT_RUN);
	}
	while (waitpid(pid, &state, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(state) && WEXITSTATUS(state) == 0 ? 0 : -EAGAIN;
}

static bool
run_is_up(const char *base_url, const struct config *c)
{
	char reason[256];
	json_t *health = follow_get(base_url, c->token, "health", RUN_HEALTH_MS,
	    reason, sizeof(reason));

	json_decref(health);
	return health != NULL;
}

/* Whether a daemon answers within the time that a start may take. */
static bool
run_await(const char *base_url, const struct config *c)
{
	const struct timespec pause = {0, RUN_PAUSE_MS * 1000000};
	int64_t until = clock_now_ns() + (int64_t)RUN_START_MS * 1000000;

	while (clock_now_ns() < until) {
		if (run_is_up(base_url, c))
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

/* 0, or an exit status. */
static int
run_ensure_daemon(const struct cli_call *call, const struct config *c)
{
	char base_url[256], path[FILES_PATH_BYTES];
	int log, result, status = 0;
	off_t start;

	reading_base_url(c, base_url, sizeof(base_url));
	if (run_is_up(base_url, c))
		return 0;
	run_log_path(c, path);
	run_make_folder(path);
	log = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (log < 0)
		return cli_fail(call, CLI_FAILED,
		    "no daemon can be started: %s: %s", path, strerror(errno));
	start = lseek(log, 0, SEEK_END);
	result = run_fork_daemon(call, log);
	if (result != 0) {
		status = cli_fail(call, CLI_FAILED,
		    "no daemon can be started: %s", strerror(-result));
	} else if (run_await(base_url, c)) {
		fprintf(stderr,
		    "turnmeter: started a daemon on %s; it stays, its "
		    "messages are in %s\n",
		    c->listen, path);
	} else {
		status = cli_fail(call, CLI_UNREACHABLE,
		    "the daemon that was started does not answer at %s; it "
		    "said (%s):",
		    c->listen, path);
		run_show_log(log, start);
	}
	close(log);
	return status;
}

/* Whether the command line of a Codex sets its base URL itself. */
static bool
run_has_override(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strstr(argv[i], "base_url=") != NULL ||
		    strstr(argv[i], "model_provider=") != NULL)
			return true;
	return false;
}

/* The command with "-c KEY=VALUE" behind its name where it is Codex; a
 * malloc'd array. */
static char **
run_arguments(const struct cli_call *call, const struct config *c,
    const char *base, struct client_plan *plan)
{
	char **args = calloc((size_t)call->argc + 3, sizeof(*args));
	const char *name = strrchr(call->argv[0], '/');
	char *override = NULL;
	int n = 0;

	if (args == NULL)
		return NULL;
	name = name != NULL ? name + 1 : call->argv[0];
	if (strcmp(name, "codex") == 0 &&
	    !run_has_override(call->argc, call->argv))
		override = codex_override(c, base, plan);
	args[n++] = call->argv[0];
	if (override != NULL) {
		args[n++] = strdup("-c");
		args[n++] = override;
	}
	for (int i = 1; i < call->argc; i++)
		args[n++] = call->argv[i];
	return args;
}

static int
run_command(const struct cli_call *call, const struct config *c)
{
	char folder[PATH_MAX], base[ENDPOINT_BYTES];
	const char *project = reading_project(call, folder, sizeof(folder));
	struct environ e;
	char **args;
	int error;

	endpoint_base(c, project, base);
	if (environ_make(&e, c, project) != 0)
		return cli_fail(call, CLI_FAILED, "no memory");
	args = run_arguments(call, c, base, &e.plan);
	if (args == NULL)
		return cli_fail(call, CLI_FAILED, "no memory");
	for (size_t i = 0; i < e.n; i++)
		setenv(e.variables[i].name, e.variables[i].value, 1);
	fwrite(buf_data(&e.plan.notes), 1, buf_len(&e.plan.notes), stderr);
	fflush(NULL);
	execvp(args[0], args);
	error = errno;
	cli_fail(call, 0, "%s: %s", args[0], strerror(error));
	free(args);
	environ_fini(&e);
	return error == ENOENT ? RUN_NOT_FOUND : RUN_NOT_RUN;
}

static int
cmd_run_run(const struct cli_call *call)
{
	struct config *c = NULL;
	int status = cli_config(call, &c);

	if (status != 0)
		return status;
	status = run_ensure_daemon(call, c);
	if (status == 0)
		status = run_command(call, c);
	config_free(c);
	return status;
}

static const struct cli_option run_options[] = {
    {"project", 0, "NAME",
	"tag the turns with this project; . for the folder's name"},
    {0},
};

const struct cli_command cli_command_run = {
    .name = "run",
    .synopsis = "[--] COMMAND [ARGUMENT...]",
    .summary = "Run a client with its base URLs pointing here",
    .detail =
	"    turnmeter run -- opencode\n"
	"    turnmeter run --project shop -- claude -p 'fix the test'\n"
	"\n"
	"Starts a daemon where none listens; it stays. The exit status is "
	"the command's;\n"
	"127 where it is not found, 126 where it cannot be run.",
    .options = run_options,
    .takes_rest = true,
    .min_operands = 1,
    .max_operands = -1,
    .run = cmd_run_run,
};
