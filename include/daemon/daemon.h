/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * daemon: what `turnmeter serve` runs, from start to the last row.
 *
 * The only place that joins proxy, journal, store and feed. It owns the loop's
 * thread (the caller's) and starts the store's.
 */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H

struct config;
struct config_source;

struct daemon_setup {
	struct config **config;             /* takes */
	const struct config_source *source; /* read again on SIGHUP; borrowed */
	const char *port_file; /* receives "PORT\n" when ready; NULL: none */
};

/*
 * Serves until SIGTERM or SIGINT. The first one stops accepting and lets
 * answers end (shutdown_grace), a second one ends them at once. SIGHUP reads
 * the configuration again. 0, or -errno with the reason in the log.
 */
int daemon_serve(const struct daemon_setup *setup);

#endif
