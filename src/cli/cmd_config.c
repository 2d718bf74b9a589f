/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * config: check the configuration, or show what is in force and why.
 *
 * `show` writes a file that would reproduce it, each value with its origin.
 * A line that had to be masked is a comment, so that the file still loads.
 */
#include "command.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "config/config.h"
#include "config/keys.h"

enum { CMD_CONFIG_COLUMN = 48 };

static const char cmd_config_mask[] = "********";

/* Whether the value must not be shown. A proxy without a user is no secret. */
static bool
cmd_config_is_masked(const struct config_setting *s)
{
	if (!s->key->is_secret)
		return false;
	if (s->key->type != CONFIG_TYPE_PROXY)
		return true;
	return s->n_items > 0 && strchr(s->items[0], '@') != NULL;
}

/* As a quoted text of the file's syntax, in which ${X} is a variable. */
static int
cmd_config_quote(FILE *out, const char *text)
{
	int n = 2;

	fputc('"', out);
	for (const char *c = text; *c != '\0'; c++, n++) {
		if (*c == '"' || *c == '\\' || *c == '$') {
			fputc('\\', out);
			n++;
		}
		fputc(*c, out);
	}
	fputc('"', out);
	return n;
}

static void
cmd_config_print(FILE *out, const struct config_setting *s)
{
	bool is_masked = cmd_config_is_masked(s);
	int n = fprintf(out, "%s%s%s = ", s->title != NULL ? "\t" : "",
	    is_masked ? "# " : "", s->key->name);

	if (s->title != NULL)
		n += 7;
	if (s->key->is_list)
		n += fprintf(out, "{");
	for (size_t i = 0; i < s->n_items; i++) {
		if (i > 0)
			n += fprintf(out, ", ");
		n += cmd_config_quote(
		    out, is_masked ? cmd_config_mask : s->items[i]);
	}
	if (s->key->is_list)
		n += fprintf(out, "}");
	fprintf(out, "%*s # %s%s\n",
	    n < CMD_CONFIG_COLUMN ? CMD_CONFIG_COLUMN - n : 0, "", s->origin,
	    is_masked ? ", masked" : "");
}

/* The top's keys that nothing sets, as comments. */
static void
cmd_config_print_unset(
    FILE *out, const struct config_setting *settings, size_t n)
{
	for (size_t i = 0; i < n_config_keys; i++) {
		const struct config_key *k = &config_keys[i];
		bool is_set = k->section != CONFIG_TOP;

		for (size_t j = 0; j < n && !is_set; j++)
			is_set = settings[j].key == k;
		if (!is_set)
			fprintf(out, "# %s: %s\n", k->name, k->fallback);
	}
}

static bool
cmd_config_is_same_section(
    const struct config_setting *a, const struct config_setting *b)
{
	return a->key->section == b->key->section && a->title != NULL &&
	       b->title != NULL && strcmp(a->title, b->title) == 0;
}

static void
cmd_config_show_file(FILE *out, const struct config *c)
{
	size_t n;
	const struct config_setting *s = config_settings(c, &n);
	const struct config_setting *open = NULL;

	for (size_t i = 0; i < c->n_files; i++)
		fprintf(out, "# read: %s\n", c->files[i]);
	if (c->n_files == 0)
		fprintf(out, "# no file read\n");
	for (size_t i = 0; i < n; i++) {
		if (s[i].title == NULL) {
			cmd_config_print(out, &s[i]);
			continue;
		}
		if (open == NULL)
			cmd_config_print_unset(out, s, n);
		if (open == NULL || !cmd_config_is_same_section(open, &s[i])) {
			fprintf(out, "%s\n%s ", open != NULL ? "}\n" : "",
			    config_section_name(s[i].key->section));
			cmd_config_quote(out, s[i].title);
			fprintf(out, " {\n");
			open = &s[i];
		}
		if (strcmp(s[i].origin, "default") != 0)
			cmd_config_print(out, &s[i]);
	}
	if (open != NULL)
		fprintf(out, "}\n");
}

static json_t *
cmd_config_value(const struct config_setting *s)
{
	json_t *list;

	if (cmd_config_is_masked(s))
		return json_string(cmd_config_mask);
	if (!s->key->is_list)
		return json_string(s->items[0]);
	list = json_array();
	for (size_t i = 0; i < s->n_items; i++)
		json_array_append_new(list, json_string(s->items[i]));
	return list;
}

static void
cmd_config_show_json(FILE *out, const struct config *c)
{
	size_t n;
	const struct config_setting *s = config_settings(c, &n);

	for (size_t i = 0; i < n; i++) {
		enum config_section section = s[i].key->section;
		json_t *line = json_pack("{s:s?, s:s?, s:s, s:o, s:s, s:b}",
		    "section",
		    section == CONFIG_TOP ? NULL : config_section_name(section),
		    "title", s[i].title, "key", s[i].key->name, "value",
		    cmd_config_value(&s[i]), "origin", s[i].origin, "reloads",
		    s[i].key->reloads);

		if (line == NULL)
			continue;
		json_dumpf(line, out, JSON_COMPACT);
		fputc('\n', out);
		json_decref(line);
	}
}

static void
cmd_config_check(FILE *out, const struct config *c)
{
	size_t n_user = 0;

	for (size_t i = 0; i < c->n_files; i++)
		fprintf(out, "read   %s\n", c->files[i]);
	if (c->n_files == 0)
		fprintf(out, "read   no file: defaults and presets\n");
	while (n_user < c->n_upstreams && !c->upstreams[n_user].is_preset)
		n_user++;
	fprintf(out, "listen %s%s\n", c->listen,
	    c->token != NULL ? ", token needed" : "");
	fprintf(out, "store  %s\n", c->database);
	fprintf(out, "routes %zu of yours, %zu presets\n", n_user,
	    c->n_upstreams - n_user);
	fprintf(out, "The configuration is sound.\n");
}

static int
cmd_config_run(const struct cli_call *call)
{
	const char *verb = call->argv[0];
	bool is_show = strcmp(verb, "show") == 0;
	struct config *c;
	int status;

	if (!is_show && strcmp(verb, "check") != 0)
		return cli_fail(call, CLI_USAGE,
		    "'%s' is neither check nor show (see --help)", verb);
	status = cli_config(call, &c);
	if (status != 0)
		return status;
	if (!is_show)
		cmd_config_check(stdout, c);
	else if (cli_has(call, "json"))
		cmd_config_show_json(stdout, c);
	else
		cmd_config_show_file(stdout, c);
	config_free(c);
	return CLI_DONE;
}

const struct cli_command cli_command_config = {
    .name = "config",
    .synopsis = "check|show",
    .summary = "Check the configuration, or show what is in force",
    .detail = "check reads the files, the variables and --set, and lists "
	      "every problem.\n"
	      "show writes the configuration in force as a file that would "
	      "reproduce it, each\n"
	      "value with its origin. Secrets are masked.",
    .groups = CLI_GROUP_JSON,
    .min_operands = 1,
    .max_operands = 1,
    .run = cmd_config_run,
};
