/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * The sources of a configuration: presets, files, environment, command line.
 *
 * Files are read by libconfuse, with its option tables made from config_keys.
 * Every option is a text there; a callback notes it with its line, and the
 * types are checked afterwards, for all sources alike. Four of its habits are
 * worked around:
 *
 * - It stops at the first unknown key. A file is read again with that key
 *   known as one to skip, so that all of them are listed.
 * - It has no pointer for its callbacks: sources_reading is that pointer.
 *   libconfuse keeps its scanner in globals anyway, so that only one thread of
 *   the process may read a configuration at a time.
 * - It takes the end of the file for the end of a section or comment. A last
 * key of our own, behind the file's text, must be reached at the top.
 * - The scanner's state outlives a file that ends within a quoted text or a
 *   comment, and would swallow the next file: see sources_reset_scanner().
 */
#include "draft.h"

#include <confuse.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "presets.h"

/* No file has it by chance. */
#define SOURCES_END "\001end"

enum { SOURCES_UNKNOWN_MAX = 20, SOURCES_KEYS_MAX = 48 };

/* An unknown key to skip. */
struct sources_unknown {
	enum config_section section;
	const char *name;
};

/* One key or section as found in a file. */
struct sources_note {
	const struct config_key *key; /* NULL: a section that opens */
	enum config_section section;
	const char *title;
	const char *value;
	bool is_appended;
	int line;
};

struct sources_reading {
	struct draft *draft;
	const char *path;
	int source;
	struct sources_unknown unknown[SOURCES_UNKNOWN_MAX];
	size_t n_unknown;
	bool is_again;  /* an unknown key was met: read once more */
	bool has_ended; /* SOURCES_END was reached at the top */
	struct sources_note *notes;
	size_t n_notes;
};

static struct sources_reading *sources_reading;

void
draft_read_presets(struct draft *d)
{
	static const struct draft_origin none = {0, 0, "preset"};

	for (size_t i = 0; i < n_presets; i++) {
		const struct preset *p = &presets[i];
		const char *const values[][2] = {{"url", p->url},
		    {"protocol", p->protocol}, {"version", p->version},
		    {"price_provider", p->price_provider}};

		draft_open(d, CONFIG_UPSTREAM, p->name, &none, false);
		for (size_t k = 0; k < sizeof(values) / sizeof(values[0]); k++)
			if (values[k][1] != NULL)
				draft_set(d,
				    config_key_find(CONFIG_UPSTREAM,
					values[k][0], strlen(values[k][0])),
				    p->name, values[k][1], false, &none);
	}
}

static struct draft_origin
sources_origin(const struct sources_reading *r, int line)
{
	struct draft_origin o = {r->source, line, NULL};

	o.text = line > 0 ? draft_printf(r->draft, "%s:%d", r->path, line)
			  : r->path;
	return o;
}

static enum config_section
sources_section(cfg_t *cfg)
{
	for (int s = CONFIG_TOP + 1; s < CONFIG_SECTION_COUNT; s++)
		if (strcmp(cfg_name(cfg), config_section_name(s)) == 0)
			return s;
	return CONFIG_TOP;
}

static void
sources_note(struct sources_reading *r, struct sources_note note)
{
	struct sources_note *grown = realloc(
	    r->notes, (r->n_notes + 1) * sizeof(*grown));

	if (grown == NULL) {
		r->draft->is_out_of_memory = true;
		return;
	}
	r->notes = grown;
	r->notes[r->n_notes++] = note;
}

static int
sources_on_value(cfg_t *cfg, cfg_opt_t *opt, const char *value, void *result)
{
	struct sources_reading *r = sources_reading;
	enum config_section section = sources_section(cfg);

	*(const char **)result = value;
	sources_note(r,
	    (struct sources_note){
		.key = config_key_find(
		    section, cfg_opt_name(opt), strlen(cfg_opt_name(opt))),
		.section = section,
		.title = section == CONFIG_TOP
			     ? NULL
			     : draft_printf(r->draft, "%s", cfg_title(cfg)),
		.value = draft_printf(r->draft, "%s", value),
		/* the values of one `=` or `+=` have grown the list by now */
		.is_appended = cfg_opt_size(opt) > 1,
		.line = cfg->line});
	return 0;
}

static int
sources_on_unknown(cfg_t *cfg, cfg_opt_t *opt, const char *value, void *result)
{
	(void)cfg;
	(void)opt;
	*(const char **)result = value;
	return 0;
}

/* At the closing brace. */
static int
sources_on_section(cfg_t *cfg, cfg_opt_t *opt)
{
	cfg_t *section = cfg_opt_getnsec(opt, cfg_opt_size(opt) - 1);

	sources_note(sources_reading,
	    (struct sources_note){.section = sources_section(section),
		.title = draft_printf(
		    sources_reading->draft, "%s", cfg_title(section)),
		.line = cfg->line});
	return 0;
}

static int
sources_on_end(cfg_t *cfg, cfg_opt_t *opt, const char *value, void *result)
{
	(void)cfg;
	(void)opt;
	*(const char **)result = value;
	sources_reading->has_ended = true;
	return 0;
}

static bool
sources_is_unknown(const struct sources_reading *r, const char *name)
{
	for (size_t i = 0; i < r->n_unknown; i++)
		if (strcmp(r->unknown[i].name, name) == 0)
			return true;
	return false;
}

static void __attribute__((format(printf, 2, 0), nonnull))
sources_on_error(cfg_t *cfg, const char *format, va_list args)
{
	struct sources_reading *r = sources_reading;
	struct draft_origin origin = sources_origin(r, cfg->line);
	const char *name;
	char text[512];
	va_list again;

	if (strcmp(format, "no such option '%s'") != 0) {
		va_copy(again, args);
		vsnprintf(text, sizeof(text), format, again);
		va_end(again);
		/* an unknown section ends the reading; it has been told */
		if (strcmp(format, "missing equal sign after option '%s'") !=
			0 ||
		    !sources_is_unknown(r, va_arg(args, const char *)))
			draft_problem(r->draft, &origin, "%s", text);
		return;
	}
	name = draft_printf(r->draft, "%s", va_arg(args, const char *));
	if (name != NULL && strcmp(name, SOURCES_END) == 0) {
		r->has_ended = true;
		draft_problem(r->draft, &origin,
		    "premature end of file: the section %s is not closed",
		    cfg_name(cfg));
		return;
	}
	if (sources_section(cfg) == CONFIG_TOP)
		draft_problem(r->draft, &origin, "unknown key '%s'", name);
	else
		draft_problem(r->draft, &origin,
		    "unknown key '%s' in the section %s", name, cfg_name(cfg));
	if (r->n_unknown < SOURCES_UNKNOWN_MAX && name != NULL) {
		r->unknown[r->n_unknown++] = (struct sources_unknown){
		    .section = sources_section(cfg), .name = name};
		r->is_again = true;
	}
}

/* The option table of one section; OPTIONS has room for SOURCES_KEYS_MAX. */
static size_t
sources_options(const struct sources_reading *r, enum config_section section,
    cfg_opt_t *options)
{
	size_t n = 0;

	for (size_t i = 0; i < n_config_keys && n < SOURCES_KEYS_MAX; i++) {
		const struct config_key *k = &config_keys[i];
		cfg_opt_t one = CFG_STR_CB(
		    k->name, NULL, CFGF_NODEFAULT, sources_on_value);
		cfg_opt_t list = CFG_STR_LIST_CB(
		    k->name, NULL, CFGF_NODEFAULT, sources_on_value);

		if (k->section == section)
			options[n++] = k->is_list ? list : one;
	}
	for (size_t i = 0; i < r->n_unknown && n < SOURCES_KEYS_MAX; i++) {
		cfg_opt_t skip = CFG_STR_LIST_CB(r->unknown[i].name, NULL,
		    CFGF_NODEFAULT, sources_on_unknown);

		if (r->unknown[i].section == section)
			options[n++] = skip;
	}
	return n;
}

/* NULL without memory. */
static cfg_t *
sources_new_cfg(const struct sources_reading *r)
{
	cfg_opt_t options[CONFIG_SECTION_COUNT]
			 [SOURCES_KEYS_MAX + CONFIG_SECTION_COUNT + 2];
	cfg_opt_t *top = options[CONFIG_TOP];
	size_t n_top = sources_options(r, CONFIG_TOP, top);
	cfg_opt_t last = CFG_STR_CB(
	    SOURCES_END, NULL, CFGF_NODEFAULT, sources_on_end);
	cfg_t *cfg;

	for (int s = CONFIG_TOP + 1; s < CONFIG_SECTION_COUNT; s++) {
		cfg_opt_t section = CFG_SEC(config_section_name(s), options[s],
		    CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES);
		cfg_opt_t end = CFG_END();

		options[s][sources_options(r, s, options[s])] = end;
		section.validcb = sources_on_section;
		top[n_top++] = section;
	}
	top[n_top++] = last;
	top[n_top] = (cfg_opt_t)CFG_END();
	cfg = cfg_init(top, CFGF_NONE);
	if (cfg != NULL)
		cfg_set_error_function(cfg, sources_on_error);
	return cfg;
}

static void
sources_on_probe_error(cfg_t *cfg, const char *format, va_list args)
{
	(void)cfg;
	(void)format;
	(void)args;
}

/* Whether libconfuse reads PROBE, an assignment to x, as one. */
static bool
sources_probe_scanner(const char *probe)
{
	cfg_opt_t options[] = {CFG_STR("x", NULL, CFGF_NODEFAULT), CFG_END()};
	cfg_t *cfg = cfg_init(options, CFGF_NONE);
	const char *value;
	bool is_read;

	if (cfg == NULL)
		return false;
	cfg_set_error_function(cfg, sources_on_probe_error);
	is_read = cfg_parse_buf(cfg, probe) == CFG_SUCCESS;
	value = is_read ? cfg_getstr(cfg, "x") : NULL;
	is_read = value != NULL && strcmp(value, "1") == 0;
	cfg_free(cfg);
	return is_read;
}

/* Ends whatever a broken file has left open: a comment, a text in single or
 * double quotes. */
static void
sources_reset_scanner(void)
{
	static const char *const closers[] = {"*/\n", "'\n", "\"\n"};

	for (size_t i = 0; i < 3 && !sources_probe_scanner("x = 1\n"); i++)
		sources_probe_scanner(closers[i]);
}

/* A list set to {} calls no callback. */
static void
sources_note_empty_lists(struct sources_reading *r, cfg_t *cfg)
{
	for (size_t i = 0; i < n_config_keys; i++) {
		const struct config_key *k = &config_keys[i];
		cfg_opt_t *opt;

		if (k->section != CONFIG_TOP || !k->is_list)
			continue;
		opt = cfg_getopt(cfg, k->name);
		if (opt != NULL && cfg_opt_size(opt) == 0 &&
		    (opt->flags & CFGF_MODIFIED) != 0)
			sources_note(
			    r, (struct sources_note){
				   .key = k, .section = CONFIG_TOP, .line = 1});
	}
}

static void
sources_commit(struct sources_reading *r)
{
	for (size_t i = 0; i < r->n_notes; i++) {
		const struct sources_note *n = &r->notes[i];
		struct draft_origin origin = sources_origin(r, n->line);

		if (n->section != CONFIG_TOP && n->title != NULL)
			draft_open(
			    r->draft, n->section, n->title, &origin, true);
		if (n->key != NULL)
			draft_set(r->draft, n->key, n->title, n->value,
			    n->is_appended, &origin);
	}
}

static void
sources_check_end(struct sources_reading *r, cfg_t *cfg)
{
	struct draft_origin origin = sources_origin(r, cfg->line);

	if (!r->has_ended)
		draft_problem(r->draft, &origin,
		    "premature end of file: a comment is not closed");
}

static void
sources_parse(struct sources_reading *r, const char *text)
{
	sources_reading = r;
	do {
		cfg_t *cfg;

		r->is_again = false;
		r->has_ended = false;
		r->n_notes = 0;
		sources_reset_scanner();
		cfg = sources_new_cfg(r);
		if (cfg == NULL) {
			r->draft->is_out_of_memory = true;
			break;
		}
		if (cfg_parse_buf(cfg, text) == CFG_SUCCESS) {
			sources_note_empty_lists(r, cfg);
			sources_check_end(r, cfg);
		}
		cfg_free(cfg);
	} while (r->is_again);
	sources_reading = NULL;
	sources_commit(r);
}

/* The whole file with SOURCES_END and a NUL behind, malloc'd; NULL with *WHY_OUT. libconfuse
 * reads a text of ours, because its scanner ends the process on a read error
 * (a directory, say). */
static char *
sources_slurp(const char *path, const char **why_out)
{
	static const char end[] = "\n" SOURCES_END " = 1\n";
	char *text = NULL;
	FILE *f = fopen(path, "re");
	size_t n;

	if (f == NULL) {
		*why_out = strerror(errno);
		return NULL;
	}
	text = malloc(DRAFT_FILE_BYTES_MAX + sizeof(end));
	errno = 0;
	n = text != NULL ? fread(text, 1, DRAFT_FILE_BYTES_MAX + 1, f) : 0;
	*why_out = NULL;
	if (text == NULL || ferror(f) != 0)
		*why_out = strerror(errno);
	else if (n > DRAFT_FILE_BYTES_MAX)
		*why_out = "it is larger than 1 MiB";
	else if (memchr(text, '\0', n) != NULL)
		*why_out = "it holds a NUL byte";
	else
		memcpy(text + n, end, sizeof(end));
	fclose(f);
	if (*why_out != NULL) {
		free(text);
		return NULL;
	}
	return text;
}

void
draft_read_file(struct draft *d, const char *path, int source, bool is_needed)
{
	struct sources_reading r = {.draft = d, .path = path, .source = source};
	struct draft_origin origin = {source, 0, path};
	const char **grown;
	const char *why;
	char *text;

	errno = 0;
	text = sources_slurp(path, &why);
	if (text == NULL) {
		if (is_needed || (errno != ENOENT && errno != ENOTDIR))
			draft_problem(d, &origin, "cannot read it: %s", why);
		return;
	}
	grown = realloc(d->files, (d->n_files + 1) * sizeof(*grown));
	if (grown == NULL) {
		d->is_out_of_memory = true;
	} else {
		d->files = grown;
		d->files[d->n_files++] = path;
		sources_parse(&r, text);
	}
	free(r.notes);
	free(text);
}

/* A list in one text: commas apart. */
static void
sources_set_text(struct draft *d, const struct config_key *key,
    const char *title, const char *value, const struct draft_origin *origin)
{
	if (!key->is_list) {
		draft_set(d, key, title, value, false, origin);
		return;
	}
	draft_set(d, key, title, NULL, false, origin);
	while (*value != '\0') {
		size_t n = strcspn(value, ",");
		const char *item;

		while (n > 0 && isspace((unsigned char)*value)) {
			value++;
			n--;
		}
		item = draft_printf(d, "%.*s", (int)n, value);
		if (n > 0 && item != NULL)
			draft_set(d, key, title, item, true, origin);
		value += n;
		if (*value == ',')
			value++;
	}
}

void
draft_read_environment(struct draft *d, int source)
{
	static const char prefix[] = "TURNMETER_";
	const size_t n_prefix = sizeof(prefix) - 1;

	for (char **e = environ; *e != NULL; e++) {
		struct draft_origin origin = {source, 0, NULL};
		const struct config_key *key;
		char name[64] = "";
		size_t n;

		if (strncmp(*e, prefix, n_prefix) != 0)
			continue;
		n = strcspn(*e, "=");
		for (size_t i = n_prefix; i < n && i < n_prefix + 63; i++)
			name[i - n_prefix] =
			    (char)(isupper((unsigned char)(*e)[i])
				       ? tolower((unsigned char)(*e)[i])
				   : (*e)[i] == '_' ? '_'
						    : '?');
		origin.text = draft_printf(d, "%.*s", (int)n, *e);
		key = config_key_find(CONFIG_TOP, name, strlen(name));
		/* No key: the environment is not ours alone, it may be
		 * somebody else's. */
		if (key != NULL && (*e)[n] == '=')
			sources_set_text(d, key, NULL, *e + n + 1, &origin);
	}
}

/* "key" or "section.TITLE.key", of which the title may hold dots. */
static const struct config_key *
sources_find_path(
    struct draft *d, const char *path, size_t n, const char **title_out)
{
	const char *first = memchr(path, '.', n);
	const char *last = memrchr(path, '.', n);

	*title_out = NULL;
	if (first == NULL)
		return config_key_find(CONFIG_TOP, path, n);
	for (int s = CONFIG_TOP + 1; s < CONFIG_SECTION_COUNT; s++) {
		const char *name = config_section_name(s);

		if (strlen(name) != (size_t)(first - path) ||
		    memcmp(name, path, strlen(name)) != 0 || last == first)
			continue;
		*title_out = draft_printf(
		    d, "%.*s", (int)(last - first - 1), first + 1);
		return config_key_find(
		    s, last + 1, n - (size_t)(last + 1 - path));
	}
	return NULL;
}

void
draft_read_settings(
    struct draft *d, const char *const *settings, size_t n, int source)
{
	for (size_t i = 0; i < n; i++) {
		size_t n_path = strcspn(settings[i], "=");
		struct draft_origin origin = {source, 0, NULL};
		const struct config_key *key;
		const char *title;

		origin.text = draft_printf(
		    d, "--set %.*s", (int)n_path, settings[i]);
		if (settings[i][n_path] != '=') {
			draft_problem(d, &origin, "expected KEY=VALUE");
			continue;
		}
		key = sources_find_path(d, settings[i], n_path, &title);
		if (key == NULL) {
			draft_problem(d, &origin,
			    "unknown key (sections: upstream.NAME.KEY)");
			continue;
		}
		if (title != NULL)
			draft_open(d, key->section, title, &origin, true);
		sources_set_text(
		    d, key, title, settings[i] + n_path + 1, &origin);
	}
}
