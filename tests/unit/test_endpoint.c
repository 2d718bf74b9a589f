/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/config.h"
#include "endpoint.h"
#include "proxy/route.h"

static struct config *
config_of(const char *const *settings, size_t n)
{
	struct config_source source = {
	    .file = "/dev/null", .settings = settings, .n_settings = n};
	struct config *c = NULL;
	char *error = NULL;

	assert_int_equal(config_load(&source, &c, &error), 0);
	return c;
}

/* What the router makes of the rewritten URL is the URL that it came from. */
static void
test_endpoint_over_is_undone_by_the_router(void **state)
{
	struct config *c = config_of(NULL, 0);

	(void)state;
	for (size_t i = 0; i < 2 * n_endpoint_known; i++) {
		const struct endpoint_known *k = &endpoint_known[i / 2];
		char base[ENDPOINT_BYTES], out[ENDPOINT_BYTES];
		char target[2 * ENDPOINT_BYTES], back[2 * ENDPOINT_BYTES];
		struct route route;

		endpoint_base(c, "a b/c", base);
		assert_string_equal(base, "http://127.0.0.1:7717/~p=a%20b%2Fc");
		assert_int_equal(
		    endpoint_over(c, base, k->url,
			i % 2 == 0 ? ENDPOINT_BY_NAME : ENDPOINT_BY_HOST, out),
		    ENDPOINT_COVERED);
		snprintf(target, sizeof(target), "%s/chat/completions?x=%%zz",
		    out + strlen("http://127.0.0.1:7717"));
		assert_int_equal(
		    route_resolve(c, target, NULL, NULL, &route), 0);
		assert_int_equal(route.result, ROUTE_UPSTREAM);
		assert_string_equal(route.project, "a b/c");
		snprintf(back, sizeof(back), "%s%s", route.upstream->origin,
		    route.target);
		snprintf(target, sizeof(target), "%s/chat/completions?x=%%zz",
		    k->url);
		assert_string_equal(back, target);
		route_fini(&route);
	}
	config_free(c);
}

static void
test_endpoint_over_of_odd_urls(void **state)
{
	static const struct {
		const char *url;
		enum endpoint_result result;
		const char *out;
	} cases[] = {
	    {"https://llm.example.com/v1", ENDPOINT_UNCOVERED, NULL},
	    {"http://api.openai.com/v1", ENDPOINT_UNCOVERED, NULL},
	    {"{env:BASE}/v1", ENDPOINT_ODD, NULL},
	    {"ftp://x", ENDPOINT_ODD, NULL},
	    {"", ENDPOINT_ODD, NULL},
	    {"https://user@api.openai.com/v1", ENDPOINT_ODD, NULL},
	    {"https://API.openai.com/v1/", ENDPOINT_COVERED, "B/openai/v1"},
	    {"https://api.openai.com/other", ENDPOINT_COVERED,
		"B/api.openai.com/other"},
	    {"https://api.z.ai/api/anthropic", ENDPOINT_COVERED,
		"B/zai-anthropic/api/anthropic"},
	    {"http://localhost:11434/v1", ENDPOINT_COVERED, "B/ollama/v1"},
	    {"http://localhost:7717/~p=old/~tok/zai/v1", ENDPOINT_OURS,
		"B/zai/v1"},
	    {"http://127.0.0.1:7717", ENDPOINT_OURS, "B"},
	};
	struct config *c = config_of(NULL, 0);
	char out[ENDPOINT_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(
		    endpoint_over(c, "B", cases[i].url, ENDPOINT_BY_NAME, out),
		    cases[i].result);
		if (cases[i].out != NULL)
			assert_string_equal(out, cases[i].out);
	}
	config_free(c);
}

static void
test_endpoint_section_has_a_valid_name(void **state)
{
	char out[ENDPOINT_BYTES];

	(void)state;
	endpoint_section("My LLM!", "https://x.y/v1", out);
	assert_string_equal(
	    out, "upstream my-llm- { url = \"https://x.y/v1\" }");
	endpoint_section("--", "https://x.y", out);
	assert_string_equal(out, "upstream mine { url = \"https://x.y\" }");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_endpoint_over_is_undone_by_the_router),
	    cmocka_unit_test(test_endpoint_over_of_odd_urls),
	    cmocka_unit_test(test_endpoint_section_has_a_valid_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
