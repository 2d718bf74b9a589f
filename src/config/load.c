/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * From what the sources said to the checked whole.
 *
 * Order: read every source into the draft; lay the settings out in the order
 * of a file; store each through the function of its type, defaults through the
 * same ones; check what spans several keys. Every step goes on after a problem
 * so that one run lists them all.
 */
#include "config/config.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/keys.h"
#include "draft.h"
#include "store.h"
#include "value.h"

static const char config_system_file[] = "/etc/turnmeter/turnmeter.conf";

/* In order of precedence; presets are 0. */
enum {
	CONFIG_SOURCE_SYSTEM = 1,
	CONFIG_SOURCE_USER,
	CONFIG_SOURCE_ENVIRONMENT,
	CONFIG_SOURCE_SETTINGS
};

static struct config_own *
config_own(const struct config *c)
{
	return c->priv;
}

/* The one default that is worked out. */
static void
config_set_default_database(struct draft *d)
{
	static const struct draft_origin none = {0, 0, "default"};
	const struct config_key *key = config_key_find(
	    CONFIG_TOP, "database", strlen("database"));
	const char *state = getenv("STATE_DIRECTORY");
	const char *xdg = getenv("XDG_STATE_HOME");
	const char *home = config_home();
	const char *path;

	if (draft_get(d, CONFIG_TOP, NULL, key->name) != NULL)
		return;
	if (state != NULL && state[0] == '/')
		path = draft_printf(
		    d, "%.*s/turnmeter.db", (int)strcspn(state, ":"), state);
	else if (xdg != NULL && xdg[0] == '/')
		path = draft_printf(d, "%s/turnmeter/turnmeter.db", xdg);
	else
		path = draft_printf(d, "%s/.local/state/turnmeter/turnmeter.db",
		    home != NULL ? home : "");
	if (path != NULL)
		draft_set(d, key, NULL, path, false, &none);
}

/* The file of the user; NULL where there is no home. */
static const char *
config_user_file(struct draft *d)
{
	const char *xdg = getenv("XDG_CONFIG_HOME");
	const char *home = config_home();

	if (xdg != NULL && xdg[0] == '/')
		return draft_printf(d, "%s/turnmeter/turnmeter.conf", xdg);
	if (home == NULL)
		return NULL;
	return draft_printf(d, "%s/.config/turnmeter/turnmeter.conf", home);
}

static void
config_read(struct draft *d, const struct config_source *source)
{
	const char *file = source->file;
	const char *user_file;

	if (file == NULL || file[0] == '\0')
		file = getenv("TURNMETER_CONFIG");
	draft_read_presets(d);
	if (file != NULL && file[0] != '\0') {
		file = draft_printf(d, "%s", file);
		if (file != NULL)
			draft_read_file(d, file, CONFIG_SOURCE_USER, true);
	} else {
		draft_read_file(
		    d, config_system_file, CONFIG_SOURCE_SYSTEM, false);
		user_file = config_user_file(d);
		if (user_file != NULL)
			draft_read_file(
			    d, user_file, CONFIG_SOURCE_USER, false);
	}
	draft_read_environment(d, CONFIG_SOURCE_ENVIRONMENT);
	draft_read_settings(
	    d, source->settings, source->n_settings, CONFIG_SOURCE_SETTINGS);
}

/* Stores the keys of one section, defaults where a key is unset, and lays the
 * settings down for config_settings(). */
static void
config_store_section(struct config_own *own, enum config_section section,
    const struct draft_title *title, void *base)
{
	static const struct draft_origin none = {0, 0, "default"};
	struct draft *d = &own->draft;

	for (size_t i = 0; i < n_config_keys; i++) {
		const struct config_key *key = &config_keys[i];
		struct config_setting *s = &own->settings[own->n_settings];
		const struct draft_setting *set;
		struct config_target target = {own, s, &none, base};

		if (key->section != section)
			continue;
		set = draft_get(
		    d, section, title != NULL ? title->title : NULL, key->name);
		*s = (struct config_setting){
		    .key = key, .title = title != NULL ? title->title : NULL};
		if (set != NULL) {
			s->items = set->items;
			s->n_items = set->n_items;
			s->origin = set->origin.text;
			target.origin = &set->origin;
		} else if (key->initial != NULL) {
			s->items = (const char *const *)&key->initial;
			s->n_items = 1;
			s->origin = none.text;
		} else {
			if (key->is_required)
				draft_problem(d, &title->origin,
				    "%s %s: the key '%s' is missing",
				    config_section_name(section), title->title,
				    key->name);
			continue;
		}
		own->n_settings++;
		config_store(&target);
	}
}

static void
config_store_top(struct config_own *own)
{
	struct config *c = &own->c;
	const struct draft_setting *hosts;

	c->pool_idle_ms = -1;
	config_set_default_database(&own->draft);
	config_store_section(own, CONFIG_TOP, NULL, c);
	hosts = draft_get(&own->draft, CONFIG_TOP, NULL, "allowed_hosts");
	if (hosts != NULL) {
		c->allowed_hosts = hosts->items;
		c->n_allowed_hosts = hosts->n_items;
	}
}

static void
config_store_upstream(struct config_own *own, const struct draft_title *title,
    struct config_upstream *u)
{
	struct draft *d = &own->draft;
	const char *wrong = value_upstream_name(title->title);

	*u = (struct config_upstream){.name = title->title,
	    .is_preset = !title->is_user,
	    .power_watts = NAN,
	    .electricity_per_kwh = NAN};
	if (wrong != NULL)
		draft_problem(d, &title->origin, "upstream: '%.100s' is not %s",
		    title->title, wrong);
	config_store_section(own, CONFIG_UPSTREAM, title, u);
	if (u->price_provider == NULL)
		u->price_provider = u->name;
	if (draft_get(d, CONFIG_UPSTREAM, title->title, "url") == NULL)
		draft_problem(d, &title->origin,
		    "upstream %.100s: the key 'url' is missing, and there is "
		    "no preset of that name",
		    title->title);
	if (u->ca_file != NULL && access(u->ca_file, R_OK) != 0)
		draft_problem(d,
		    &draft_get(d, CONFIG_UPSTREAM, title->title, "ca_file")
			 ->origin,
		    "ca_file: cannot read '%.200s': %s", u->ca_file,
		    strerror(errno));
}

/* The user's first, in the order in which the sources name them. */
static void
config_store_upstreams(struct config_own *own)
{
	const struct draft *d = &own->draft;
	size_t n = 0;

	for (int is_preset = 0; is_preset <= 1; is_preset++)
		for (size_t i = 0; i < d->n_titles; i++) {
			const struct draft_title *t = &d->titles[i];

			if (t->section == CONFIG_UPSTREAM &&
			    t->is_user == (is_preset == 0))
				config_store_upstream(
				    own, t, &own->upstreams[n++]);
		}
	own->c.upstreams = own->upstreams;
	own->c.n_upstreams = n;
}

static void
config_store_others(struct config_own *own)
{
	const struct draft *d = &own->draft;

	for (int s = CONFIG_UPSTREAM + 1; s < CONFIG_SECTION_COUNT; s++)
		for (size_t i = 0; i < d->n_titles; i++)
			if (d->titles[i].section == (enum config_section)s)
				config_store_section(
				    own, s, &d->titles[i], NULL);
}

/* A section that needs one of several keys. */
static void
config_check_any(struct draft *d, const struct draft_title *t,
    const char *const *names, const char *what)
{
	for (size_t i = 0; names[i] != NULL; i++)
		if (draft_get(d, t->section, t->title, names[i]) != NULL)
			return;
	draft_problem(d, &t->origin, "%s %.100s: there is no %s",
	    config_section_name(t->section), t->title, what);
}

static void
config_check_section(struct config_own *own, const struct draft_title *t)
{
	static const char *const limits[] = {"requests", "total_tokens",
	    "uncached_tokens", "input_tokens", "output_tokens", "concurrency",
	    NULL};
	static const char *const prices[] = {"input", "output", NULL};
	static const char *const ways[] = {"via", "exec", "webhook", NULL};
	struct draft *d = &own->draft;

	switch (t->section) {
	case CONFIG_LIMIT:
		config_check_any(d, t, limits, "limit in it");
		if (config_find_upstream(
			&own->c, t->title, strcspn(t->title, "/")) == NULL)
			draft_problem(d, &t->origin,
			    "limit: there is no upstream '%.*s' (expected "
			    "\"UPSTREAM/MODEL\" or \"UPSTREAM\")",
			    (int)strcspn(t->title, "/"), t->title);
		break;
	case CONFIG_PRICE: config_check_any(d, t, prices, "price in it"); break;
	case CONFIG_ALERT:
		config_check_any(d, t, ways, "way to tell: via, exec, webhook");
		break;
	default: break;
	}
}

/* What spans several keys or names another section. */
static void
config_check_whole(struct config_own *own)
{
	const struct config *c = &own->c;
	struct draft *d = &own->draft;
	struct draft_origin listen = {0, 0, "listen"};

	for (size_t i = 0; i < d->n_titles; i++)
		config_check_section(own, &d->titles[i]);
	for (size_t i = 0; i < d->n_settings; i++) {
		const struct draft_setting *s = &d->settings[i];

		if (s->key->type == CONFIG_TYPE_UPSTREAM && s->n_items == 1 &&
		    value_upstream_name(s->items[0]) == NULL &&
		    config_find_upstream(c, s->items[0], strlen(s->items[0])) ==
			NULL)
			draft_problem(d, &s->origin,
			    "%s: there is no upstream '%s'", s->key->name,
			    s->items[0]);
		if (strcmp(s->key->name, "listen") == 0)
			listen = s->origin;
	}
	if (c->listen != NULL && !c->listen_is_loopback && c->token == NULL)
		draft_problem(d, &listen,
		    "listen: '%s' is not a loopback address; others would "
		    "reach the daemon: set 'token' too",
		    c->listen);
}

/* 0, or -errno; the problems are in the draft. */
static int
config_build(struct config_own *own, const struct config_source *source)
{
	struct draft *d = &own->draft;
	size_t n_most;

	config_read(d, source);
	if (d->is_out_of_memory)
		return -ENOMEM;
	/* every key of every section is the most there can be */
	n_most = (d->n_titles + 1) * n_config_keys;
	own->settings = calloc(n_most, sizeof(*own->settings));
	own->upstreams = calloc(d->n_titles + 1, sizeof(*own->upstreams));
	if (own->settings == NULL || own->upstreams == NULL)
		return -ENOMEM;
	config_store_top(own);
	config_store_upstreams(own);
	config_store_others(own);
	config_check_whole(own);
	own->c.files = d->files;
	own->c.n_files = d->n_files;
	if (d->is_out_of_memory)
		return -ENOMEM;
	return d->n_problems > 0 ? -EINVAL : 0;
}

int
config_load(const struct config_source *source, struct config **config_out,
    char **error_out)
{
	struct config_own *own = calloc(1, sizeof(*own));
	locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	locale_t before = (locale_t)0;
	int error = -ENOMEM;

	*config_out = NULL;
	*error_out = NULL;
	if (own == NULL || c_locale == (locale_t)0)
		goto out;
	/* the decimal point, and libconfuse's messages as it wrote them */
	before = uselocale(c_locale);
	own->c.priv = own;
	error = config_build(own, source);
	uselocale(before);
	if (error == 0) {
		*config_out = &own->c;
		own = NULL;
	} else {
		*error_out = draft_report(&own->draft);
	}
out:
	if (own != NULL)
		config_free(&own->c);
	if (c_locale != (locale_t)0)
		freelocale(c_locale);
	return error;
}

void
config_free(struct config *c)
{
	struct config_own *own;

	if (c == NULL)
		return;
	own = config_own(c);
	if (own == NULL)
		own = (struct config_own *)c;
	draft_fini(&own->draft);
	free(own->settings);
	free(own->upstreams);
	free(own);
}

const struct config_setting *
config_settings(const struct config *c, size_t *n_out)
{
	const struct config_own *own = config_own(c);

	*n_out = own->n_settings;
	return own->settings;
}

const struct config_upstream *
config_find_upstream(const struct config *c, const char *name, size_t n)
{
	for (size_t i = 0; i < c->n_upstreams; i++) {
		const char *own = c->upstreams[i].name;

		if (strlen(own) == n && memcmp(own, name, n) == 0)
			return &c->upstreams[i];
	}
	return NULL;
}

int64_t
config_upstream_pool_idle_ms(
    const struct config *c, const struct config_upstream *u)
{
	if (c->pool_idle_ms >= 0)
		return c->pool_idle_ms;
	return u->is_private ? 4000 : 55000;
}
