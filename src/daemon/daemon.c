/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Setup, run, teardown; teardown is the mirror of setup. Signals arrive as a
 * descriptor of the loop.
 */
#include "daemon/daemon.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef HAVE_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

#include "base/keyhash.h"
#include "base/log.h"
#include "base/port_file.h"
#include "config/config.h"
#include "live/api.h"
#include "live/feed.h"
#include "live/reader_thread.h"
#include "proxy/listen.h"
#include "proxy/loop.h"
#include "proxy/proxy.h"
#include "recorder.h"
#include "store/journal.h"
#include "store/store.h"

enum { DAEMON_WATCH_MS = 1000, DAEMON_STORE_STOP_MS = 10000 };

struct daemon {
	struct config *config;
	const struct config_source *source;
	struct keyhash keys;
	struct loop *loop;
	struct recorder *recorder;
	struct reader_thread *reader;
	struct feed *feed;
	struct api *api;
	struct proxy *proxy;
	int signal_fd;
	int listen_fd;
	int port;
	struct loop_fd *signals;
	struct loop_timer *watch;
	struct loop_timer *grace;
	bool is_stopping;
};

static void
daemon_notify(const char *state)
{
#ifdef HAVE_SYSTEMD
	sd_notify(0, state);
#else
	(void)state;
#endif
}

/* No core file (it would hold keys and prompts), no ptrace by others, and as
 * many descriptors as the system allows. */
static void
daemon_limit_itself(void)
{
	struct rlimit none = {0, 0}, files;

	setrlimit(RLIMIT_CORE, &none);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	prctl(PR_SET_DUMPABLE, 0);
#endif
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	signal(SIGPIPE, SIG_IGN);
}

/* -- stopping and reloading ------------------------------------------- */

static void
daemon_on_drained(void *cls)
{
	struct daemon *d = cls;

	loop_stop(d->loop);
}

static void
daemon_on_grace(void *cls)
{
	struct daemon *d = cls;

	d->grace = NULL;
	log_warn("shutdown_grace is over: ending what is in flight");
	proxy_abort(d->proxy);
}

static void
daemon_stop(struct daemon *d)
{
	if (d->is_stopping) {
		log_info("ending what is in flight");
		proxy_abort(d->proxy);
		return;
	}
	d->is_stopping = true;
	log_info("stopping: no new requests, answers under way may end");
	daemon_notify("STOPPING=1");
	d->grace = loop_timer_add(
	    d->loop, d->config->shutdown_grace_ms, daemon_on_grace, d);
	proxy_drain(d->proxy, daemon_on_drained, d);
}

static void
daemon_release_config(void *cls, const struct config *old)
{
	(void)cls;
	config_free((struct config *)(uintptr_t)old);
}

static void
daemon_reload(struct daemon *d)
{
	struct config *fresh = NULL;
	char *error = NULL;

	daemon_notify("RELOADING=1");
	if (config_load(d->source, &fresh, &error) < 0) {
		log_err("configuration not reloaded, the old one stays in "
			"force:");
		for (char *line = strtok(error, "\n"); line != NULL;
		     line = strtok(NULL, "\n"))
			log_err("%s", line);
		feed_notice(d->feed, "error",
		    "the configuration has mistakes and was not reloaded; "
		    "see the log");
		free(error);
		daemon_notify("READY=1");
		return;
	}
	log_set_level((enum log_level)fresh->log_level);
	proxy_set_config(d->proxy, fresh, daemon_release_config, NULL);
	d->config = fresh;
	log_info("configuration reloaded");
	feed_notice(d->feed, "notice", "the configuration was reloaded");
	daemon_notify("READY=1");
}

static void
daemon_on_signal(void *cls, uint32_t events)
{
	struct daemon *d = cls;
	struct signalfd_siginfo info;

	(void)events;
	while (
	    read(d->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			daemon_reload(d);
		else
			daemon_stop(d);
	}
}

static void
daemon_on_watch(void *cls)
{
	struct daemon *d = cls;

	recorder_watch(d->recorder);
	d->watch = loop_timer_add(d->loop, DAEMON_WATCH_MS, daemon_on_watch, d);
}

/* -- setup ------------------------------------------------------------ */

static int
daemon_setup_signals(struct daemon *d)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	d->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (d->signal_fd < 0)
		return -errno;
	d->signals = loop_add_fd(
	    d->loop, d->signal_fd, EPOLLIN, daemon_on_signal, d);
	return d->signals != NULL ? 0 : -errno;
}

/* The key's file stands beside the database, under a name of its own. */
static int
daemon_open_keys(struct daemon *d)
{
	char path[4096];
	int r;

	snprintf(path, sizeof(path), "%s.key", d->config->database);
	r = keyhash_open(&d->keys, path);
	if (r < 0)
		log_err("cannot use the key file %s: %s", path,
		    r == -EPERM ? "others may read it (chmod 600)"
				: strerror(-r));
	return r;
}

/* A socket that systemd holds for us, -1 where there is none. */
static int
daemon_inherited_socket(void)
{
#ifdef HAVE_SYSTEMD
	int n = sd_listen_fds(1);

	if (n == 1)
		return SD_LISTEN_FDS_START;
	if (n > 1)
		log_warn("systemd passed %d sockets, the first is used", n);
	if (n >= 1)
		return SD_LISTEN_FDS_START;
#endif
	return -1;
}

static int
daemon_port_of(int fd)
{
	struct sockaddr_storage a;
	socklen_t n = sizeof(a);

	if (getsockname(fd, (struct sockaddr *)&a, &n) < 0)
		return -1;
	if (a.ss_family == AF_INET6)
		return ntohs(((struct sockaddr_in6 *)&a)->sin6_port);
	return ntohs(((struct sockaddr_in *)&a)->sin_port);
}

static void
daemon_state(void *cls, struct api_state *state_out)
{
	struct daemon *d = cls;

	state_out->n_upstreams = d->config->n_upstreams;
	proxy_get_counts(d->proxy, &state_out->proxy);
	store_writer_get_state(recorder_writer(d->recorder), &state_out->store);
	journal_get_counts(recorder_journal(d->recorder), &state_out->journal);
}

/* "127.0.0.1:7717", with the port that was really bound. */
static void
daemon_listen_name(const struct daemon *d, char *out, size_t n_out)
{
	const char *host = d->config->listen_host;
	bool is_v6 = strchr(host, ':') != NULL;

	snprintf(out, n_out, "%s%s%s:%d", is_v6 ? "[" : "", host,
	    is_v6 ? "]" : "", d->port);
}

/* What watches and answers: the feed, the reader thread, the admin API. */
static int
daemon_open_live(struct daemon *d)
{
	char listen[128];
	int r = reader_thread_start(d->loop, d->config->database, &d->reader);

	if (r < 0)
		return r;
	daemon_listen_name(d, listen, sizeof(listen));
	d->feed = feed_new(&(struct feed_setup){.loop = d->loop,
	    .listen = listen,
	    .last_seq = recorder_last_seq(d->recorder),
	    .resume = reader_thread_resume,
	    .resume_cls = d->reader});
	if (d->feed == NULL)
		return -ENOMEM;
	recorder_set_feed(d->recorder, d->feed);
	d->api = api_new(&(struct api_setup){.listen = listen,
	    .feed = d->feed,
	    .reader = d->reader,
	    .state = daemon_state,
	    .state_cls = d});
	return d->api != NULL ? 0 : -ENOMEM;
}

static int
daemon_listen(struct daemon *d)
{
	d->listen_fd = daemon_inherited_socket();
	if (d->listen_fd < 0)
		d->listen_fd = listen_open(
		    d->config->listen_host, d->config->listen_port);
	if (d->listen_fd < 0)
		return d->listen_fd;
	d->port = daemon_port_of(d->listen_fd);
	return 0;
}

static int
daemon_setup(struct daemon *d, const struct daemon_setup *setup)
{
	int r;

	d->signal_fd = -1;
	d->listen_fd = -1;
	d->config = *setup->config;
	*setup->config = NULL;
	d->source = setup->source;
	log_set_level((enum log_level)d->config->log_level);
	daemon_limit_itself();
	d->loop = loop_new();
	if (d->loop == NULL)
		return -errno;
	r = daemon_setup_signals(d);
	if (r < 0)
		return r;
	r = daemon_listen(d);
	if (r < 0)
		return r;
	r = recorder_new(d->config->database, &d->recorder);
	if (r < 0)
		return r;
	r = daemon_open_keys(d);
	if (r < 0)
		return r;
	r = daemon_open_live(d);
	if (r < 0)
		return r;
	return proxy_new(&(struct proxy_setup){.loop = d->loop,
			     .config = d->config,
			     .keys = &d->keys,
			     .listen_fd = d->listen_fd,
			     .sink = recorder_sink(d->recorder),
			     .admin = api_handle,
			     .admin_cls = d->api},
	    &d->proxy);
}

static void
daemon_teardown(struct daemon *d)
{
	loop_timer_cancel(d->grace);
	loop_timer_cancel(d->watch);
	/* Nobody asks any more, then nothing answers any more. */
	proxy_free(d->proxy);
	if (d->recorder != NULL)
		recorder_set_feed(d->recorder, NULL);
	reader_thread_stop(d->reader);
	api_free(d->api);
	feed_free(d->feed);
	recorder_free(d->recorder, DAEMON_STORE_STOP_MS);
	if (d->signals != NULL)
		loop_remove_fd(d->signals);
	if (d->signal_fd >= 0)
		close(d->signal_fd);
	loop_free(d->loop);
	config_free(d->config);
}

int
daemon_serve(const struct daemon_setup *setup)
{
	struct daemon d = {0};
	int r = daemon_setup(&d, setup);

	if (r < 0)
		goto out;
	daemon_on_watch(&d);
	if (setup->port_file != NULL)
		r = port_file_write(setup->port_file, d.port);
	if (r < 0) {
		log_err("cannot write %s: %s", setup->port_file, strerror(-r));
		goto out;
	}
	log_info("listening on %s (port %d), database %s",
	    d.config->listen_host, d.port, d.config->database);
	daemon_notify("READY=1");
	r = loop_run(d.loop);
	log_info("stopped");
out:
	daemon_teardown(&d);
	return r;
}
