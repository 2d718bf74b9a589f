/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "jsonc.h"

static const char *const path[] = {"provider", "zai", "options", "baseURL"};

static void
test_jsonc_set_keeps_the_rest(void **state)
{
	static const struct {
		const char *before;
		const char *after;
	} cases[] = {
	    {"", "{\n  \"provider\": {\n    \"zai\": {\n      \"options\": {\n"
		 "        \"baseURL\": \"U\"\n      }\n    }\n  }\n}\n"},
	    {"{ }", "{\n  \"provider\": {\n    \"zai\": {\n      \"options\": "
		    "{\n        \"baseURL\": \"U\"\n      }\n    }\n  }\n }"},
	    {"{\"provider\":{\"zai\":{\"options\":{\"baseURL\":\"x\",\"a\":1}}}"
	     ",\"b\":2}",
		"{\"provider\":{\"zai\":{\"options\":{\"baseURL\":\"U\",\"a\":"
		"1}}},\"b\":2}"},
	    {"{\"a\": 1}", "{\"a\": 1, \"provider\": {\"zai\": {\"options\": "
			   "{\"baseURL\": \"U\"}}}}"},
	    {"// top\n{\n\t\"a\": [1, 2], // one\n\t/* provider: */\n"
	     "\t\"provider\": {\n\t\t\"zai\": {\n\t\t\t\"npm\": \"}{\", // "
	     "two\n"
	     "\t\t}, // three\n\t},\n}\n",
		"// top\n{\n\t\"a\": [1, 2], // one\n\t/* provider: */\n"
		"\t\"provider\": {\n\t\t\"zai\": {\n\t\t\t\"npm\": \"}{\", // "
		"two\n\t\t\t\"options\": {\n\t\t\t\t\"baseURL\": \"U\"\n"
		"\t\t\t}\n\t\t}, // three\n\t},\n}\n"},
	    {"{\n    \"provider\": {\n        \"zai\": {\n            "
	     "\"options\": {\n                \"apiKey\": \"{env:K}\" // k\n"
	     "            }\n        }\n    }\n}\n",
		"{\n    \"provider\": {\n        \"zai\": {\n            "
		"\"options\": {\n                \"apiKey\": \"{env:K}\", // "
		"k\n                \"baseURL\": \"U\"\n            }\n"
		"        }\n    }\n}\n"},
	    {"{\n  \"provider\": {\n    \"zai\": {\n      \"options\": {}\n"
	     "    }\n  }\n}\n",
		"{\n  \"provider\": {\n    \"zai\": {\n      \"options\": {\n"
		"        \"baseURL\": \"U\"\n      }\n    }\n  }\n}\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *out;

		assert_int_equal(
		    jsonc_set_string(cases[i].before, path, 4, "U", &out), 0);
		assert_string_equal(out, cases[i].after);
		free(out);
	}
}

/* What cannot be changed safely is left alone. */
static void
test_jsonc_set_refuses(void **state)
{
	static const char *const texts[] = {"[]", "{", "7", "{\"provider\": 3}",
	    "{\"provider\": {\"zai\": []}}", "{\"a\":1,\"a\":2}",
	    "{\"provider\": {}} x", "{\"a\": 1 /* \n */\n /* \n}",
	    "{\"a\": 1, /* b\n c */\n}\n"};
	char *out;

	(void)state;
	for (size_t i = 0; i + 1 < sizeof(texts) / sizeof(*texts); i++)
		assert_int_equal(
		    jsonc_set_string(texts[i], path, 4, "U", &out), -22);
	/* A comment over several lines behind the last member: given up, or
	 * right, but never broken. */
	if (jsonc_set_string(texts[8], path, 4, "U", &out) == 0) {
		json_t *document = jsonc_load(out);

		assert_non_null(json_object_get(document, "provider"));
		json_decref(document);
		free(out);
	}
}

static void
test_jsonc_set_quotes_the_value(void **state)
{
	static const char *const one[] = {"a\"b"};
	json_t *document;
	char *out;

	(void)state;
	assert_int_equal(jsonc_set_string("{}", one, 1, "c\\d\n", &out), 0);
	document = jsonc_load(out);
	assert_string_equal(
	    json_string_value(json_object_get(document, "a\"b")), "c\\d\n");
	json_decref(document);
	free(out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_jsonc_set_keeps_the_rest),
	    cmocka_unit_test(test_jsonc_set_refuses),
	    cmocka_unit_test(test_jsonc_set_quotes_the_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
