/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * serve: the daemon in the foreground.
 */
#include <stddef.h>
#include <string.h>

#include "command.h"
#include "config/config.h"
#include "daemon/daemon.h"

static int
cmd_serve_run(const struct cli_call *call)
{
	struct config *config = NULL;
	struct config_source source;
	const char *settings[CLI_VALUES_MAX];
	int status = cli_config(call, &config);

	if (status != 0)
		return status;
	cli_config_source(call, &source, settings);
	if (daemon_serve(&(struct daemon_setup){.config = &config,
		.source = &source,
		.port_file = cli_value(call, "port-file")}) < 0)
		return CLI_FAILED;
	return CLI_DONE;
}

static const struct cli_option cmd_serve_options[] = {
    {"port-file", 0, "FILE", "write the port there once ready"},
    {0},
};

const struct cli_command cli_command_serve = {
    .name = "serve",
    .synopsis = "",
    .summary = "Relay, meter and record until stopped",
    .detail =
	"SIGTERM or SIGINT: no new requests, answers under way may end within\n"
	"shutdown_grace; a second one ends them at once and records them as\n"
	"interrupted. SIGHUP: reads the configuration again; a file with\n"
	"mistakes leaves the old one in force.",
    .options = cmd_serve_options,
    .run = cmd_serve_run,
};
