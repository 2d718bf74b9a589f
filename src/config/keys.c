/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Rows stand in the order in which `config show` and the example file give
 * them. Keys of the sections limit, price, plan, budget and alert are read and
 * checked here; the rooms that act on them read them with config_settings().
 */
#include "config/keys.h"

#include <assert.h>
#include <string.h>

#include "config/config.h"

#define AT_TOP(field) \
	.section = CONFIG_TOP, .offset = offsetof(struct config, field)
#define AT_UPSTREAM(field)          \
	.section = CONFIG_UPSTREAM, \
	.offset = offsetof(struct config_upstream, field)
#define CHECKED(where)                                            \
	.section = CONFIG_##where, .offset = CONFIG_CHECKED_ONLY, \
	.reloads = true

#define SECOND INT64_C(1000)
#define HOUR   (3600 * SECOND)
#define KIB    INT64_C(1024)
#define MIB    (1024 * KIB)
#define GIB    (1024 * MIB)

static const char *const config_protocols[] = {"openai-chat",
    "openai-responses", "openai-completions", "openai-embeddings", "anthropic",
    "gemini", "ollama", "llamacpp", "cohere", "bedrock", NULL};
static const char *const config_algorithms[] = {
    "bucket", "sliding", "fixed", NULL};
static const char *const config_periods[] = {
    "day", "week", "month", "year", NULL};
static const char *const config_alert_events[] = {
    "limit", "refused", "budget", "error", NULL};
static const char *const config_alert_ways[] = {"desktop", NULL};

const struct config_key config_keys[] = {
    {AT_TOP(listen), .name = "listen", .type = CONFIG_TYPE_LISTEN,
	.initial = "127.0.0.1:7717",
	.help = "Address and port to listen on; port 0 takes a free one; an "
		"address that is not loopback needs a token"},
    {AT_TOP(database), .name = "database", .type = CONFIG_TYPE_PATH,
	.fallback = "$STATE_DIRECTORY/turnmeter.db under systemd, else "
		    "$XDG_STATE_HOME/turnmeter/turnmeter.db, else "
		    "~/.local/state/turnmeter/turnmeter.db",
	.example = "/var/lib/turnmeter/turnmeter.db",
	.help = "The database file; the journal and the hash key lie beside "
		"it"},
    {AT_TOP(default_upstream), .name = "default_upstream",
	.type = CONFIG_TYPE_UPSTREAM, .reloads = true, .fallback = "none",
	.example = "openai",
	.help = "The upstream of paths that name none and whose shape tells "
		"none"},
    {AT_TOP(timezone), .name = "timezone", .type = CONFIG_TYPE_ZONE,
	.reloads = true, .fallback = "the system's", .example = "Europe/Berlin",
	.help = "Time zone in which reports cut days and months"},
    {AT_TOP(log_level), .name = "log_level", .type = CONFIG_TYPE_LEVEL,
	.reloads = true, .initial = "info",
	.help = "Least important messages to log: error, warning, info or "
		"debug"},
    {AT_TOP(idle_timeout_ms), .name = "idle_timeout",
	.type = CONFIG_TYPE_DURATION, .reloads = true, .initial = "1h",
	.min = SECOND, .max = 168 * HOUR,
	.help = "Longest silence of an upstream, or of a client in mid-upload, "
		"before the exchange is ended"},
    {AT_TOP(max_body), .name = "max_body", .type = CONFIG_TYPE_SIZE,
	.reloads = true, .initial = "0", .max = 1024 * GIB,
	.help = "Largest request body that is relayed; larger ones get 413; 0 "
		"for no limit"},
    {AT_TOP(max_header), .name = "max_header", .type = CONFIG_TYPE_SIZE,
	.initial = "24K", .min = 4 * KIB, .max = 256 * KIB,
	.help = "Largest head of a request; it decides the memory of each "
		"kept-alive connection"},
    {AT_TOP(hold_body), .name = "hold_body", .type = CONFIG_TYPE_SIZE,
	.reloads = true, .initial = "32M", .min = KIB, .max = GIB,
	.help = "Largest request body that is held where it must be read "
		"before it is sent (pace, ask_usage, a budget's stop)"},
    {AT_TOP(warn_turns), .name = "warn_turns", .type = CONFIG_TYPE_COUNT,
	.reloads = true, .initial = "3", .max = 1000,
	.help = "Warn when a limit will refuse within this many turns; 0 for "
		"never"},
    {AT_TOP(warn_seconds), .name = "warn_seconds", .type = CONFIG_TYPE_COUNT,
	.reloads = true, .initial = "30", .max = 86400,
	.help = "Warn when a limit will refuse within this many seconds; 0 for "
		"never"},
    {AT_TOP(token), .name = "token", .type = CONFIG_TYPE_TOKEN, .reloads = true,
	.is_secret = true, .fallback = "none", .example = "${METER_TOKEN}",
	.help = "Access token that every request must bring, as /~TOKEN/ in "
		"front of its path or in the header x-turnmeter-token"},
    {AT_TOP(allowed_hosts), .name = "allowed_hosts", .type = CONFIG_TYPE_HOST,
	.is_list = true, .reloads = true,
	.fallback = "loopback names and the listen address",
	.example = "meter.lan",
	.help = "Further names under which clients may reach the daemon (Host "
		"header)"},
    {AT_TOP(pool_idle_ms), .name = "pool_idle", .type = CONFIG_TYPE_DURATION,
	.reloads = true,
	.fallback = "4s to loopback and private addresses, 55s to others",
	.example = "20s", .min = 0, .max = HOUR,
	.help = "How long an idle upstream connection may be used again"},
    {AT_TOP(shutdown_grace_ms), .name = "shutdown_grace",
	.type = CONFIG_TYPE_DURATION, .reloads = true, .initial = "30s",
	.max = 24 * HOUR,
	.help = "How long streams may go on after SIGTERM before they are "
		"ended"},

    {AT_UPSTREAM(url), .name = "url", .type = CONFIG_TYPE_URL, .reloads = true,
	.fallback = "the preset's; needed where there is none",
	.example = "https://api.cerebras.ai/v1",
	.help = "Where the provider is: scheme, host, and the path in front of "
		"every request's"},
    {AT_UPSTREAM(protocol), .name = "protocol", .type = CONFIG_TYPE_CHOICE,
	.reloads = true, .choices = config_protocols,
	.fallback = "told by the path", .example = "openai-chat",
	.help = "The wire format, where the path does not tell it"},
    {AT_UPSTREAM(version), .name = "version", .type = CONFIG_TYPE_TEXT,
	.reloads = true, .fallback = "none", .example = "v1",
	.help = "With v1, the paths messages and v1/v1/messages become "
		"v1/messages"},
    {AT_UPSTREAM(price_provider), .name = "price_provider",
	.type = CONFIG_TYPE_TEXT, .reloads = true,
	.fallback = "the upstream's name", .example = "cerebras",
	.help = "Whose prices hold"},
    {AT_UPSTREAM(tier), .name = "tier", .type = CONFIG_TYPE_TEXT,
	.reloads = true, .fallback = "none", .example = "developer",
	.help = "The provider's tier of this account; chooses limits"},
    {AT_UPSTREAM(limits), .name = "limits", .type = CONFIG_TYPE_TEXT,
	.reloads = true, .fallback = "the upstream's name",
	.example = "cerebras", .help = "Which limit policy holds"},
    {AT_UPSTREAM(ask_usage), .name = "ask_usage", .type = CONFIG_TYPE_BOOL,
	.reloads = true, .initial = "no",
	.help = "Add stream_options.include_usage to streamed chat requests; "
		"changes the request"},
    {AT_UPSTREAM(pace), .name = "pace", .type = CONFIG_TYPE_BOOL,
	.reloads = true, .initial = "no",
	.help = "Hold a request back until the limits admit it"},
    {AT_UPSTREAM(power_watts), .name = "power_watts", .type = CONFIG_TYPE_REAL,
	.reloads = true, .max = 1000000, .fallback = "none", .example = "450",
	.help = "What the machine draws while it answers, for costs of local "
		"models"},
    {AT_UPSTREAM(electricity_per_kwh), .name = "electricity_per_kwh",
	.type = CONFIG_TYPE_REAL, .reloads = true, .max = 1000,
	.fallback = "none", .example = "0.30",
	.help = "Dollars for a kilowatt-hour"},
    {AT_UPSTREAM(connect_timeout_ms), .name = "connect_timeout",
	.type = CONFIG_TYPE_DURATION, .reloads = true, .initial = "10s",
	.min = 100, .max = HOUR,
	.help = "Longest time for name look-up, connection and TLS handshake"},
    {AT_UPSTREAM(ca_file), .name = "ca_file", .type = CONFIG_TYPE_PATH,
	.reloads = true, .fallback = "the system's",
	.example = "/etc/ssl/certs/ca-certificates.crt",
	.help = "Certificate authorities to trust for this upstream"},
    {AT_UPSTREAM(proxy), .name = "proxy", .type = CONFIG_TYPE_PROXY,
	.is_secret = true, .reloads = true,
	.fallback = "https_proxy, http_proxy, all_proxy and no_proxy",
	.example = "http://proxy.lan:3128",
	.help = "Outbound proxy; empty for none whatever the variables say"},

    {CHECKED(LIMIT), .name = "requests", .type = CONFIG_TYPE_RATE,
	.is_list = true, .fallback = "none", .example = "450/min",
	.help = "Requests a window"},
    {CHECKED(LIMIT), .name = "total_tokens", .type = CONFIG_TYPE_RATE,
	.is_list = true, .fallback = "none", .example = "450000/min",
	.help = "All tokens a window, cache reads included"},
    {CHECKED(LIMIT), .name = "uncached_tokens", .type = CONFIG_TYPE_RATE,
	.is_list = true, .fallback = "none", .example = "150000/min",
	.help = "Tokens a window without cache reads"},
    {CHECKED(LIMIT), .name = "input_tokens", .type = CONFIG_TYPE_RATE,
	.is_list = true, .fallback = "none", .example = "100000/min",
	.help = "Input tokens a window"},
    {CHECKED(LIMIT), .name = "output_tokens", .type = CONFIG_TYPE_RATE,
	.is_list = true, .fallback = "none", .example = "20000/min",
	.help = "Output tokens a window"},
    {CHECKED(LIMIT), .name = "concurrency", .type = CONFIG_TYPE_COUNT, .min = 1,
	.max = 1000000, .fallback = "none", .example = "4",
	.help = "Requests in flight at one time"},
    {CHECKED(LIMIT), .name = "algorithm", .type = CONFIG_TYPE_CHOICE,
	.choices = config_algorithms, .initial = "bucket",
	.help = "How the provider counts: bucket (refills continuously, full "
		"at start), sliding or fixed window"},
    {CHECKED(LIMIT), .name = "cache_read_weight", .type = CONFIG_TYPE_REAL,
	.max = 1, .initial = "1",
	.help = "What a token read from the cache counts"},

    {CHECKED(PRICE), .name = "input", .type = CONFIG_TYPE_REAL, .max = 1000000,
	.fallback = "unknown", .example = "0.99",
	.help = "Dollars per million uncached input tokens"},
    {CHECKED(PRICE), .name = "cache_read", .type = CONFIG_TYPE_REAL,
	.max = 1000000, .fallback = "unknown", .example = "0.99",
	.help = "Dollars per million tokens read from the cache"},
    {CHECKED(PRICE), .name = "cache_write", .type = CONFIG_TYPE_REAL,
	.max = 1000000, .fallback = "unknown", .example = "1.24",
	.help = "Dollars per million tokens written to the cache"},
    {CHECKED(PRICE), .name = "cache_write_1h", .type = CONFIG_TYPE_REAL,
	.max = 1000000, .fallback = "unknown", .example = "1.98",
	.help = "Dollars per million tokens written to the cache for an hour"},
    {CHECKED(PRICE), .name = "output", .type = CONFIG_TYPE_REAL, .max = 1000000,
	.fallback = "unknown", .example = "1.49",
	.help = "Dollars per million output tokens"},
    {CHECKED(PRICE), .name = "from", .type = CONFIG_TYPE_DATE,
	.fallback = "always", .example = "2026-09-01",
	.help = "First day (UTC) on which the price holds"},

    {CHECKED(PLAN), .name = "upstream", .type = CONFIG_TYPE_UPSTREAM,
	.is_required = true, .example = "anthropic",
	.help = "The upstream whose turns the subscription pays"},
    {CHECKED(PLAN), .name = "usd", .type = CONFIG_TYPE_REAL, .max = 1000000,
	.is_required = true, .example = "100",
	.help = "What the subscription costs a period, in dollars"},
    {CHECKED(PLAN), .name = "per", .type = CONFIG_TYPE_CHOICE,
	.choices = config_periods, .initial = "month", .help = "The period"},

    {CHECKED(BUDGET), .name = "usd", .type = CONFIG_TYPE_REAL,
	.max = 1000000000, .is_required = true, .example = "200",
	.help = "What may be spent a period, in dollars"},
    {CHECKED(BUDGET), .name = "per", .type = CONFIG_TYPE_CHOICE,
	.choices = config_periods, .initial = "month", .help = "The period"},
    {CHECKED(BUDGET), .name = "warn_at", .type = CONFIG_TYPE_COUNT,
	.is_list = true, .min = 1, .max = 1000, .fallback = "never",
	.example = "80", .help = "Percentages at which to warn"},
    {CHECKED(BUDGET), .name = "scope", .type = CONFIG_TYPE_TEXT,
	.fallback = "everything", .example = "project:turnmeter",
	.help = "What is counted"},
    {CHECKED(BUDGET), .name = "stop", .type = CONFIG_TYPE_BOOL, .initial = "no",
	.help = "Refuse further turns once it is spent"},

    {CHECKED(ALERT), .name = "on", .type = CONFIG_TYPE_CHOICE, .is_list = true,
	.choices = config_alert_events, .is_required = true, .example = "limit",
	.help = "The events that raise it"},
    {CHECKED(ALERT), .name = "via", .type = CONFIG_TYPE_CHOICE,
	.choices = config_alert_ways, .fallback = "none", .example = "desktop",
	.help = "A built-in way to tell"},
    {CHECKED(ALERT), .name = "exec", .type = CONFIG_TYPE_TEXT,
	.fallback = "none", .example = "/usr/local/bin/ring",
	.help = "A command to run; values are in its environment only"},
    {CHECKED(ALERT), .name = "webhook", .type = CONFIG_TYPE_WEBHOOK,
	.is_secret = true, .fallback = "none",
	.example = "https://hooks.example.org/turnmeter",
	.help = "A URL to POST the event to"},
};

const size_t n_config_keys = sizeof(config_keys) / sizeof(config_keys[0]);

static const char *const config_section_names[] = {[CONFIG_TOP] = "",
    [CONFIG_UPSTREAM] = "upstream",
    [CONFIG_LIMIT] = "limit",
    [CONFIG_PRICE] = "price",
    [CONFIG_PLAN] = "plan",
    [CONFIG_BUDGET] = "budget",
    [CONFIG_ALERT] = "alert"};

static_assert(
    sizeof(config_section_names) / sizeof(char *) == CONFIG_SECTION_COUNT,
    "every section has a name");

static const char *const config_type_names[] = {
    [CONFIG_TYPE_TEXT] = "text",
    [CONFIG_TYPE_PATH] = "path",
    [CONFIG_TYPE_BOOL] = "yes or no",
    [CONFIG_TYPE_COUNT] = "count",
    [CONFIG_TYPE_REAL] = "number",
    [CONFIG_TYPE_DURATION] = "duration",
    [CONFIG_TYPE_SIZE] = "size",
    [CONFIG_TYPE_CHOICE] = "choice",
    [CONFIG_TYPE_LEVEL] = "level",
    [CONFIG_TYPE_LISTEN] = "address:port",
    [CONFIG_TYPE_ZONE] = "time zone",
    [CONFIG_TYPE_TOKEN] = "token",
    [CONFIG_TYPE_HOST] = "host",
    [CONFIG_TYPE_URL] = "URL",
    [CONFIG_TYPE_PROXY] = "proxy URL",
    [CONFIG_TYPE_WEBHOOK] = "URL",
    [CONFIG_TYPE_UPSTREAM] = "upstream",
    [CONFIG_TYPE_RATE] = "rate",
    [CONFIG_TYPE_DATE] = "date",
};

static_assert(
    sizeof(config_type_names) / sizeof(char *) == CONFIG_TYPE_COUNT_OF,
    "every type has a name");

const char *
config_section_name(enum config_section section)
{
	return config_section_names[section];
}

const char *
config_type_name(enum config_type type)
{
	return config_type_names[type];
}

const struct config_key *
config_key_find(enum config_section section, const char *name, size_t n)
{
	for (size_t i = 0; i < n_config_keys; i++) {
		const struct config_key *k = &config_keys[i];

		if (k->section == section && strlen(k->name) == n &&
		    memcmp(k->name, name, n) == 0)
			return k;
	}
	return NULL;
}
