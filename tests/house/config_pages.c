/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * config_pages: what the documentation says about configuration keys, made
 * from their table.
 *
 *   config_pages example   the whole of etc/turnmeter.conf.example
 *   config_pages man       the lists of keys in docs/man/turnmeter.conf.5
 *
 * tests/house/test_pages.py holds the files against this. In the example a
 * setting is a comment without a space behind its sign, prose one with.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config/keys.h"

enum { PAGES_COLUMNS = 76 };

static const char *const pages_titles[] = {[CONFIG_TOP] = "",
    [CONFIG_UPSTREAM] = "mine",
    [CONFIG_LIMIT] = "\"cerebras/qwen-3.8-27b\"",
    [CONFIG_PRICE] = "\"cerebras/qwen-3.8-27b\"",
    [CONFIG_PLAN] = "claude",
    [CONFIG_BUDGET] = "monthly",
    [CONFIG_ALERT] = "desk"};

static const char *const pages_intros[] = {
    [CONFIG_TOP] = "",
    [CONFIG_UPSTREAM] =
	"One provider endpoint, reached under /mine/. A section with the name "
	"of a preset overrides single keys of it; `turnmeter config show` "
	"lists the presets.",
    [CONFIG_LIMIT] =
	"What a provider admits, for \"UPSTREAM/MODEL\" or \"UPSTREAM\". A "
	"rate is a count and a window: 450/min, 5/10s, 1000000/day; a list "
	"of them holds together.",
    [CONFIG_PRICE] = "A price of your own, for \"PROVIDER/MODEL\".",
    [CONFIG_PLAN] = "A subscription: its turns have a value and no cost.",
    [CONFIG_BUDGET] = "What may be spent.",
    [CONFIG_ALERT] = "Who is told what.",
};

static void
pages_number(enum config_type type, int64_t n, char *out, size_t n_out)
{
	static const struct {
		enum config_type type;
		int64_t size;
		const char *unit;
	} units[] = {{CONFIG_TYPE_DURATION, 3600000, "h"},
	    {CONFIG_TYPE_DURATION, 60000, "m"},
	    {CONFIG_TYPE_DURATION, 1000, "s"}, {CONFIG_TYPE_DURATION, 1, "ms"},
	    {CONFIG_TYPE_SIZE, INT64_C(1) << 30, "G"},
	    {CONFIG_TYPE_SIZE, INT64_C(1) << 20, "M"},
	    {CONFIG_TYPE_SIZE, INT64_C(1) << 10, "K"}};

	snprintf(out, n_out, "%" PRId64, n);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (units[i].type == type && n > 0 && n % units[i].size == 0) {
			snprintf(out, n_out, "%" PRId64 "%s", n / units[i].size,
			    units[i].unit);
			return;
		}
}

/* "Default: 1h. Range: 1s to 168h. Takes effect at the next start." */
static void
pages_facts(
    const struct config_key *k, const char *separator, char *out, size_t n_out)
{
	char min[32], max[32];
	size_t n = 0;

	if (k->is_required)
		n += (size_t)snprintf(out, n_out, "Needed.");
	else if (k->initial != NULL)
		n += (size_t)snprintf(out, n_out, "Default: %s.", k->initial);
	else
		n += (size_t)snprintf(out, n_out, "Unset: %s.", k->fallback);
	if (k->min != 0 || k->max != 0) {
		pages_number(k->type, k->min, min, sizeof(min));
		pages_number(k->type, k->max, max, sizeof(max));
		n += (size_t)snprintf(out + n, n_out - n, "%sRange: %s to %s.",
		    separator, min, max);
	}
	if (k->choices != NULL) {
		n += (size_t)snprintf(
		    out + n, n_out - n, "%sOne of:", separator);
		for (size_t i = 0; k->choices[i] != NULL; i++)
			n += (size_t)snprintf(out + n, n_out - n, "%s %s",
			    i > 0 ? "," : "", k->choices[i]);
		n += (size_t)snprintf(out + n, n_out - n, ".");
	}
	if (!k->reloads)
		snprintf(out + n, n_out - n,
		    "%sA change takes effect at the next start.", separator);
}

/* Words of TEXT, wrapped, each line with PREFIX in front. */
static void
pages_wrap(const char *prefix, const char *text)
{
	size_t column = 0;

	while (*text != '\0') {
		size_t n = strcspn(text, " ");

		if (column > 0 && column + 1 + n > PAGES_COLUMNS) {
			putchar('\n');
			column = 0;
		}
		column += (size_t)printf(
		    "%s%.*s", column == 0 ? prefix : " ", (int)n, text);
		text += n;
		text += strspn(text, " ");
	}
	putchar('\n');
}

static void
pages_example_key(const struct config_key *k)
{
	const char *value = k->initial != NULL ? k->initial : k->example;
	const char *indent = k->section == CONFIG_TOP ? "" : "\t";
	const char *prefix = k->section == CONFIG_TOP ? "# " : "#  ";
	char facts[512], text[1024];

	pages_facts(k, " ", facts, sizeof(facts));
	snprintf(text, sizeof(text), "%s. %s", k->help, facts);
	pages_wrap(prefix, text);
	printf(k->is_list ? "#%s%s = {\"%s\"}\n" : "#%s%s = \"%s\"\n", indent,
	    k->name, value);
	if (k->section == CONFIG_TOP)
		putchar('\n');
}

static void
pages_example(void)
{
	pages_wrap("# ",
	    "turnmeter.conf: every key with its default or an example. See "
	    "turnmeter.conf(5). Durations take the units ms, s, m, h, d "
	    "(plain: seconds); sizes B, K, M, G (powers of 1024). In double "
	    "quotes ${NAME} is a variable of the environment.");
	printf("#\n");
	pages_wrap("# ",
	    "Place: /etc/turnmeter/turnmeter.conf, then "
	    "~/.config/turnmeter/turnmeter.conf. Check: turnmeter config "
	    "check.");
	putchar('\n');
	for (int s = CONFIG_TOP; s < CONFIG_SECTION_COUNT; s++) {
		if (s != CONFIG_TOP) {
			printf("\n");
			pages_wrap("# ", pages_intros[s]);
			printf("#%s %s {\n", config_section_name(s),
			    pages_titles[s]);
		}
		for (size_t i = 0; i < n_config_keys; i++)
			if (config_keys[i].section == (enum config_section)s)
				pages_example_key(&config_keys[i]);
		if (s != CONFIG_TOP)
			printf("#}\n");
	}
}

static void
pages_man_key(const struct config_key *k)
{
	char facts[512];

	printf(".It Ic %s Pq %s%s\n", k->name, config_type_name(k->type),
	    k->is_list ? "s" : "");
	printf("%s.\n", k->help);
	pages_facts(k, "\n", facts, sizeof(facts));
	printf("%s\n", facts);
}

static void
pages_man(void)
{
	for (int s = CONFIG_TOP; s < CONFIG_SECTION_COUNT; s++) {
		if (s == CONFIG_TOP)
			printf(".Ss Outside sections\n");
		else
			printf(".Ss Section %s\n", config_section_name(s));
		if (s != CONFIG_TOP)
			printf("%s\n", pages_intros[s]);
		printf(".Bl -tag -width Ds\n");
		for (size_t i = 0; i < n_config_keys; i++)
			if (config_keys[i].section == (enum config_section)s)
				pages_man_key(&config_keys[i]);
		printf(".El\n");
	}
}

int
main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "example") == 0)
		pages_example();
	else if (argc == 2 && strcmp(argv[1], "man") == 0)
		pages_man();
	else
		return 2;
	return 0;
}
