/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Every routing rule of docs/routes.md is a row here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "config/config.h"
#include "proxy/route.h"

/* a row says what it is about and leaves the rest zero */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

static const char *const base_settings[] = {
    "upstream.bare.url=https://bare.example",
    "upstream.slash.url=https://slash.example/",
    "upstream.one.url=https://one.example/v1",
    "upstream.oneslash.url=https://oneslash.example/v1/",
    "upstream.deep.url=https://deep.example/api/v1/",
    "upstream.twice.url=https://deep.example/api",
    "upstream.mine.url=http://127.0.0.1:9/v1",
    "upstream.six.url=http://[fd00::7]:81/v1",
    "upstream.versioned.url=https://versioned.example/v1",
    "upstream.versioned.version=v1",
    "upstream.below.url=https://below.example/api/anthropic",
    "upstream.below.version=v1",
};

static struct config *
load(const char *const *more, size_t n_more)
{
	const char *settings[64];
	struct config_source source = {
	    .file = "/dev/null", .settings = settings};
	struct config *c;
	char *error;

	for (size_t i = 0; i < sizeof(base_settings) / sizeof(char *); i++)
		settings[source.n_settings++] = base_settings[i];
	for (size_t i = 0; i < n_more; i++)
		settings[source.n_settings++] = more[i];
	if (config_load(&source, &c, &error) != 0)
		fail_msg("%s", error);
	return c;
}

struct row {
	const char *target;
	const char *upstream; /* NULL: none */
	const char *expected; /* the target upstream, or NULL */
	enum route_result result;
	const char *project;
	const char *host;
};

static void
check(const struct config *c, const struct row *row, const char *token)
{
	struct route r;
	const char *upstream;

	assert_int_equal(
	    route_resolve(c, row->target, row->host, token, &r), 0);
	upstream = r.upstream != NULL ? r.upstream->name : NULL;
	if (r.result != row->result)
		fail_msg("%s: result %d, not %d (%s)", row->target, r.result,
		    row->result, r.target != NULL ? r.target : "-");
	if (upstream != row->upstream &&
	    (upstream == NULL || row->upstream == NULL ||
		strcmp(upstream, row->upstream) != 0))
		fail_msg("%s: upstream %s", row->target, upstream);
	if (row->expected != NULL &&
	    (r.target == NULL || strcmp(r.target, row->expected) != 0))
		fail_msg("%s: became %s, not %s", row->target, r.target,
		    row->expected);
	if (row->project == NULL)
		assert_null(r.project);
	else
		assert_string_equal(r.project, row->project);
	route_fini(&r);
}

#define CHECK_ROWS(config, rows, token)                             \
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) \
	check(config, &rows[i], token)

static void
test_route_takes_the_overlap_once(void **state)
{
	static const struct row rows[] = {
	    {"/openai/v1/chat/completions", "openai", "/v1/chat/completions"},
	    {"/openai/chat/completions", "openai", "/v1/chat/completions"},
	    {"/openai/v1", "openai", "/v1"},
	    {"/openai/v1/", "openai", "/v1/"},
	    {"/openai", "openai", "/v1"},
	    {"/openai/", "openai", "/v1/"},
	    {"/openai/v1/v1/chat", "openai", "/v1/v1/chat"},
	    {"/openai/v1beta/x", "openai", "/v1/v1beta/x"},
	    {"/openai/v10/x", "openai", "/v1/v10/x"},
	    /* four spellings of a base, both spellings of the path */
	    {"/bare/v1/messages", "bare", "/v1/messages"},
	    {"/slash/v1/messages", "slash", "/v1/messages"},
	    {"/one/v1/messages", "one", "/v1/messages"},
	    {"/oneslash/v1/messages", "oneslash", "/v1/messages"},
	    {"/one/messages", "one", "/v1/messages"},
	    {"/oneslash/messages", "oneslash", "/v1/messages"},
	    {"/bare", "bare", "/"},
	    {"/bare/", "bare", "/"},
	    /* two segments */
	    {"/deep/api/v1/chat", "deep", "/api/v1/chat"},
	    {"/deep/v1/chat", "deep", "/api/v1/chat"},
	    {"/deep/chat", "deep", "/api/v1/chat"},
	    {"/deep/api/chat", "deep", "/api/v1/api/chat"},
	    {"/groq/openai/v1/chat/completions", "groq",
		"/openai/v1/chat/completions"},
	    {"/groq/v1/chat/completions", "groq",
		"/openai/v1/chat/completions"},
	    {"/openrouter/api/v1/models", "openrouter", "/api/v1/models"},
	    {"/opencode/zen/v1/responses", "opencode", "/zen/v1/responses"},
	    {"/zai/chat/completions", "zai", "/api/paas/v4/chat/completions"},
	};
	struct config *c = load(NULL, 0);

	(void)state;
	CHECK_ROWS(c, rows, NULL);
	config_free(c);
}

static void
test_route_version_mends_messages_alone(void **state)
{
	static const struct row rows[] = {
	    {"/anthropic/v1/messages", "anthropic", "/v1/messages"},
	    {"/anthropic/messages", "anthropic", "/v1/messages"},
	    {"/anthropic/v1/v1/messages", "anthropic", "/v1/messages"},
	    {"/anthropic/messages?beta=true", "anthropic",
		"/v1/messages?beta=true"},
	    {"/anthropic/messages/count_tokens", "anthropic",
		"/v1/messages/count_tokens"},
	    {"/anthropic/messagesx", "anthropic", "/messagesx"},
	    {"/anthropic/models", "anthropic", "/models"},
	    {"/anthropic/v1/v1/models", "anthropic", "/v1/v1/models"},
	    {"/anthropic/v1/complete", "anthropic", "/v1/complete"},
	    {"/versioned/messages", "versioned", "/v1/messages"},
	    {"/versioned/v1/messages", "versioned", "/v1/messages"},
	    {"/versioned/v1/v1/messages", "versioned", "/v1/messages"},
	    {"/below/messages", "below", "/api/anthropic/v1/messages"},
	    {"/below/v1/messages", "below", "/api/anthropic/v1/messages"},
	    {"/below/v1/v1/messages", "below", "/api/anthropic/v1/messages"},
	};
	struct config *c = load(NULL, 0);

	(void)state;
	CHECK_ROWS(c, rows, NULL);
	config_free(c);
}

static void
test_route_leaves_bytes_alone(void **state)
{
	static const struct row rows[] = {
	    {"/openai/v1/a%2Fb/%5Bid%5D", "openai", "/v1/a%2Fb/%5Bid%5D"},
	    {"/openai/v1/encoded%2520path", "openai", "/v1/encoded%2520path"},
	    {"/openai/v1/a//b/../c/./d", "openai", "/v1/a//b/../c/./d"},
	    {"/openai//v1/x", "openai", "/v1//v1/x"},
	    {"/bare//x", "bare", "//x"},
	    {"/openai/v1/%zz%", "openai", "/v1/%zz%"},
	    {"/openai/v1/x?", "openai", "/v1/x?"},
	    {"/openai?", "openai", "/v1?"},
	    {"/bare?a=/v1/b?c", "bare", "/?a=/v1/b?c"},
	    {"/openai/v1/x;p=1;q?a=1&a=2&b", "openai", "/v1/x;p=1;q?a=1&a=2&b"},
	    {"/openai/v1/\xd1\x8f\xff\x80", "openai", "/v1/\xd1\x8f\xff\x80"},
	    {"/openai/%76%31/x", "openai", "/v1/%76%31/x"},
	    {"/openai/v1/x%0d%0aX-Evil:%201", "openai",
		"/v1/x%0d%0aX-Evil:%201"},
	    {"/openai/V1/x", "openai", "/v1/V1/x"},
	    {"/openai/v1/x#frag", "openai", "/v1/x#frag"},
	    {"/openai/v1/http://evil.example/", "openai",
		"/v1/http://evil.example/"},
	    {"/open%61i/v1/x", NULL, NULL, ROUTE_UNKNOWN},
	    {"/OpenAI/v1/x", NULL, NULL, ROUTE_UNKNOWN},
	};
	struct config *c = load(NULL, 0);

	(void)state;
	CHECK_ROWS(c, rows, NULL);
	config_free(c);
}

static void
test_route_host_in_place_of_name(void **state)
{
	static const struct row rows[] = {
	    {"/api.openai.com/v1/chat/completions", "openai",
		"/v1/chat/completions"},
	    {"/API.OpenAI.com/v1/x", "openai", "/v1/x"},
	    {"/api.openai.com:443/v1/x", "openai", "/v1/x"},
	    {"/api.openai.com:444/v1/x", NULL, NULL, ROUTE_UNKNOWN},
	    /* the whole path, even where the base does not match */
	    {"/api.openai.com/chat/completions", "openai", "/chat/completions"},
	    {"/api.openai.com", "openai", "/"},
	    {"/api.openai.com/?q", "openai", "/?q"},
	    {"/api.openai.com/v1/v1/x", "openai", "/v1/v1/x"},
	    {"/api.anthropic.com/messages", "anthropic", "/messages"},
	    /* the longest matching path of several */
	    {"/deep.example/api/v1/chat", "deep", "/api/v1/chat"},
	    {"/deep.example/api/v2/chat", "twice", "/api/v2/chat"},
	    {"/deep.example/api/v11/chat", "twice", "/api/v11/chat"},
	    {"/api.z.ai/api/coding/paas/v4/chat/completions", "zai-coding",
		"/api/coding/paas/v4/chat/completions"},
	    {"/api.z.ai/api/anthropic/v1/messages", "zai-anthropic",
		"/api/anthropic/v1/messages"},
	    /* ports */
	    {"/127.0.0.1:9/v1/x", "mine", "/v1/x"},
	    {"/127.0.0.1/v1/x", "mine", "/v1/x"},
	    {"/127.0.0.1:11434/api/chat", "ollama", "/api/chat"},
	    {"/[fd00::7]:81/v1/x", "six", "/v1/x"},
	    /* not configured: no relay */
	    {"/evil.example/v1/messages", NULL, NULL, ROUTE_UNKNOWN},
	    {"//evil.example/v1/messages", NULL, NULL, ROUTE_UNKNOWN},
	    {"/169.254.169.254/latest", NULL, NULL, ROUTE_UNKNOWN},
	};
	struct config *c = load(NULL, 0);

	(void)state;
	CHECK_ROWS(c, rows, NULL);
	config_free(c);
}

static void
test_route_by_shape_then_default(void **state)
{
	static const struct row shapes[] = {
	    {"/v1/messages", "anthropic", "/v1/messages"},
	    {"/v1/messages?beta=true", "anthropic", "/v1/messages?beta=true"},
	    {"/v1/messages/count_tokens", "anthropic",
		"/v1/messages/count_tokens"},
	    {"/messages", "anthropic", "/v1/messages"},
	    {"/v1/v1/messages", "anthropic", "/v1/messages"},
	    {"/v1beta/models/gemini-x:streamGenerateContent?alt=sse", "gemini",
		"/v1beta/models/gemini-x:streamGenerateContent?alt=sse"},
	    {"/api/chat", "ollama", "/api/chat"},
	    {"/api/generate", "ollama", "/api/generate"},
	};
	static const struct row none[] = {
	    {"/v1/messagesx", NULL, NULL, ROUTE_UNKNOWN},
	    {"/v1/chat/completions", NULL, NULL, ROUTE_UNKNOWN},
	    {"/favicon.ico", NULL, NULL, ROUTE_UNKNOWN},
	};
	static const struct row by_default[] = {
	    {"/v1/chat/completions", "openai", "/v1/chat/completions"},
	    {"/chat/completions", "openai", "/v1/chat/completions"},
	    {"/responses?x", "openai", "/v1/responses?x"},
	    {"//x", "openai", "/v1//x"},
	    {"/v1/messages", "anthropic", "/v1/messages"},
	};
	static const char *const more[] = {"default_upstream=openai"};
	struct config *c = load(NULL, 0), *d = load(more, 1);

	(void)state;
	CHECK_ROWS(c, shapes, NULL);
	CHECK_ROWS(c, none, NULL);
	CHECK_ROWS(d, shapes, NULL);
	CHECK_ROWS(d, by_default, NULL);
	config_free(c);
	config_free(d);
}

static void
test_route_admin_and_root(void **state)
{
	static const struct row rows[] = {
	    {"/", NULL, NULL, ROUTE_ROOT},
	    {"/?x=1", NULL, NULL, ROUTE_ROOT},
	    {"/~p=a/", NULL, NULL, ROUTE_ROOT, "a"},
	    {"/~p=a", NULL, NULL, ROUTE_ROOT, "a"},
	    {"/_turnmeter/health", NULL, "health", ROUTE_ADMIN},
	    {"/_turnmeter/api/turns?n=3", NULL, "api/turns?n=3", ROUTE_ADMIN},
	    {"/_turnmeter/", NULL, "", ROUTE_ADMIN},
	    {"/_turnmeter", NULL, "", ROUTE_ADMIN},
	    {"/_turnmeterx/health", NULL, NULL, ROUTE_UNKNOWN},
	    {"/~p=a/_turnmeter/health", NULL, "health", ROUTE_ADMIN, "a"},
	};
	struct config *c = load(NULL, 0);

	(void)state;
	CHECK_ROWS(c, rows, NULL);
	config_free(c);
}

static void
test_route_project_tag(void **state)
{
	static const struct row rows[] = {
	    {"/~p=site/openai/v1/x", "openai", "/v1/x", .project = "site"},
	    {"/~p=a%20b%2Fc/openai/v1/x", "openai", "/v1/x",
		.project = "a b/c"},
	    {"/~p=50%/openai/v1/x", "openai", "/v1/x", .project = "50%"},
	    {"/~p=%zz%4/openai/v1/x", "openai", "/v1/x", .project = "%zz%4"},
	    {"/~p=a%00b/openai/v1/x", "openai", "/v1/x", .project = "a%00b"},
	    {"/~p=/openai/v1/x", "openai", "/v1/x"},
	    {"/~p=a/v1/messages", "anthropic", "/v1/messages", .project = "a"},
	    {"/~p=a/~p=b/openai/v1/x", "openai", "/v1/x", .project = "b"},
	    {"/openai/~p=a/x", "openai", "/v1/~p=a/x"},
	    /* no token is configured: one in front is dropped all the same */
	    {"/~0123456789abcdef/openai/v1/x", "openai", "/v1/x"},
	};
	struct config *c = load(NULL, 0);

	(void)state;
	CHECK_ROWS(c, rows, NULL);
	config_free(c);
}

static void
test_route_token(void **state)
{
	static const char *const more[] = {
	    "listen=0.0.0.0:0", "token=0123456789abcdef"};
	static const struct row right[] = {
	    {"/~0123456789abcdef/openai/v1/x", "openai", "/v1/x"},
	    {"/~0123456789abcdef/~p=a/openai/v1/x", "openai", "/v1/x",
		.project = "a"},
	    {"/~p=a/~0123456789abcdef/openai/v1/x", "openai", "/v1/x",
		.project = "a"},
	    {"/~0123456789abcdef/_turnmeter/health", NULL, "health",
		ROUTE_ADMIN},
	};
	static const struct row wrong[] = {
	    {"/openai/v1/x", NULL, NULL, ROUTE_BAD_TOKEN},
	    {"/_turnmeter/health", NULL, NULL, ROUTE_BAD_TOKEN},
	    {"/nothing", NULL, NULL, ROUTE_BAD_TOKEN},
	    {"/v1/messages", NULL, NULL, ROUTE_BAD_TOKEN},
	    {"/~/openai/v1/x", NULL, NULL, ROUTE_BAD_TOKEN},
	    {"/~0123456789abcde/openai/v1/x", NULL, NULL, ROUTE_BAD_TOKEN},
	    {"/~0123456789abcdefg/openai/v1/x", NULL, NULL, ROUTE_BAD_TOKEN},
	    {"/~0123456789abcdeF/openai/v1/x", NULL, NULL, ROUTE_BAD_TOKEN},
	    {"/openai/~0123456789abcdef/x", NULL, NULL, ROUTE_BAD_TOKEN},
	    {"/openai/v1/x?~0123456789abcdef", NULL, NULL, ROUTE_BAD_TOKEN},
	    {"/", NULL, NULL, ROUTE_ROOT},
	};
	static const struct row by_header[] = {
	    {"/openai/v1/x", "openai", "/v1/x"},
	    {"/_turnmeter/health", NULL, "health", ROUTE_ADMIN},
	    {"/~wrong/openai/v1/x", "openai", "/v1/x"},
	};
	struct config *c = load(more, 2);

	(void)state;
	CHECK_ROWS(c, right, NULL);
	CHECK_ROWS(c, right, "");
	CHECK_ROWS(c, wrong, NULL);
	CHECK_ROWS(c, wrong, "");
	CHECK_ROWS(c, wrong, "0123456789abcdef0123456789abcdef");
	CHECK_ROWS(c, by_header, "0123456789abcdef");
	config_free(c);
}

static void
test_route_other_forms(void **state)
{
	static const char *const more[] = {"listen=127.0.0.1:7717"};
	static const char *const any_port[] = {"listen=127.0.0.1:0"};
	static const struct row rows[] = {
	    {"http://127.0.0.1:7717/openai/v1/x", "openai", "/v1/x",
		.host = "127.0.0.1:7717"},
	    {"HTTP://LocalHost:7717/openai/v1/x?a", "openai", "/v1/x?a",
		.host = "localhost:7717"},
	    {"http://127.0.0.1:7717", NULL, NULL, ROUTE_ROOT,
		.host = "127.0.0.1:7717"},
	    {"http://127.0.0.1:7717?x", NULL, NULL, ROUTE_ROOT,
		.host = "127.0.0.1:7717"},
	    {"http://127.0.0.1:7718/openai/v1/x", NULL, NULL, ROUTE_BAD_TARGET,
		.host = "127.0.0.1:7718"},
	    {"http://127.0.0.1/openai/v1/x", NULL, NULL, ROUTE_BAD_TARGET,
		.host = "127.0.0.1"},
	    {"http://169.254.169.254/latest", NULL, NULL, ROUTE_BAD_TARGET,
		.host = "127.0.0.1:7717"},
	    {"http://169.254.169.254/latest", NULL, NULL, ROUTE_BAD_TARGET,
		.host = "169.254.169.254"},
	    {"https://127.0.0.1:7717/openai/v1/x", NULL, NULL, ROUTE_BAD_TARGET,
		.host = "127.0.0.1:7717"},
	    {"http://127.0.0.1:7717@evil.example/x", NULL, NULL,
		ROUTE_BAD_TARGET, .host = "127.0.0.1:7717"},
	    {"http://127.0.0.1:7717/openai/v1/x", NULL, NULL, ROUTE_BAD_TARGET},
	    {"*", NULL, NULL, ROUTE_BAD_TARGET},
	    {"api.openai.com:443", NULL, NULL, ROUTE_BAD_TARGET},
	    {"openai/v1/x", NULL, NULL, ROUTE_BAD_TARGET},
	    {"http:///x", NULL, NULL, ROUTE_BAD_TARGET, .host = ""},
	    {"http://", NULL, NULL, ROUTE_BAD_TARGET, .host = ""},
	    {"", NULL, NULL, ROUTE_BAD_TARGET},
	    {"?x", NULL, NULL, ROUTE_BAD_TARGET},
	};
	static const struct row random_port[] = {
	    {"http://127.0.0.1:4711/openai/v1/x", "openai", "/v1/x",
		.host = "127.0.0.1:4711"},
	    {"http://127.0.0.1:4711/openai/v1/x", NULL, NULL, ROUTE_BAD_TARGET,
		.host = "127.0.0.1:4712"},
	};
	struct config *c = load(more, 1), *d = load(any_port, 1);

	(void)state;
	CHECK_ROWS(c, rows, NULL);
	CHECK_ROWS(d, random_port, NULL);
	config_free(c);
	config_free(d);
}

static void
test_route_host_header(void **state)
{
	static const char *const loopback[] = {
	    "listen=127.0.0.1:7717", "allowed_hosts=meter.lan, other.lan"};
	static const char *const wide[] = {
	    "listen=[::]:7717", "token=0123456789abcdef"};
	static const char *const yes[] = {"127.0.0.1:7717", "127.0.0.1",
	    "127.9.9.9:1", "localhost", "LOCALHOST:7717", "localhost.:7717",
	    "[::1]:7717", "[::1]", "a.localhost", "meter.lan", "Meter.LAN:7717",
	    "other.lan"};
	static const char *const no[] = {"evil.example", "127.0.0.1.evil.com",
	    "localhost.evil.com", "192.168.1.9:7717", "[fd00::1]", "",
	    "127.0.0.1:7717:1", "127.0.0.1:x", "[::1", "[::1]x", "xlocalhost",
	    "meter.lan.evil.com", "128.0.0.1", "0.0.0.0:7717", "localhost/evil",
	    "user@localhost"};
	struct config *c = load(loopback, 2), *w = load(wide, 2);

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		if (!route_host_is_allowed(c, yes[i]))
			fail_msg("%s is refused", yes[i]);
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (route_host_is_allowed(c, no[i]))
			fail_msg("%s is allowed", no[i]);
	assert_false(route_host_is_allowed(c, NULL));
	assert_true(route_host_is_allowed(w, "192.168.1.9:7717"));
	assert_true(route_host_is_allowed(w, "[fd00::1]"));
	assert_false(route_host_is_allowed(w, "evil.example"));
	config_free(c);
	config_free(w);
}

static void
test_route_unknown_body_lists_routes(void **state)
{
	struct config *c = load(NULL, 0);
	char *text = route_unknown_body(c);
	json_t *body = json_loads(text, 0, NULL), *routes, *first;

	(void)state;
	assert_non_null(body);
	routes = json_object_get(json_object_get(body, "error"), "routes");
	assert_int_equal(json_array_size(routes), c->n_upstreams + 1);
	first = json_array_get(routes, 0);
	assert_string_equal(
	    json_string_value(json_object_get(first, "route")), "/bare");
	assert_string_equal(
	    json_string_value(json_object_get(first, "upstream")),
	    "https://bare.example");
	json_decref(body);
	free(text);
	config_free(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_route_takes_the_overlap_once),
	    cmocka_unit_test(test_route_version_mends_messages_alone),
	    cmocka_unit_test(test_route_leaves_bytes_alone),
	    cmocka_unit_test(test_route_host_in_place_of_name),
	    cmocka_unit_test(test_route_by_shape_then_default),
	    cmocka_unit_test(test_route_admin_and_root),
	    cmocka_unit_test(test_route_project_tag),
	    cmocka_unit_test(test_route_token),
	    cmocka_unit_test(test_route_other_forms),
	    cmocka_unit_test(test_route_host_header),
	    cmocka_unit_test(test_route_unknown_body_lists_routes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
