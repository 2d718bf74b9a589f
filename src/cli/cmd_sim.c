/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * sim: the simulated provider in the foreground, until SIGTERM or SIGINT.
 */
#include "command.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/port_file.h"
#include "sim/sim.h"

static const struct cli_option cmd_sim_options[] = {
    {"port", 0, "PORT", "listen on this port of 127.0.0.1; 0 for a free one"},
    {"port-file", 0, "FILE", "write the port to FILE once it listens"},
    {"ttft-ms", 0, "MS", "time to the first token (300)"},
    {"tps", 0, "N", "tokens a second; 0 for all at once (50)"},
    {"tokens", 0, "N", "output tokens, or the request's limit if lower (120)"},
    {"reasoning", 0, "PERCENT", "share of reasoning in the output (0)"},
    {"cached-percent", 0, "PERCENT",
	"share of the input read from cache (what was sent before)"},
    {"tool-calls", 0, "N",
	"every N-th answer calls a tool, if one is declared"},
    {"fail-every", 0, "N", "every N-th request is answered 429"},
    {0},
};

/* Leaves *VALUE_OUT as it is where the option was not given; false after a
 * complaint. */
static bool
cmd_sim_number(const struct cli_call *call, const char *name, double max,
    double *value_out)
{
	const char *text = cli_value(call, name);
	double value;
	char *end;

	if (text == NULL)
		return true;
	value = strtod(text, &end);
	if (end == text || *end != '\0' || !(value >= 0 && value <= max)) {
		cli_fail(call, 0, "--%s: '%s' is not a number from 0 to %.0f",
		    name, text, max);
		return false;
	}
	*value_out = value;
	return true;
}

static bool
cmd_sim_whole(const struct cli_call *call, const char *name, int64_t min,
    int64_t max, int64_t *value_out)
{
	double value = (double)*value_out;

	if (!cmd_sim_number(call, name, (double)max, &value))
		return false;
	if (cli_has(call, name) &&
	    (value < (double)min || rint(value) != value)) {
		cli_fail(call, 0, "--%s: a whole number from %lld on, please",
		    name, (long long)min);
		return false;
	}
	*value_out = (int64_t)value;
	return true;
}

static bool
cmd_sim_setup(const struct cli_call *call, struct sim_setup *setup)
{
	int64_t port = 0, reasoning, cached;

	sim_setup_default(setup);
	reasoning = setup->reasoning_percent;
	cached = setup->cached_percent;
	if (!cmd_sim_whole(call, "port", 0, 65535, &port) ||
	    !cmd_sim_whole(
		call, "ttft-ms", 0, SIM_TTFT_MS_MAX, &setup->ttft_ms) ||
	    !cmd_sim_number(call, "tps", SIM_TPS_MAX, &setup->tps) ||
	    !cmd_sim_whole(call, "tokens", 1, SIM_OUTPUT_TOKENS_MAX,
		&setup->n_output_tokens) ||
	    !cmd_sim_whole(call, "reasoning", 0, 100, &reasoning) ||
	    !cmd_sim_whole(call, "cached-percent", 0, 100, &cached) ||
	    !cmd_sim_whole(
		call, "tool-calls", 0, INT_MAX, &setup->tool_calls_every) ||
	    !cmd_sim_whole(call, "fail-every", 0, INT_MAX, &setup->fail_every))
		return false;
	setup->port = (int)port;
	setup->reasoning_percent = (int)reasoning;
	setup->cached_percent = (int)cached;
	return true;
}

static int
cmd_sim_run(const struct cli_call *call)
{
	const char *port_file = cli_value(call, "port-file");
	struct sim_setup setup;
	struct sim *sim;
	sigset_t signals;
	int r, number;

	if (!cmd_sim_setup(call, &setup))
		return CLI_USAGE;
	/* Before any thread, so that none but this one gets them. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	r = sim_start(&setup, &sim);
	if (r != 0)
		return cli_fail(call, CLI_FAILED, "127.0.0.1:%d: %s",
		    setup.port, strerror(-r));
	if (port_file != NULL)
		r = port_file_write(port_file, sim_port(sim));
	if (r != 0) {
		cli_fail(call, 0, "%s: %s", port_file, strerror(-r));
	} else {
		printf("listening 127.0.0.1:%d\n", sim_port(sim));
		fflush(stdout);
		sigwait(&signals, &number);
	}
	sim_stop(sim);
	return r == 0 ? CLI_DONE : CLI_FAILED;
}

const struct cli_command cli_command_sim = {
    .name = "sim",
    .synopsis = "",
    .summary = "Simulate a provider on loopback, for trying and testing",
    .detail =
	"Answers POST /v1/chat/completions (OpenAI) and POST /v1/messages\n"
	"(Anthropic), streamed or whole, with or without /v1; GET /v1/models.\n"
	"A request with the header x-sim-status: CODE (400 to 599) is "
	"answered\n"
	"with that status. The first line on stdout is `listening HOST:PORT`.",
    .options = cmd_sim_options,
    .run = cmd_sim_run,
};
