/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "store.h"

#include <assert.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "url.h"
#include "value.h"

const char *
config_home(void)
{
	const char *home = getenv("HOME");
	const struct passwd *user;

	if (home != NULL && home[0] == '/')
		return home;
	user = getpwuid(getuid());
	return user != NULL ? user->pw_dir : NULL;
}

static const char *
config_expand(struct draft *d, const char *path)
{
	const char *home;

	if (path[0] != '~')
		return path;
	home = config_home();
	return draft_printf(d, "%s%s", home != NULL ? home : "", path + 1);
}

static void *
config_field(const struct config_target *t)
{
	if (t->base == NULL || t->setting->key->offset == CONFIG_CHECKED_ONLY)
		return NULL;
	return (char *)t->base + t->setting->key->offset;
}

static void
config_format_number(enum config_type type, int64_t n, char *out, size_t n_out)
{
	if (type == CONFIG_TYPE_DURATION)
		snprintf(out, n_out,
		    n % 1000 == 0 ? "%" PRId64 "s" : "%" PRId64 "ms",
		    n % 1000 == 0 ? n / 1000 : n);
	else if (type == CONFIG_TYPE_SIZE && n % 1073741824 == 0 && n > 0)
		snprintf(out, n_out, "%" PRId64 "G", n / 1073741824);
	else if (type == CONFIG_TYPE_SIZE && n % 1024 == 0 && n > 0)
		snprintf(out, n_out, "%" PRId64 "K", n / 1024);
	else
		snprintf(out, n_out, "%" PRId64, n);
}

/* NULL, or what is expected. */
static const char *
config_check_range(const struct config_target *t, bool is_below, bool is_above)
{
	const struct config_key *key = t->setting->key;
	char min[32], max[32];

	if ((key->min == 0 && key->max == 0) || (!is_below && !is_above))
		return NULL;
	config_format_number(key->type, key->min, min, sizeof(min));
	config_format_number(key->type, key->max, max, sizeof(max));
	return draft_printf(&t->own->draft, "%s to %s", min, max);
}

static const char *
config_store_integer(const struct config_target *t, const char *text)
{
	const struct config_key *key = t->setting->key;
	int64_t *field = config_field(t);
	const char *wrong;
	int64_t n = 0;

	if (key->type == CONFIG_TYPE_DURATION)
		wrong = value_duration(text, &n);
	else if (key->type == CONFIG_TYPE_SIZE)
		wrong = value_size(text, &n);
	else
		wrong = value_count(text, &n);
	if (wrong == NULL)
		wrong = config_check_range(t, n<key->min, n> key->max);
	if (wrong == NULL && field != NULL)
		*field = n;
	return wrong;
}

static const char *
config_store_real(const struct config_target *t, const char *text)
{
	const struct config_key *key = t->setting->key;
	double *field = config_field(t);
	const char *wrong;
	double x = 0;

	wrong = value_real(text, &x);
	if (wrong == NULL)
		wrong = config_check_range(
		    t, x<(double)key->min, x>(double) key->max);
	if (wrong == NULL && field != NULL)
		*field = x;
	return wrong;
}

static const char *
config_store_bool(const struct config_target *t, const char *text)
{
	bool *field = config_field(t);
	bool value = false;
	const char *wrong = value_bool(text, &value);

	if (wrong == NULL && field != NULL)
		*field = value;
	return wrong;
}

static const char *
config_store_level(const struct config_target *t, const char *text)
{
	int *field = config_field(t);
	enum log_level level;

	if (log_level_parse(text, &level) != 0)
		return "error, warning, info or debug";
	*field = (int)level;
	return NULL;
}

static const char *
config_store_listen(const struct config_target *t, const char *text)
{
	struct config *c = t->base;
	const char *wrong;

	wrong = url_parse_listen(
	    &t->own->draft.arena, text, &c->listen_host, &c->listen_port);
	if (wrong != NULL)
		return draft_printf(&t->own->draft,
		    "ADDRESS:PORT such as 127.0.0.1:7717 or [::1]:7717 (%s)",
		    wrong);
	c->listen = text;
	c->listen_is_loopback = url_host_is_loopback(c->listen_host);
	return NULL;
}

static const char *
config_store_url(const struct config_target *t, const char *text)
{
	struct config_upstream *u = t->base;
	struct url url;
	const char *wrong = url_parse(&t->own->draft.arena, text, &url);

	if (wrong != NULL)
		return draft_printf(&t->own->draft,
		    "a URL such as https://api.openai.com/v1 (%s)", wrong);
	u->url = text;
	u->origin = url.origin;
	u->authority = url.authority;
	u->host = url.host;
	u->port = url.port;
	u->is_tls = url.is_tls;
	u->is_private = url.is_private;
	u->base_path = url.base_path;
	return NULL;
}

static const char *
config_store_choice(const struct config_target *t, const char *text)
{
	const char *const *choices = t->setting->key->choices;
	const char **field = config_field(t);
	char all[256] = "";
	size_t n = 0;

	for (size_t i = 0; choices[i] != NULL; i++) {
		if (strcmp(choices[i], text) == 0) {
			if (field != NULL)
				*field = choices[i];
			return NULL;
		}
		n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s",
		    i > 0 ? ", " : "", choices[i]);
		assert(n < sizeof(all));
	}
	return draft_printf(&t->own->draft, "one of: %s", all);
}

static const char *
config_check_text(enum config_type type, const char *text)
{
	switch (type) {
	case CONFIG_TYPE_PATH: return value_path(text);
	case CONFIG_TYPE_ZONE: return value_zone(text);
	case CONFIG_TYPE_TOKEN: return value_token(text);
	case CONFIG_TYPE_HOST: return value_host(text);
	case CONFIG_TYPE_RATE: return value_rate(text);
	case CONFIG_TYPE_DATE: return value_date(text);
	case CONFIG_TYPE_UPSTREAM: return value_upstream_name(text);
	default: break;
	}
	if (text[0] == '\0' && type != CONFIG_TYPE_PROXY)
		return "a text that is not empty";
	for (const char *c = text; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return "a text without control bytes";
	return NULL;
}

static const char *
config_store_text(const struct config_target *t, const char *text)
{
	enum config_type type = t->setting->key->type;
	const char **field = config_field(t);
	const char *wrong = config_check_text(type, text);

	if (wrong != NULL)
		return wrong;
	if (type == CONFIG_TYPE_PROXY)
		wrong = url_check_proxy(text);
	else if (type == CONFIG_TYPE_WEBHOOK)
		wrong = url_check_webhook(text);
	if (wrong != NULL)
		return draft_printf(&t->own->draft, "a URL (%s)", wrong);
	if (type == CONFIG_TYPE_PATH)
		text = config_expand(&t->own->draft, text);
	/* a list's field is filled once all of its items are checked */
	if (field != NULL && !t->setting->key->is_list)
		*field = text;
	return NULL;
}

typedef const char *config_store_fn(
    const struct config_target *t, const char *text);

static config_store_fn *const config_stores[] = {
    [CONFIG_TYPE_TEXT] = config_store_text,
    [CONFIG_TYPE_PATH] = config_store_text,
    [CONFIG_TYPE_BOOL] = config_store_bool,
    [CONFIG_TYPE_COUNT] = config_store_integer,
    [CONFIG_TYPE_REAL] = config_store_real,
    [CONFIG_TYPE_DURATION] = config_store_integer,
    [CONFIG_TYPE_SIZE] = config_store_integer,
    [CONFIG_TYPE_CHOICE] = config_store_choice,
    [CONFIG_TYPE_LEVEL] = config_store_level,
    [CONFIG_TYPE_LISTEN] = config_store_listen,
    [CONFIG_TYPE_ZONE] = config_store_text,
    [CONFIG_TYPE_TOKEN] = config_store_text,
    [CONFIG_TYPE_HOST] = config_store_text,
    [CONFIG_TYPE_URL] = config_store_url,
    [CONFIG_TYPE_PROXY] = config_store_text,
    [CONFIG_TYPE_WEBHOOK] = config_store_text,
    [CONFIG_TYPE_UPSTREAM] = config_store_text,
    [CONFIG_TYPE_RATE] = config_store_text,
    [CONFIG_TYPE_DATE] = config_store_text,
};

static_assert(
    sizeof(config_stores) / sizeof(config_stores[0]) == CONFIG_TYPE_COUNT_OF,
    "every type has its function");

/* How much of a value a message may repeat: nothing that may be a key or a
 * password. */
static size_t
config_quotable(const struct config_key *key, const char *item)
{
	if (key->is_secret)
		return 0;
	if (key->type != CONFIG_TYPE_URL)
		return strlen(item);
	return strchr(item, '@') != NULL ? 0 : strcspn(item, "?#");
}

static void
config_complain(
    const struct config_target *t, const char *item, const char *wrong)
{
	const struct config_setting *s = t->setting;
	const char *section = config_section_name(s->key->section);
	size_t n = config_quotable(s->key, item);
	bool is_hidden = n == 0 && item[0] != '\0';
	char value[256] = "this";

	if (!is_hidden)
		snprintf(value, sizeof(value), "'%.*s%s'",
		    (int)(n < 200 ? n : 200), item,
		    item[n] != '\0' ? "..." : "");
	draft_problem(&t->own->draft, t->origin, "%s%s%.100s%s%s: %s is not %s",
	    section, s->title != NULL ? " " : "",
	    s->title != NULL ? s->title : "", s->title != NULL ? ": " : "",
	    s->key->name, value, wrong);
}

void
config_store(const struct config_target *t)
{
	const struct config_setting *s = t->setting;

	for (size_t i = 0; i < s->n_items; i++) {
		const char *wrong = config_stores[s->key->type](t, s->items[i]);

		if (wrong != NULL)
			config_complain(t, s->items[i], wrong);
	}
}
