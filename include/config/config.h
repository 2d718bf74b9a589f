/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * config: what the user has set, checked, with every default filled in.
 *
 * Read once into an immutable object; a reload makes a new one. The structs
 * are open for reading by every room above; nobody but the room config writes
 * them. Any thread may read. Paths and texts are owned by the object.
 *
 * Files in order: /etc/turnmeter/turnmeter.conf, then
 * $XDG_CONFIG_HOME/turnmeter/turnmeter.conf, or the one file of --config; then
 * the variables TURNMETER_<KEY>, then the command line's flags.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One provider endpoint. */
struct config_upstream {
	const char *name;   /* [a-z0-9][a-z0-9.-]{0,31} */
	const char *url;    /* as the user wrote it */
	const char *origin; /* "https://api.openai.com" or with ":port" */
	const char
	    *authority;   /* "api.openai.com", "127.0.0.1:8080", "[::1]:80" */
	const char *host; /* without port and brackets, lower case */
	int port;
	bool is_tls;
	bool is_private;       /* loopback or private address, or localhost */
	bool is_preset;        /* built in, not touched by the user */
	const char *base_path; /* "" or "/v1": raw, no slash at its end */
	const char *protocol;  /* NULL: told by the path */
	const char *version;   /* NULL or "v1", see docs/routes.md */
	const char *price_provider;
	const char *tier;
	const char *limits;
	bool ask_usage;
	bool pace;
	double power_watts;         /* NaN: not set */
	double electricity_per_kwh; /* NaN: not set */
	int64_t connect_timeout_ms;
	const char *ca_file; /* NULL: the system's */
	const char *proxy;   /* NULL: the usual variables; "": none */
};

struct config {
	const char *listen; /* as written */
	const char *listen_host;
	int listen_port;
	bool listen_is_loopback;
	const char *database;
	const char *default_upstream; /* NULL: none */
	const char *timezone;         /* NULL: the system's */
	int log_level;                /* enum log_level */
	int64_t idle_timeout_ms;
	int64_t max_body;   /* bytes; 0: no limit */
	int64_t max_header; /* bytes of one message's head */
	int64_t hold_body;
	int64_t warn_turns;
	int64_t warn_seconds;
	const char *token; /* NULL: none */
	const char *const *allowed_hosts;
	size_t n_allowed_hosts;
	int64_t pool_idle_ms; /* -1: by address, see below */
	int64_t shutdown_grace_ms;
	const struct config_upstream *upstreams; /* user's, then presets */
	size_t n_upstreams;
	const char *const *files; /* those that were read, in order */
	size_t n_files;
	void *priv;
};

/* Idle seconds after which a pooled upstream connection is not used again:
 * 4 s to loopback and private addresses, where servers close at 5 s; 55 s
 * elsewhere; unless pool_idle says otherwise. */
int64_t config_upstream_pool_idle_ms(
    const struct config *c, const struct config_upstream *u);

/* NULL where none has that name. */
const struct config_upstream *config_find_upstream(
    const struct config *c, const char *name, size_t n);

struct config_source {
	const char *file; /* --config: this file alone; NULL: the usual ones */
	/* "key=value" settings of the command line, applied last */
	const char *const *settings;
	size_t n_settings;
};

/* Reads, checks and gives the whole. On failure nothing is given, the reason
 * (file:line: what is wrong, one per line) is malloc'd into *ERROR_OUT, and
 * -errno is returned. One thread of the process at a time: libconfuse keeps
 * its scanner in globals. */
int config_load(const struct config_source *source, struct config **config_out,
    char **error_out);
void config_free(struct config *c);

#endif
