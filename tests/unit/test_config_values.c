/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * What each type of value takes and refuses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "config/config.h"
#include "config_help.h"

static void
test_config_values_of_each_type(void **state)
{
	static const struct {
		const char *text;
		int64_t expected_ms;
	} durations[] = {{"90", 90000}, {"1500ms", 1500}, {"10s", 10000},
	    {"5m", 300000}, {"5min", 300000}, {"1h", 3600000},
	    {"1h30m", 5400000}, {"1.5h", 5400000}, {"2d", 172800000},
	    {"1.5", 1500}};
	static const char *const bad_durations[] = {"", "x", "1x", "-1", "1h30",
	    "10 s", "1e3", "0x10", "h", "1.", ".5", "99999999999999999999h",
	    "500ms", "8d", "nan", "1,5"};
	static const struct {
		const char *text;
		int64_t expected;
	} sizes[] = {{"0", 0}, {"65536", 65536}, {"24K", 24576},
	    {"24KiB", 24576}, {"32M", 33554432}, {"1G", 1073741824},
	    {"1.5M", 1572864}, {"10B", 10}};
	static const char *const bad_sizes[] = {
	    "", "K", "1k", "1KB", "-1", "1T", "1 K", "9999999G", "inf"};
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++) {
		struct config *c;

		snprintf(text, sizeof(text), "idle_timeout = \"%s\"\n",
		    durations[i].text);
		c = load(text);
		assert_int_equal(c->idle_timeout_ms, durations[i].expected_ms);
		config_free(c);
	}
	for (size_t i = 0; i < sizeof(bad_durations) / sizeof(char *); i++) {
		snprintf(text, sizeof(text), "idle_timeout = \"%s\"\n",
		    bad_durations[i]);
		assert_refused(text, ":1: idle_timeout: '");
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct config *c;

		snprintf(
		    text, sizeof(text), "max_body = \"%s\"\n", sizes[i].text);
		c = load(text);
		assert_int_equal(c->max_body, sizes[i].expected);
		config_free(c);
	}
	for (size_t i = 0; i < sizeof(bad_sizes) / sizeof(char *); i++) {
		snprintf(
		    text, sizeof(text), "max_body = \"%s\"\n", bad_sizes[i]);
		assert_refused(text, ":1: max_body: '");
	}
}

static void
test_config_urls(void **state)
{
	static const struct {
		const char *url, *origin, *authority, *base_path;
		bool is_private;
	} good[] = {
	    {"https://h.example", "https://h.example", "h.example", "", false},
	    {"https://h.example/", "https://h.example", "h.example", "", false},
	    {"https://h.example/v1", "https://h.example", "h.example", "/v1",
		false},
	    {"https://h.example/v1///", "https://h.example", "h.example", "/v1",
		false},
	    {"HTTPS://H.Example:443/A/b", "https://h.example", "h.example",
		"/A/b", false},
	    {"http://h.example:80/", "http://h.example", "h.example", "",
		false},
	    {"http://h.example:443/", "http://h.example:443", "h.example:443",
		"", false},
	    {"http://127.0.0.1:8080", "http://127.0.0.1:8080", "127.0.0.1:8080",
		"", true},
	    {"http://[::1]:80/x", "http://[::1]", "[::1]", "/x", true},
	    {"http://[2001:DB8::1]:81", "http://[2001:db8::1]:81",
		"[2001:db8::1]:81", "", false},
	    {"http://h/a%2Fb/\xff", "http://h", "h", "/a%2Fb/\xff", true},
	    {"http://h/.well/..x/a.", "http://h", "h", "/.well/..x/a.", true},
	};
	static const char *const bad[] = {"", "h", "ftp://h",
	    "http:", "http://", "http:///v1", "http://:80", "http://h:0",
	    "http://h:65536", "http://h:x", "http://h:", "http://user@h",
	    "http://u:p@h/v1", "http://h/v1?key=1", "http://h?x", "http://h#f",
	    "http://h/v1#f", "http://h/a//b", "http://h//a", "http://h/./a",
	    "http://h/a/..", "http://h/a/../b", "http://h/a b", "http://h b/",
	    "http://[::1", "http://[nope]/", "http://::1/", "http://h\\x/",
	    "http://h%20/"};
	char text[300];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct config *c;
		const struct config_upstream *u;

		snprintf(text, sizeof(text), "upstream x { url = '%s' }",
		    good[i].url);
		c = load(text);
		u = &c->upstreams[0];
		assert_string_equal(u->origin, good[i].origin);
		assert_string_equal(u->authority, good[i].authority);
		assert_string_equal(u->base_path, good[i].base_path);
		if (u->is_private != good[i].is_private)
			fail_msg("%s: private", good[i].url);
		config_free(c);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(
		    text, sizeof(text), "upstream x { url = '%s' }", bad[i]);
		assert_refused(text, ":1: upstream x: url: ");
		assert_refused(text, " is not a URL such as");
	}
}

static void
test_config_private_hosts(void **state)
{
	static const char *const yes[] = {"localhost", "a.localhost",
	    "127.255.0.1", "10.1.2.3", "172.16.0.1", "172.31.9.9",
	    "192.168.0.1", "169.254.1.1", "100.64.0.1", "[::1]", "[fd12::1]",
	    "[fe80::9]", "[::ffff:10.0.0.1]", "gpu", "gpu.lan", "gpu.local",
	    "x.internal", "nas.home.arpa"};
	static const char *const no[] = {"api.openai.com", "8.8.8.8",
	    "172.32.0.1", "192.169.0.1", "100.128.0.1", "[2001:db8::1]",
	    "[::ffff:8.8.8.8]", "localhost.evil.com", "lan.example"};
	char text[128];

	(void)state;
	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0;
		     i < (k == 0 ? sizeof(yes) : sizeof(no)) / sizeof(char *);
		     i++) {
			const char *host = k == 0 ? yes[i] : no[i];
			struct config *c;

			snprintf(text, sizeof(text),
			    "upstream x { url = \"http://%s:99/\" }", host);
			c = load(text);
			if (c->upstreams[0].is_private != (k == 0))
				fail_msg("%s", host);
			config_free(c);
		}
}

static void
test_config_listen_is_loopback(void **state)
{
	static const char *const loopback[] = {"127.0.0.1:7717", "[::1]:7717",
	    "localhost:7717", "127.0.0.2:0", "LOCALHOST:1"};
	static const char *const open[] = {
	    "0.0.0.0:80", "[::]:80", "192.168.1.2:7717", "box.lan:7717"};
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof(loopback) / sizeof(loopback[0]); i++) {
		struct config *c;

		snprintf(text, sizeof(text), "listen = \"%s\"", loopback[i]);
		c = load(text);
		assert_true(c->listen_is_loopback);
		config_free(c);
	}
	for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
		struct config *c;

		snprintf(text, sizeof(text),
		    "listen = \"%s\"\ntoken = 0123456789abcdef", open[i]);
		c = load(text);
		assert_false(c->listen_is_loopback);
		config_free(c);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_config_values_of_each_type),
	    cmocka_unit_test(test_config_urls),
	    cmocka_unit_test(test_config_private_hosts),
	    cmocka_unit_test(test_config_listen_is_loopback),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
