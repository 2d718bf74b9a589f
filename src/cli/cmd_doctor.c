/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * doctor: is everything as it should be, and what to do where it is not.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "doctor.h"
#include "screen.h"

static const char *const doctor_words[] = {
    [DOCTOR_OK] = "ok",
    [DOCTOR_LOOK] = "look",
    [DOCTOR_BROKEN] = "broken",
};

void
doctor_say(struct doctor *d, const char *check, enum doctor_verdict verdict,
    const char *help, const char *format, ...)
{
	char text[2048];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (verdict == DOCTOR_BROKEN)
		d->is_broken = true;
	json_array_append_new(d->lines,
	    json_pack("{s:s, s:s, s:s, s:s?}", "check", check, "verdict",
		doctor_words[verdict], "text", text, "help", help));
}

static const char *
doctor_get(const json_t *line, const char *key)
{
	return json_string_value(json_object_get(line, key));
}

static void
doctor_print(const struct doctor *d)
{
	struct screen s;
	const char *before = "";
	json_t *line;
	size_t i;

	screen_init(&s);
	json_array_foreach(d->lines, i, line)
	{
		const char *check = doctor_get(line, "check");
		const char *verdict = doctor_get(line, "verdict");
		const char *help = doctor_get(line, "help");
		char first[64];

		snprintf(first, sizeof(first), "%-9s  %-6s ",
		    strcmp(check, before) == 0 ? "" : check, verdict);
		screen_words(&s,
		    strcmp(verdict, "broken") == 0 ? SCREEN_RED
		    : strcmp(verdict, "look") == 0 ? SCREEN_YELLOW
						   : SCREEN_PLAIN,
		    first, doctor_get(line, "text"));
		if (help != NULL)
			screen_words(
			    &s, SCREEN_PLAIN, "                  -> ", help);
		before = check;
	}
	screen_fini(&s);
}

static int
doctor_print_json(const struct doctor *d)
{
	json_t *line;
	size_t i;

	json_array_foreach(d->lines, i, line)
	{
		char *text = json_dumps(line, JSON_COMPACT);

		if (text == NULL || puts(text) < 0) {
			free(text);
			return CLI_FAILED;
		}
		free(text);
	}
	return fflush(stdout) == 0 ? CLI_DONE : CLI_FAILED;
}

static int
cmd_doctor_run(const struct cli_call *call)
{
	struct doctor d = {.is_offline = cli_has(call, "offline")};
	char base_url[256];
	int status = cli_has(call, "privacy")
			 ? reading_open(&d.reading, call, 0)
			 : reading_open_anyway(&d.reading, call, 0);

	if (status == 0 && d.reading.config == NULL)
		status = CLI_FAILED;
	if (status != 0)
		goto out;
	if (cli_has(call, "privacy")) {
		status = doctor_privacy(&d.reading);
		goto out;
	}
	reading_base_url(d.reading.config, base_url, sizeof(base_url));
	d.base_url = base_url;
	d.lines = json_array();
	for (size_t i = 0; i < n_doctor_checks; i++)
		doctor_checks[i].run(&d, doctor_checks[i].name);
	if (cli_has(call, "json"))
		status = doctor_print_json(&d);
	else
		doctor_print(&d);
	if (status == CLI_DONE && d.is_broken)
		status = CLI_FAILED;
out:
	json_decref(d.lines);
	reading_close(&d.reading);
	return status;
}

static const struct cli_option doctor_options[] = {
    {"offline", 0, NULL, "do not visit the upstreams"},
    {"privacy", 0, NULL, "show one row exactly as stored, and what never is"},
    {0},
};

const struct cli_command cli_command_doctor = {
    .name = "doctor",
    .synopsis = "",
    .summary = "Check daemon, database, upstreams and clients",
    .detail = "Upstreams are those of the configuration's own and of the last "
	      "30 days: a\n"
	      "connection with its TLS is made and closed, no request is sent. "
	      "Ends with 1\n"
	      "where something is broken.",
    .options = doctor_options,
    .groups = CLI_GROUP_JSON | CLI_GROUP_DB,
    .run = cmd_doctor_run,
};
