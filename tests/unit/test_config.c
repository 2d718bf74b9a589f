/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include <errno.h>
#include <math.h>
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

#include "base/log.h"
#include "config/config.h"
#include "config/keys.h"
#include "config_help.h"

static void
test_config_defaults(void **state)
{
	struct config *c = load("");
	const struct config_upstream *u;
	char expected[300];

	(void)state;
	assert_string_equal(c->listen, "127.0.0.1:7717");
	assert_string_equal(c->listen_host, "127.0.0.1");
	assert_int_equal(c->listen_port, 7717);
	assert_true(c->listen_is_loopback);
	snprintf(expected, sizeof(expected), "%s/state/turnmeter/turnmeter.db",
	    test_dir);
	assert_string_equal(c->database, expected);
	assert_null(c->default_upstream);
	assert_null(c->timezone);
	assert_null(c->token);
	assert_int_equal(c->log_level, LOG_LEVEL_INFO);
	assert_int_equal(c->idle_timeout_ms, 3600000);
	assert_int_equal(c->max_body, 0);
	assert_int_equal(c->max_header, 24576);
	assert_int_equal(c->hold_body, 33554432);
	assert_int_equal(c->shutdown_grace_ms, 30000);
	assert_int_equal(c->pool_idle_ms, -1);
	assert_int_equal(c->n_allowed_hosts, 0);
	assert_int_equal(c->n_files, 1);
	u = config_find_upstream(c, "anthropic", 9);
	assert_non_null(u);
	assert_true(u->is_preset);
	assert_string_equal(u->version, "v1");
	assert_string_equal(u->base_path, "");
	assert_string_equal(u->price_provider, "anthropic");
	assert_int_equal(u->connect_timeout_ms, 10000);
	assert_true(isnan(u->power_watts));
	assert_null(u->proxy);
	assert_int_equal(config_upstream_pool_idle_ms(c, u), 55000);
	u = config_find_upstream(c, "ollama", 6);
	assert_non_null(u);
	assert_int_equal(config_upstream_pool_idle_ms(c, u), 4000);
	assert_null(config_find_upstream(c, "ollam", 5));
	assert_null(config_find_upstream(c, "ollamas", 7));
	config_free(c);
}

static void
test_config_every_section_is_read(void **state)
{
	struct config *c = load(
	    "# a comment\n"
	    "listen = \"[::1]:0\"   // another\n"
	    "database = \"~/x/t.db\"\n"
	    "default_upstream = cerebras\n"
	    "timezone = UTC\n"
	    "log_level = debug\n"
	    "idle_timeout = 90\n"
	    "max_body = 1G\n"
	    "max_header = 256K\n"
	    "hold_body = 1MiB\n"
	    "warn_turns = 0\n"
	    "warn_seconds = 7\n"
	    "token = \"abcdefghijklmnop\"\n"
	    "allowed_hosts = {\"meter.lan\", other.lan}\n"
	    "pool_idle = 0\n"
	    "shutdown_grace = 1m30s\n"
	    "upstream cerebras { url = \"https://API.cerebras.ai:8443/v1/\"\n"
	    "  tier = \"developer\"  protocol = openai-chat ask_usage = yes\n"
	    "  pace = on power_watts = 450 electricity_per_kwh = 0.30\n"
	    "  connect_timeout = 500ms ca_file = \"/dev/null\"\n"
	    "  proxy = \"socks5h://u:p@h:1\" limits = x price_provider = y }\n"
	    "upstream direct { url = \"http://[fe80::1]\" proxy = \"\" }\n"
	    "limit \"cerebras/qwen-3.8-27b\" { requests = \"450/min\"\n"
	    "  total_tokens = \"450000/min\"  uncached_tokens = 150000/min\n"
	    "  input_tokens = {\"5/10s\", \"100/day\"} output_tokens = 1/h\n"
	    "  concurrency = 4 algorithm = sliding cache_read_weight = 0 }\n"
	    "price \"cerebras/qwen-3.8-27b\" { input = 0.99 cache_read = 0.99\n"
	    "  output = 1.49 cache_write = 0 cache_write_1h = 2\n"
	    "  from = \"2026-09-01\" }\n"
	    "plan claude { upstream = \"anthropic\" usd = 100 per = \"month\" "
	    "}\n"
	    "budget monthly { usd = 200 warn_at = {50, 80, 100} stop = no\n"
	    "  scope = \"project:x\" }\n"
	    "alert desk { on = {\"limit\", \"refused\", \"budget\", "
	    "\"error\"}\n"
	    "  via = \"desktop\" }\n"
	    "alert hook { on = limit webhook = \"https://h/x\" exec = \"a b\" "
	    "}\n");
	const struct config_upstream *u = &c->upstreams[0];
	char expected[300];

	(void)state;
	snprintf(expected, sizeof(expected), "%s/x/t.db", test_dir);
	assert_string_equal(c->listen_host, "::1");
	assert_int_equal(c->listen_port, 0);
	assert_string_equal(c->database, expected);
	assert_string_equal(c->default_upstream, "cerebras");
	assert_string_equal(c->timezone, "UTC");
	assert_int_equal(c->log_level, LOG_LEVEL_DEBUG);
	assert_int_equal(c->idle_timeout_ms, 90000);
	assert_int_equal(c->max_body, INT64_C(1) << 30);
	assert_int_equal(c->max_header, 262144);
	assert_int_equal(c->hold_body, 1048576);
	assert_int_equal(c->warn_turns, 0);
	assert_int_equal(c->warn_seconds, 7);
	assert_string_equal(c->token, "abcdefghijklmnop");
	assert_int_equal(c->n_allowed_hosts, 2);
	assert_string_equal(c->allowed_hosts[0], "meter.lan");
	assert_string_equal(c->allowed_hosts[1], "other.lan");
	assert_int_equal(c->pool_idle_ms, 0);
	assert_int_equal(c->shutdown_grace_ms, 90000);
	assert_string_equal(u->name, "cerebras");
	assert_false(u->is_preset);
	assert_string_equal(u->host, "api.cerebras.ai");
	assert_string_equal(u->authority, "api.cerebras.ai:8443");
	assert_string_equal(u->origin, "https://api.cerebras.ai:8443");
	assert_string_equal(u->base_path, "/v1");
	assert_int_equal(u->port, 8443);
	assert_true(u->is_tls);
	assert_false(u->is_private);
	assert_string_equal(u->protocol, "openai-chat");
	assert_string_equal(u->tier, "developer");
	assert_string_equal(u->limits, "x");
	assert_string_equal(u->price_provider, "y");
	assert_true(u->ask_usage);
	assert_true(u->pace);
	assert_true(u->power_watts == 450);
	assert_true(u->electricity_per_kwh == 0.30);
	assert_int_equal(u->connect_timeout_ms, 500);
	assert_string_equal(u->ca_file, "/dev/null");
	assert_string_equal(u->proxy, "socks5h://u:p@h:1");
	assert_string_equal(c->upstreams[1].name, "direct");
	assert_string_equal(c->upstreams[1].proxy, "");
	assert_string_equal(c->upstreams[1].authority, "[fe80::1]");
	assert_true(c->upstreams[1].is_private);
	assert_int_equal(config_upstream_pool_idle_ms(c, u), 0);
	config_free(c);
}

static void
test_config_refuses_with_place_and_reason(void **state)
{
	static const char *const rows[][2] = {
	    {"listen = \"127.0.0.1\"", ":1: listen: "},
	    {"listen = \"127.0.0.1:70000\"", ":1: listen: "},
	    {"listen = \":80\"", ":1: listen: "},
	    {"listen = \"::1:80\"", "needs brackets"},
	    {"listen = \"[::1:80\"", ":1: listen: "},
	    {"listen = \"[zz]:80\"", ":1: listen: "},
	    {"listen = \"a b:80\"", ":1: listen: "},
	    {"\n\nlisten = \"0.0.0.0:80\"", ":3: listen: '0.0.0.0:80' is not a "
					    "loopback address"},
	    {"listen = \"meter.lan:80\"", "not a loopback address"},
	    {"listen = \"[::]:80\"", "not a loopback address"},
	    {"token = short", ":1: token: this is not 16 to 128"},
	    {"token = \"0123456789abcde/\"", ":1: token: this is not"},
	    {"max_header = 512K", "max_header: '512K' is not 4K to 256K"},
	    {"max_header = 1K", "is not 4K to 256K"},
	    {"idle_timeout = 0", "is not 1s to 604800s"},
	    {"log_level = loud", "is not error, warning, info or debug"},
	    {"timezone = \"Europe/Nowhere\"", ":1: timezone: "},
	    {"timezone = \"../../etc/passwd\"", ":1: timezone: "},
	    {"timezone = \"Europe\"", ":1: timezone: "},
	    {"database = \"relative.db\"", ":1: database: "},
	    {"warn_turns = 1.5", "is not a whole number"},
	    {"default_upstream = nobody", "there is no upstream 'nobody'"},
	    {"allowed_hosts = {\"http://x\"}", ":1: allowed_hosts: "},
	    {"upstream x { }", "upstream x: the key 'url' is missing"},
	    {"upstream v1 { url = \"http://h\" }", "'v1' is not another name"},
	    {"upstream api { url = \"http://h\" }", "is not another name"},
	    {"upstream v1beta { url = \"http://h\" }", "is not another name"},
	    {"upstream Big { url = \"http://h\" }", "'Big' is not a name"},
	    {"upstream \"-x\" { url = \"http://h\" }", "is not a name"},
	    {"upstream \"a/b\" { url = \"http://h\" }", "is not a name"},
	    {"upstream a234567890123456789012345678901234 "
	     "{ url = \"http://h\" }",
		"is not a name"},
	    {"upstream x { url = \"http://h\" ask_usage = maybe }",
		"upstream x: ask_usage: 'maybe' is not yes or no"},
	    {"upstream x { url = \"http://h\" protocol = soap }",
		"is not one of: openai-chat, "},
	    {"upstream x { url = \"http://h\" power_watts = many }",
		"is not a number"},
	    {"upstream x { url = \"http://h\" ca_file = \"/no/such\" }",
		"cannot read '/no/such': No such file"},
	    {"upstream x { url = \"http://h\" proxy = \"h:3128\" }",
		"upstream x: proxy: this is not a URL"},
	    {"limit \"nobody/m\" { requests = 1/min }",
		"there is no upstream 'nobody'"},
	    {"limit \"openai/m\" { }", "there is no limit in it"},
	    {"limit \"openai/m\" { requests = 450 }",
		"limit openai/m: requests: '450' is not a count and a"},
	    {"limit \"openai/m\" { requests = 450/week }", "is not a count"},
	    {"limit \"openai/m\" { requests = 450/0s }", "is not a count"},
	    {"limit \"openai/m\" { algorithm = magic requests = 1/s }",
		"is not one of: bucket, sliding, fixed"},
	    {"limit \"openai/m\" { requests = 1/s cache_read_weight = 2 }",
		"is not 0 to 1"},
	    {"price \"a/b\" { input = -1 }", "input: '-1' is not a number"},
	    {"price \"a/b\" { from = 2026-02-30 input = 1 }", "is not a day"},
	    {"price \"a/b\" { from = 2026-13-01 input = 1 }", "is not a day"},
	    {"price \"a/b\" { }", "there is no price in it"},
	    {"plan p { usd = 1 }", "plan p: the key 'upstream' is missing"},
	    {"plan p { usd = 1 upstream = nobody }", "no upstream 'nobody'"},
	    {"plan p { usd = 1 upstream = openai per = eon }",
		"is not one of: day, week, month, year"},
	    {"budget b { }", "budget b: the key 'usd' is missing"},
	    {"budget b { usd = 1 warn_at = {50, 0} }", "'0' is not 1 to 1000"},
	    {"alert a { via = desktop }", "the key 'on' is missing"},
	    {"alert a { on = limit }", "there is no way to tell"},
	    {"alert a { on = rain via = desktop }", "is not one of: limit"},
	    {"alert a { on = limit webhook = \"ftp://x\" }", "is not a URL"},
	    {"listen = 1.2.3.4:1\nlisten = 1.2.3.4:2",
		":2: 'listen' is set again; first in line 1"},
	    {"upstream x { url = \"http://a\" }\nupstream x { tier = y }",
		"duplicate title 'x'"},
	    {"nosuch = 1", ":1: unknown key 'nosuch'"},
	    {"\nnosuch { }", ":2: unknown key 'nosuch'"},
	    {"upstream x { url = \"http://h\"\nport = 3 }",
		":2: unknown key 'port' in the section upstream"},
	    {"include(\"/etc/passwd\")", "unknown key 'include'"},
	    {"upstream { }", ":1: missing title"},
	    {"listen \"x\"", "missing equal sign"},
	    {"listen = \"127.0.0.1:1\nidle_timeout = 3", "end of file"},
	    {"upstream x {\nurl = \"http://h\"",
		":3: premature end of file: the section upstream is not "
		"closed"},
	    {"warn_turns = 1 /* no end", "a comment is not closed"},
	    {"}", "unexpected closing brace"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_refused(rows[i][0], rows[i][1]);
}

static void
test_config_lists_every_problem(void **state)
{
	char *error = refusal(
	    "foo = 1\n"
	    "idle_timeout = soon\n"
	    "bar = {1, 2}\n"
	    "upstream x { url = \"http://h\" baz = 1 qux = 2\n"
	    "  pace = perhaps }\n"
	    "foo = 2\n"
	    "upstream y { foo = 3 }\n");

	(void)state;
	assert_string_equal(error,
	    ":1: unknown key 'foo'\n"
	    ":2: idle_timeout: 'soon' is not a duration such as 90, 500ms, "
	    "10s, 5m, 1h or 2d\n"
	    ":3: unknown key 'bar'\n"
	    ":4: unknown key 'baz' in the section upstream\n"
	    ":4: unknown key 'qux' in the section upstream\n"
	    ":5: upstream x: pace: 'perhaps' is not yes or no\n"
	    ":7: unknown key 'foo' in the section upstream\n"
	    ":7: upstream y: the key 'url' is missing, and there is no preset "
	    "of that name");
	free(error);
}

static void
test_config_sources_override_key_by_key(void **state)
{
	static const char *const settings[] = {"warn_turns=9",
	    "upstream.openai.tier=t5", "upstream.x.y.url=http://127.0.0.1:5",
	    "allowed_hosts=c, d"};
	static const char text[] = "warn_turns = 1\nwarn_seconds = 1\n"
				   "idle_timeout = 1m\nallowed_hosts = {a, b}\n"
				   "upstream openai { tier = t1 pace = yes }\n";
	struct config_source source = {.settings = settings, .n_settings = 4};
	const struct config_upstream *u;
	struct config *c;
	char *error;
	size_t n;

	(void)state;
	make_dir("config");
	make_dir("config/turnmeter");
	write_file("config/turnmeter/turnmeter.conf", text, strlen(text));
	setenv("TURNMETER_WARN_TURNS", "5", 1);
	setenv("TURNMETER_WARN_SECONDS", "6", 1);
	if (config_load(&source, &c, &error) != 0)
		fail_msg("%s", error);
	unsetenv("TURNMETER_WARN_TURNS");
	unsetenv("TURNMETER_WARN_SECONDS");
	assert_int_equal(c->idle_timeout_ms, 60000);
	assert_int_equal(c->warn_seconds, 6);
	assert_int_equal(c->warn_turns, 9);
	assert_int_equal(c->n_allowed_hosts, 2);
	assert_string_equal(c->allowed_hosts[0], "c");
	assert_string_equal(c->allowed_hosts[1], "d");
	u = config_find_upstream(c, "openai", 6);
	assert_string_equal(u->tier, "t5");
	assert_true(u->pace);
	assert_string_equal(u->base_path, "/v1");
	assert_false(u->is_preset);
	assert_ptr_equal(u, &c->upstreams[0]);
	assert_non_null(config_find_upstream(c, "x.y", 3));
	for (const struct config_setting *s = config_settings(c, &n); n > 0;
	     s++, n--) {
		if (strcmp(s->key->name, "warn_turns") == 0)
			assert_string_equal(s->origin, "--set warn_turns");
		if (strcmp(s->key->name, "warn_seconds") == 0)
			assert_string_equal(
			    s->origin, "TURNMETER_WARN_SECONDS");
		if (strcmp(s->key->name, "idle_timeout") == 0)
			assert_non_null(strstr(s->origin, "turnmeter.conf:3"));
		if (strcmp(s->key->name, "log_level") == 0)
			assert_string_equal(s->origin, "default");
	}
	config_free(c);
}

static void
test_config_environment(void **state)
{
	static const char *const bad[][3] = {
	    {"TURNMETER_LISTEN", "x", "TURNMETER_LISTEN: listen: 'x' is not"},
	    {"TURNMETER_LISTEN", "0.0.0.0:1",
		"TURNMETER_LISTEN: listen: '0.0.0.0:1' is not a loopback"},
	    {"TURNMETER_TOKEN", "secret-but-bad/",
		"TURNMETER_TOKEN: token: this is not"},
	};
	struct config_source source = {.file = "/dev/null"};
	struct config *c;
	char *error;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		setenv(bad[i][0], bad[i][1], 1);
		assert_int_equal(config_load(&source, &c, &error), -EINVAL);
		unsetenv(bad[i][0]);
		if (strstr(error, bad[i][2]) == NULL)
			fail_msg("'%s' is not in '%s'", bad[i][2], error);
		assert_null(strstr(error, "secret"));
		free(error);
	}
	source.file = NULL;
	setenv("TURNMETER_CONFIG", "/nonexistent/t.conf", 1);
	assert_int_equal(config_load(&source, &c, &error), -EINVAL);
	unsetenv("TURNMETER_CONFIG");
	assert_string_equal(error,
	    "/nonexistent/t.conf: cannot read it: No such file or directory");
	free(error);
	source.file = "/dev/null";
	setenv("STATE_DIRECTORY", "/var/lib/a:/var/lib/b", 1);
	assert_int_equal(config_load(&source, &c, &error), 0);
	unsetenv("STATE_DIRECTORY");
	assert_string_equal(c->database, "/var/lib/a/turnmeter.db");
	config_free(c);
}

static void
test_config_settings_refused(void **state)
{
	static const char *const bad[][2] = {
	    {"listen", "--set listen: expected KEY=VALUE"},
	    {"nosuch=1", "--set nosuch: unknown key"},
	    {"upstream.x=1", "--set upstream.x: unknown key"},
	    {"upstream.x.nosuch=1", "--set upstream.x.nosuch: unknown key"},
	    {"nosuch.x.url=1", "--set nosuch.x.url: unknown key"},
	    {"upstream.x.tier=1", "upstream x: the key 'url' is missing"},
	    {"max_header=1", "--set max_header: max_header: '1' is not 4K"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct config_source source = {.file = "/dev/null",
		    .settings = &bad[i][0],
		    .n_settings = 1};
		struct config *c;
		char *error;

		assert_int_equal(config_load(&source, &c, &error), -EINVAL);
		if (strstr(error, bad[i][1]) == NULL)
			fail_msg("'%s' is not in '%s'", bad[i][1], error);
		free(error);
	}
}

static void
test_config_secrets_stay_out_of_messages(void **state)
{
	char *error = refusal(
	    "token = \"hush hush hush hush\"\n"
	    "upstream x { url = \"https://u:hush@h\" proxy = \"hush://h\" }\n"
	    "upstream y { url = \"https://h/v1?key=hush\" }\n"
	    "alert a { on = limit webhook = \"hush\" }\n");

	(void)state;
	assert_null(strstr(error, "hush"));
	free(error);
}

/* What a broken file leaves open must not swallow the next one. */
static void
test_config_recovers_after_a_broken_file(void **state)
{
	static const char *const broken[] = {"listen = \"127.0.0.1:1",
	    "listen = '127.0.0.1:1", "/* no end", "listen = \"a\\",
	    "upstream x {", "listen = /*", "listen = \"${X", "listen = '\\",
	    "/* **", "\"", "'"};

	(void)state;
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		struct config_source source = {
		    .file = write_file("b.conf", broken[i], strlen(broken[i]))};
		struct config *c;
		char *error;

		if (config_load(&source, &c, &error) == 0)
			config_free(c);
		free(error);
		c = load("warn_turns = 17\n");
		assert_int_equal(c->warn_turns, 17);
		config_free(c);
	}
}

static void
test_config_keeps_long_values_whole(void **state)
{
	static char text[70000];
	struct config *c;
	size_t n;

	(void)state;
	n = (size_t)sprintf(text, "upstream x { url = \"http://h\" tier = '");
	memset(text + n, 'a', 65536);
	strcpy(text + n + 65536, "' }\n");
	c = load(text);
	assert_int_equal(strlen(c->upstreams[0].tier), 65536);
	config_free(c);
}

static void
test_config_odd_files(void **state)
{
	struct config_source source = {.file = test_dir};
	struct config *c;
	char *error, *big;

	(void)state;
	assert_int_equal(config_load(&source, &c, &error), -EINVAL);
	assert_non_null(strstr(error, "cannot read it: Is a directory"));
	free(error);
	source.file = write_file("nul.conf", "listen\0= 1", 10);
	assert_int_equal(config_load(&source, &c, &error), -EINVAL);
	assert_non_null(strstr(error, "it holds a NUL byte"));
	free(error);
	big = malloc(2 << 20);
	memset(big, '#', 2 << 20);
	source.file = write_file("big.conf", big, 2 << 20);
	assert_int_equal(config_load(&source, &c, &error), -EINVAL);
	assert_non_null(strstr(error, "it is larger than 1 MiB"));
	free(error);
	free(big);
}

/* Random edits of a good file: refused or read, never worse. */
static void
test_config_survives_random_edits(void **state)
{
	static const char good[] =
	    "listen = \"127.0.0.1:7717\" # x\nallowed_hosts = {a, b}\n"
	    "upstream x { url = \"http://h/v1\" tier = 'a' }\n"
	    "limit \"x/m\" { requests = {1/min, 5/day} }\n"
	    "price \"x/m\" { input = 0.99 from = 2026-09-01 }\n";
	unsigned seed = 7;

	(void)state;
	for (int i = 0; i < 2000; i++) {
		char text[sizeof(good)];
		struct config_source source;
		struct config *c;
		char *error;

		memcpy(text, good, sizeof(good));
		for (int k = 0; k < 1 + i % 4; k++)
			text[rand_r(&seed) % (sizeof(good) - 1)] =
			    (char)(1 + rand_r(&seed) % 255);
		source = (struct config_source){
		    .file = write_file("r.conf", text, strlen(text))};
		if (config_load(&source, &c, &error) == 0)
			config_free(c);
		else
			assert_non_null(error);
		free(error);
	}
}

static void
test_config_presets_are_sound(void **state)
{
	struct config *c = load("");
	static const char *const known[] = {"openai", "anthropic", "openrouter",
	    "groq", "cerebras", "gemini", "mistral", "xai", "deepseek",
	    "moonshot", "zai", "together", "fireworks", "perplexity",
	    "github-copilot", "huggingface", "cohere", "sambanova", "nebius",
	    "opencode", "kilo", "chatgpt", "ollama", "llamacpp", "lmstudio",
	    "vllm", "sglang"};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (config_find_upstream(c, known[i], strlen(known[i])) == NULL)
			fail_msg("no preset %s", known[i]);
	for (size_t i = 0; i < c->n_upstreams; i++) {
		const struct config_upstream *u = &c->upstreams[i];

		assert_true(u->is_preset);
		if (u->is_private == u->is_tls)
			fail_msg("%s: TLS and privacy", u->name);
		for (size_t k = 0; k < i; k++)
			if (strcmp(u->name, c->upstreams[k].name) == 0)
				fail_msg("%s: twice", u->name);
	}
	config_free(c);
}

static void
test_config_table_of_keys_is_sound(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_config_keys; i++) {
		const struct config_key *k = &config_keys[i];
		size_t n = strlen(k->name);

		assert_ptr_equal(config_key_find(k->section, k->name, n), k);
		assert_non_null(k->help);
		if (k->help[strlen(k->help) - 1] == '.')
			fail_msg("%s: help ends with a dot", k->name);
		if ((k->initial != NULL) + (k->fallback != NULL) +
			k->is_required !=
		    1)
			fail_msg("%s: initial, fallback or required", k->name);
		if (k->initial == NULL && k->example == NULL)
			fail_msg("%s: no example", k->name);
		if (k->max < k->min)
			fail_msg("%s: range", k->name);
		if ((k->type == CONFIG_TYPE_CHOICE) != (k->choices != NULL))
			fail_msg("%s: choices", k->name);
		assert_non_null(config_type_name(k->type));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_config_defaults),
	    cmocka_unit_test(test_config_every_section_is_read),
	    cmocka_unit_test(test_config_refuses_with_place_and_reason),
	    cmocka_unit_test(test_config_lists_every_problem),
	    cmocka_unit_test(test_config_sources_override_key_by_key),
	    cmocka_unit_test(test_config_environment),
	    cmocka_unit_test(test_config_settings_refused),
	    cmocka_unit_test(test_config_secrets_stay_out_of_messages),
	    cmocka_unit_test(test_config_recovers_after_a_broken_file),
	    cmocka_unit_test(test_config_keeps_long_values_whole),
	    cmocka_unit_test(test_config_odd_files),
	    cmocka_unit_test(test_config_survives_random_edits),
	    cmocka_unit_test(test_config_presets_are_sound),
	    cmocka_unit_test(test_config_table_of_keys_is_sound),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
