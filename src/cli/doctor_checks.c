/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * The checks. None sends a request to a provider: a connection, with its TLS,
 * is made and closed again.
 */
#include "doctor.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "client.h"
#include "config/config.h"
#include "endpoint.h"
#include "follow.h"
#include "record/turn.h"
#include "report/format.h"
#include "store/store.h"

enum {
	DOCTOR_HEALTH_MS = 2000,
	DOCTOR_CONNECT_MS = 4000,
	DOCTOR_UPSTREAMS_MAX = 16,
	DOCTOR_GROUPS_MAX = 8,
	DOCTOR_JOURNAL_LOW = 64
};

static const int64_t doctor_month_ms = INT64_C(30) * 86400 * 1000;
static const int64_t doctor_disk_low = INT64_C(200) * 1000 * 1000;

static int64_t
doctor_int(const json_t *health, const char *group, const char *name)
{
	return json_integer_value(
	    json_object_get(json_object_get(health, group), name));
}

static void
doctor_check_config(struct doctor *d, const char *name)
{
	const struct config *c = d->reading.config;
	char text[1024] = "";
	size_t n = 0;

	for (size_t i = 0; i < c->n_files && n < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s",
		    i > 0 ? ", " : "", c->files[i]);
	doctor_say(d, name, DOCTOR_OK, NULL, "%s",
	    c->n_files > 0 ? text : "no file: all defaults");
	if (!c->listen_is_loopback)
		doctor_say(d, name, DOCTOR_LOOK,
		    "listen = \"127.0.0.1:7717\" keeps it to this machine",
		    "listens on %s, which others can reach", c->listen);
}

static void
doctor_check_daemon(struct doctor *d, const char *name)
{
	const struct config *c = d->reading.config;
	char reason[256], up[FORMAT_BYTES];
	const char *version;
	json_t *health = follow_get(d->base_url, c->token, "health",
	    DOCTOR_HEALTH_MS, reason, sizeof(reason));

	if (health == NULL) {
		doctor_say(d, name, DOCTOR_BROKEN, "turnmeter serve",
		    "not reachable at %s: %s", c->listen, reason);
		return;
	}
	version = json_string_value(json_object_get(health, "version"));
	format_duration(
	    json_number_value(json_object_get(health, "uptime_s")) * 1e3, up);
	doctor_say(
	    d, name, DOCTOR_OK, NULL, "listening on %s for %s", c->listen, up);
	if (version != NULL && strcmp(version, TURNMETER_VERSION) != 0)
		doctor_say(d, name, DOCTOR_LOOK, "restart it",
		    "it is version %s, this is %s", version, TURNMETER_VERSION);
	if (json_is_true(
		json_object_get(json_object_get(health, "store"), "failing")))
		doctor_say(d, name, DOCTOR_BROKEN,
		    "see the daemon's messages; turns wait in the journal",
		    "its database fails: %s",
		    json_string_value(json_object_get(
			json_object_get(health, "store"), "reason")));
	if (doctor_int(health, "store", "lost") > 0)
		doctor_say(d, name, DOCTOR_BROKEN, NULL,
		    "%lld turns were lost since it started",
		    (long long)doctor_int(health, "store", "lost"));
	if (doctor_int(health, "journal", "errors") > 0 ||
	    doctor_int(health, "journal", "free") < DOCTOR_JOURNAL_LOW)
		doctor_say(d, name, DOCTOR_BROKEN, "is the disk full?",
		    "journal: %lld writes failed, %lld places are free",
		    (long long)doctor_int(health, "journal", "errors"),
		    (long long)doctor_int(health, "journal", "free"));
	json_decref(health);
}

static void
doctor_check_sizes(struct doctor *d, const char *name)
{
	char db[FORMAT_BYTES], wal[FORMAT_BYTES], space[FORMAT_BYTES];
	int64_t n_db = 0, n_wal = 0, n_free = 0;

	if (store_reader_sizes(d->reading.store, &n_db, &n_wal, &n_free) != 0)
		return;
	format_bytes(n_db, db);
	format_bytes(n_wal, wal);
	format_bytes(n_free, space);
	doctor_say(d, name,
	    n_free < doctor_disk_low ? DOCTOR_BROKEN : DOCTOR_OK,
	    n_free < doctor_disk_low ? "make room on that disk" : NULL,
	    "%s, write-ahead log %s, %s free on its disk", db, wal, space);
}

static void
doctor_check_database(struct doctor *d, const char *name)
{
	const char *path = d->reading.database;
	struct stat st;
	char *text = NULL, *line;
	int result;

	if (d->reading.store_error != NULL) {
		doctor_say(d, name, DOCTOR_BROKEN,
		    d->reading.store_result == -EBADMSG
			? "put a backup in its place, or move it away: then "
			  "`turnmeter serve` makes a new one"
			: NULL,
		    "%s", d->reading.store_error);
		return;
	}
	if (d->reading.store == NULL) {
		doctor_say(d, name, DOCTOR_OK, NULL,
		    "none yet; the first turn makes %s", path);
		return;
	}
	if (stat(path, &st) == 0 && (st.st_mode & 077) != 0)
		doctor_say(d, name, DOCTOR_BROKEN, "chmod 600 it",
		    "others may read %s (mode %03o)", path,
		    (unsigned)st.st_mode & 0777);
	result = store_check(path, &text);
	line = text != NULL ? strchr(text, '\n') : NULL;
	if (line != NULL)
		*line = '\0';
	doctor_say(d, name, result == 0 ? DOCTOR_OK : DOCTOR_BROKEN,
	    result == 0 ? NULL : "turnmeter db check; turnmeter db backup",
	    "%s: %s", path,
	    result == 0    ? "sound"
	    : text != NULL ? text
			   : "?");
	free(text);
	doctor_check_sizes(d, name);
}

/* Names of upstreams worth a visit: those of the user's, and those of the last
 * 30 days' turns. */
struct doctor_names {
	char names[DOCTOR_UPSTREAMS_MAX][64];
	size_t n;
	size_t n_left_out;
};

static void
doctor_add_name(struct doctor_names *list, const char *name)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->names[i], name) == 0)
			return;
	if (list->n == DOCTOR_UPSTREAMS_MAX) {
		list->n_left_out++;
		return;
	}
	snprintf(list->names[list->n++], sizeof(list->names[0]), "%s", name);
}

static bool
doctor_add_turn(void *cls, const struct turn *t)
{
	if (t->upstream != NULL)
		doctor_add_name(cls, t->upstream);
	return true;
}

static void
doctor_visit(
    struct doctor *d, const char *check, const struct config_upstream *u)
{
	CURL *easy = curl_easy_init();
	char error[CURL_ERROR_SIZE] = "", time[FORMAT_BYTES];
	double seconds = 0;
	CURLcode code;

	if (easy == NULL)
		return;
	curl_easy_setopt(easy, CURLOPT_URL, u->origin);
	curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)DOCTOR_CONNECT_MS);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error);
	if (u->ca_file != NULL)
		curl_easy_setopt(easy, CURLOPT_CAINFO, u->ca_file);
	if (u->proxy != NULL)
		curl_easy_setopt(easy, CURLOPT_PROXY, u->proxy);
	else if (u->is_private)
		curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
	code = curl_easy_perform(easy);
	curl_easy_getinfo(easy,
	    u->is_tls ? CURLINFO_APPCONNECT_TIME : CURLINFO_CONNECT_TIME,
	    &seconds);
	format_duration(seconds * 1e3, time);
	if (code == CURLE_OK)
		doctor_say(d, check, DOCTOR_OK, NULL, "%s: %s reached in %s%s",
		    u->name, u->authority, time,
		    u->is_tls ? ", TLS verified" : ", not encrypted");
	else if (code == CURLE_PEER_FAILED_VERIFICATION ||
		 code == CURLE_SSL_CACERT_BADFILE)
		doctor_say(d, check, DOCTOR_BROKEN,
		    "ca_file in its upstream section names the right CA",
		    "%s: the TLS certificate of %s is not trusted: %s", u->name,
		    u->authority, error);
	else
		doctor_say(d, check, DOCTOR_BROKEN,
		    "network, name service, proxy?", "%s: %s: %s", u->name,
		    u->authority,
		    error[0] != '\0' ? error : curl_easy_strerror(code));
	curl_easy_cleanup(easy);
}

static void
doctor_check_upstreams(struct doctor *d, const char *name)
{
	const struct config *c = d->reading.config;
	struct doctor_names list = {0};
	struct store_query q = {.since_ms = clock_wall_ms() - doctor_month_ms};

	for (size_t i = 0; i < c->n_upstreams; i++)
		if (!c->upstreams[i].is_preset)
			doctor_add_name(&list, c->upstreams[i].name);
	if (d->reading.store != NULL)
		(void)store_reader_turns(
		    d->reading.store, &q, doctor_add_turn, &list);
	if (list.n == 0)
		doctor_say(d, name, DOCTOR_OK, NULL,
		    "none used yet; %zu are known (turnmeter config show)",
		    c->n_upstreams);
	for (size_t i = 0; i < list.n; i++) {
		const struct config_upstream *u = config_find_upstream(
		    c, list.names[i], strlen(list.names[i]));

		if (u == NULL)
			doctor_say(d, name, DOCTOR_LOOK, NULL,
			    "%s: used in the last 30 days, but no longer "
			    "configured",
			    list.names[i]);
		else if (d->is_offline)
			doctor_say(d, name, DOCTOR_OK, NULL,
			    "%s: %s, not visited (--offline)", u->name,
			    u->authority);
		else
			doctor_visit(d, name, u);
	}
	if (list.n_left_out > 0)
		doctor_say(d, name, DOCTOR_LOOK, NULL,
		    "%zu more are not visited", list.n_left_out);
}

static void
doctor_check_client(
    struct doctor *d, const char *name, const struct client *client)
{
	struct client_plan plan;
	char path[FILES_PATH_BYTES], base[ENDPOINT_BYTES], help[160];

	if (!client_installed(client, path))
		return;
	if (client->plan == NULL) {
		doctor_say(d, name, DOCTOR_OK, NULL,
		    "%s (%s): points here by %s", client->title, path,
		    client->variables);
	} else {
		client_plan_init(&plan);
		endpoint_base(d->reading.config, NULL, base);
		(void)client->plan(d->reading.config, base, &plan);
		snprintf(help, sizeof(help),
		    "turnmeter run -- %s (once), turnmeter connect %s (for "
		    "good)",
		    client->command, client->name);
		if (plan.after == NULL && plan.n_here > 0)
			doctor_say(d, name, DOCTOR_OK, NULL,
			    "%s (%s): its configuration points here",
			    client->title, path);
		else
			doctor_say(d, name, DOCTOR_LOOK, help,
			    plan.n_here > 0
				? "%s (%s): points here in part"
				: "%s (%s): does not point here by itself",
			    client->title, path);
		if (plan.n_uncovered > 0)
			doctor_say(d, name, DOCTOR_LOOK,
			    "turnmeter connect shows the upstream sections "
			    "for them",
			    "%s: %zu of its providers have no upstream",
			    client->title, plan.n_uncovered);
		client_plan_fini(&plan);
	}
	doctor_say(d, name, DOCTOR_OK, client->fix,
	    "%s behind another host: %s", client->title, client->localhost);
}

static void
doctor_check_clients(struct doctor *d, const char *name)
{
	size_t n = json_array_size(d->lines);

	for (size_t i = 0; i < n_clients; i++)
		doctor_check_client(d, name, &clients[i]);
	if (json_array_size(d->lines) == n)
		doctor_say(d, name, DOCTOR_OK, NULL,
		    "none of the known ones is in PATH");
}

/* Turns that were answered, but without usage, by client and upstream. */
struct doctor_usage {
	struct {
		char client[128];
		char upstream[64];
		int64_t n;
		int64_t n_not_asked;
	} groups[DOCTOR_GROUPS_MAX];
	size_t n_groups;
	int64_t n_turns;
	int64_t n_without;
};

static bool
doctor_add_usage(void *cls, const struct turn *t)
{
	struct doctor_usage *u = cls;
	const char *client = t->client != NULL ? t->client : "?";
	const char *upstream = t->upstream != NULL ? t->upstream : "?";
	size_t i;

	if (t->outcome != TURN_OUTCOME_OK)
		return true;
	u->n_turns++;
	if (t->usage_source != TURN_USAGE_SOURCE_NONE &&
	    t->usage_source != TURN_USAGE_SOURCE_NULL)
		return true;
	u->n_without++;
	for (i = 0; i < u->n_groups; i++)
		if (strncmp(u->groups[i].client, client,
			sizeof(u->groups[i].client) - 1) == 0 &&
		    strcmp(u->groups[i].upstream, upstream) == 0)
			break;
	if (i == DOCTOR_GROUPS_MAX)
		return true;
	if (i == u->n_groups) {
		u->n_groups++;
		snprintf(u->groups[i].client, sizeof(u->groups[i].client), "%s",
		    client);
		snprintf(u->groups[i].upstream, sizeof(u->groups[i].upstream),
		    "%s", upstream);
	}
	u->groups[i].n++;
	if (turn_has_flag(t, "usage_not_requested"))
		u->groups[i].n_not_asked++;
	return true;
}

static void
doctor_check_usage(struct doctor *d, const char *name)
{
	struct store_query q = {
	    .kind = "turn", .since_ms = clock_wall_ms() - doctor_month_ms};
	struct doctor_usage u = {0};
	char turns[FORMAT_BYTES], without[FORMAT_BYTES];

	if (d->reading.store == NULL ||
	    store_reader_turns(d->reading.store, &q, doctor_add_usage, &u) != 0)
		return;
	format_count(u.n_turns, turns);
	format_count(u.n_without, without);
	doctor_say(d, name, u.n_without > 0 ? DOCTOR_LOOK : DOCTOR_OK, NULL,
	    "%s of %s answered turns in 30 days are without usage", without,
	    turns);
	for (size_t i = 0; i < u.n_groups; i++)
		doctor_say(d, name, DOCTOR_LOOK,
		    u.groups[i].n_not_asked > 0
			? "the client did not ask: set "
			  "stream_options.include_usage (or its own switch "
			  "for it) in the client"
			: "the client asked, or could not: the provider sends "
			  "none for this kind of answer",
		    "%s on %s: %lld without", u.groups[i].client,
		    u.groups[i].upstream, (long long)u.groups[i].n);
}

const struct doctor_check doctor_checks[] = {
    {"config", doctor_check_config},
    {"daemon", doctor_check_daemon},
    {"database", doctor_check_database},
    {"upstreams", doctor_check_upstreams},
    {"clients", doctor_check_clients},
    {"usage", doctor_check_usage},
};
const size_t n_doctor_checks = sizeof(doctor_checks) / sizeof(*doctor_checks);
