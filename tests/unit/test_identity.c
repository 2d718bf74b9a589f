/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/keyhash.h"
#include "meter/identity.h"
#include "record/turn.h"

static struct keyhash key;

#define UUID  "0190cafe-1111-7222-8333-444455556666"
#define UUID2 "0190cafe-9999-7222-8333-444455556666"

enum { PAIRS_MAX = 6 };

struct pair {
	const char *name, *value;
};

struct identity_case {
	struct pair headers[PAIRS_MAX], body[PAIRS_MAX];
	const char *session, *source;
};

#define CODEX                                                     \
	{                                                         \
		"User-Agent", "codex_exec/0.171.0 (Debian) xterm" \
	}
#define OPENCODE                                                              \
	{                                                                     \
		"user-agent", "opencode/1.18.33 ai-sdk/provider-utils/4.0.46" \
	}
#define CLAUDE                                                         \
	{                                                              \
		"User-Agent", "claude-cli/2.1.197 (external, sdk-cli)" \
	}

static const struct identity_case cases[] = {
    {.session = NULL},
    {{OPENCODE, {"x-session-id", "ses_a"}, {"x-session-affinity", "ses_a"}},
	.session = "ses_a", .source = "header:x-session-id"},
    {{OPENCODE, {"X-OpenCode-Session", "ses_a"},
	 {"x-opencode-request", "msg_1"}},
	.session = "ses_a", .source = "header:x-opencode-session"},
    {{CLAUDE, {"X-Claude-Code-Session-Id", UUID}},
	{{"metadata.user_id", "{\"session_id\":\"" UUID2 "\"}"}},
	.session = UUID, .source = "header:x-claude-code-session-id"},
    /* Somebody's static header does not hide Claude's own. */
    {{{"x-session-id", "everything"}, {"x-claude-code-session-id", UUID}},
	.session = UUID, .source = "header:x-claude-code-session-id"},
    {{CLAUDE},
	{{"metadata.user_id",
	    "{\"device_id\":\"d\",\"account_uuid\":\"\",\"session_id\":\"" UUID
	    "\"}"}},
	.session = UUID, .source = "body:metadata.user_id"},
    {{CLAUDE},
	{{"metadata.user_id", "user_0123abcd_account_" UUID2 "_session_" UUID}},
	.session = UUID, .source = "body:metadata.user_id"},
    {{CODEX, {"session-id", UUID}, {"thread-id", UUID2}}, .session = UUID,
	.source = "header:session-id"},
    {{CODEX, {"session_id", UUID}}, .session = UUID,
	.source = "header:session_id"},
    {{CODEX, {"conversation_id", UUID}}, .session = UUID,
	.source = "header:conversation_id"},
    {{CODEX, {"x-client-request-id", UUID}}, .session = UUID,
	.source = "header:x-client-request-id"},
    {{{"x-client-request-id", UUID}, CODEX}, {{"prompt_cache_key", UUID2}},
	.session = UUID, .source = "header:x-client-request-id"},
    {{{"user-agent", "pi/0.73.1"}, {"x-client-request-id", UUID}},
	.session = UUID, .source = "header:x-client-request-id"},
    {{CODEX, {"x-client-request-id", UUID2}, {"session-id", UUID}},
	.session = UUID, .source = "header:session-id"},
    {{CODEX}, {{"prompt_cache_key", "abc"}}, .session = "abc",
	.source = "body:prompt_cache_key"},
    {{{"User-Agent", "OpenAI/JS 6.26.0"}}, {{"prompt_cache_key", UUID}},
	.session = UUID, .source = "body:prompt_cache_key"},
    {{OPENCODE, {"session-id", "ses_b"}}, {{"prompt_cache_key", "ses_c"}},
	.session = "ses_b", .source = "header:session-id"},
    {{{"User-Agent", "QwenCode/0.15.10 (linux; x64)"}},
	{{"metadata.sessionId", UUID}}, .session = UUID,
	.source = "body:metadata.sessionId"},
    {{{"x-kilocode-taskid", "ses_k"}, {"x-kilocode-machineid", UUID}},
	.session = "ses_k", .source = "header:x-kilocode-taskid"},
    {{{"x-kilocode-taskid", "title-ses_k"}, {"x-session-id", "ses_k"}},
	.session = "ses_k", .source = "header:x-session-id"},

    /* What is no session. */
    {{CLAUDE, {"x-client-request-id", UUID}}, .session = NULL},
    {{{"x-client-request-id", UUID}}, .session = NULL},
    {{{"user-agent", "pixie/1.0"}, {"x-client-request-id", UUID}},
	.session = NULL},
    {{{"x-my-session", "everything"}, {"x-meter-project", "demo"},
	 {"x-request-id", UUID}},
	.session = NULL},
    {{{"x-session-affinity", UUID}}, .session = NULL},
    {{{"x-parent-session-id", "ses_p"}, {"x-claude-code-agent-id", "a"},
	 {"x-codex-parent-thread-id", UUID}},
	.session = NULL},
    {{{"x-gemini-api-privileged-user-id", UUID}}, .session = NULL},
    {{{"user-agent", "app/1"}}, {{"prompt_cache_key", "my-app-v1"}},
	.session = NULL},
    {{CLAUDE}, {{"metadata.user_id", "user-4711"}}, .session = NULL},
    {{CLAUDE}, {{"metadata.user_id", "my_session_x"}}, .session = NULL},
    {{CLAUDE}, {{"metadata.user_id", "user_a_session_"}}, .session = NULL},
    {{CLAUDE}, {{"metadata.user_id", "{\"session_id\":5}"}}, .session = NULL},
    {{CLAUDE}, {{"metadata.user_id", "{\"a\":{\"session_id\":\"x\"}}"}},
	.session = NULL},
    {{CLAUDE}, {{"metadata.user_id", "{\"session_id\":\"x\""}},
	.session = NULL},
    {{{"x-session-id", ""}}, .session = NULL},
    {{{"x-session-id", "two words"}}, .session = NULL},
    {{{"x-session-id", "a\nb"}}, .session = NULL},
};

static struct turn *
identify(const struct pair *headers, size_t n, const struct pair *body)
{
	struct turn *t = turn_new();
	struct identity i;

	identity_init(&i, &key);
	for (size_t at = 0; at < n && headers[at].name != NULL; at++)
		identity_header(&i, headers[at].name, headers[at].value);
	/* Finishing early, as for the feed, must not hinder what follows. */
	identity_finish(&i, t);
	for (size_t at = 0; body != NULL && body[at].name != NULL; at++)
		identity_body(
		    &i, body[at].name, body[at].value, strlen(body[at].value));
	identity_finish(&i, t);
	return t;
}

static void
test_identity_sessions(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct identity_case *c = &cases[i];
		struct turn *t = identify(c->headers, PAIRS_MAX, c->body);
		struct pair backwards[PAIRS_MAX] = {{0}};
		size_t n = 0;

		if ((t->session_id == NULL) != (c->session == NULL))
			fail_msg("case %zu: %s", i, t->session_id);
		if (c->session != NULL) {
			assert_string_equal(t->session_id, c->session);
			assert_string_equal(t->session_source, c->source);
		} else {
			assert_null(t->session_source);
		}
		assert_null(t->agent);
		turn_free(t);

		/* The order of the headers means nothing. */
		while (n < PAIRS_MAX && c->headers[n].name != NULL)
			n++;
		for (size_t k = 0; k < n; k++)
			backwards[k] = c->headers[n - 1 - k];
		t = identify(backwards, n, c->body);
		if (c->session != NULL)
			assert_string_equal(t->session_id, c->session);
		else
			assert_null(t->session_id);
		turn_free(t);
	}
}

static void
test_identity_long_id_is_none(void **state)
{
	char id[IDENTITY_ID_BYTES + 1];
	struct pair header[1] = {{"x-session-id", id}};
	struct turn *t;

	(void)state;
	memset(id, 'a', sizeof(id));
	id[IDENTITY_ID_BYTES] = '\0';
	t = identify(header, 1, NULL);
	assert_null(t->session_id);
	turn_free(t);
	id[IDENTITY_ID_BYTES - 1] = '\0';
	t = identify(header, 1, NULL);
	assert_string_equal(t->session_id, id);
	turn_free(t);
}

static void
test_identity_clients(void **state)
{
	static const struct {
		const char *agent, *client;
	} agents[] = {
	    {"claude-cli/2.1.197 (external, sdk-cli)", "claude-cli/2.1.197"},
	    {"opencode/1.18.33 (linux; x64) ai-sdk/x/4.0", "opencode/1.18.33"},
	    {"codex_exec/0.171.0 (Debian 12.0.0; x86_64) xterm",
		"codex_exec/0.171.0"},
	    {"GeminiCLI-tui/0.61.0/gemini-3.1-pro-preview (linux)",
		"GeminiCLI-tui/0.61.0"},
	    {"kilo/latest/7.7.7/cli ai-sdk/provider-utils/4.0.27",
		"kilo/latest/7.7.7"},
	    {"ai-sdk/anthropic/4.0.42 ai-sdk/provider-utils/5.0.30",
		"ai-sdk/anthropic/4.0.42"},
	    {"Anthropic/JS 0.91.1", "Anthropic/JS"},
	    {"curl", "curl"},
	    {"x/1(y)", "x/1"},
	    {"", NULL},
	    {" ", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(agents) / sizeof(*agents); i++) {
		struct pair header[1] = {{"User-Agent", agents[i].agent}};
		struct turn *t = identify(header, 1, NULL);

		if (agents[i].client == NULL)
			assert_null(t->client);
		else
			assert_string_equal(t->client, agents[i].client);
		turn_free(t);
	}
}

static void
test_identity_accounts(void **state)
{
	/* Rows of one number are one account; 0 is none. */
	static const struct {
		struct pair headers[3];
		int account;
	} rows[] = {
	    {{{"Authorization", "Bearer sk-CANARY-1"}}, 1},
	    {{{"authorization", "bearer   sk-CANARY-1 "}}, 1},
	    {{{"x-api-key", "sk-CANARY-1"}}, 1},
	    {{{"api-key", "sk-CANARY-1"}}, 1},
	    {{{"X-Goog-Api-Key", "sk-CANARY-1"}}, 1},
	    {{{"x-api-key", "sk-CANARY-2"}}, 2},
	    {{{"x-api-key", "sk-CANARY-2"}, {"authorization", "sk-CANARY-1"}},
		1},
	    {{{"openai-organization", "org-1"},
		 {"authorization", "Bearer sk-CANARY-1"}},
		3},
	    {{{"authorization", "Bearer sk-CANARY-1"},
		 {"OpenAI-Organization", "org-1"}},
		3},
	    {{{"authorization",
		 "AWS4-HMAC-SHA256 Credential=AKIA1/20260101/us/bedrock, S=1"}},
		4},
	    {{{"authorization",
		 "AWS4-HMAC-SHA256 Credential=AKIA1/20260102/us/bedrock, S=2"}},
		4},
	    {{{"authorization", "Bearer "}}, 0},
	    {{{"cookie", "sk-CANARY-1"}, {"proxy-authorization", "x"}}, 0},
	    {{{"openai-organization", "org-1"}}, 0},
	};
	char accounts[5][13] = {{0}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct turn *t = identify(rows[i].headers, 3, NULL);
		char *account = accounts[rows[i].account];

		if (rows[i].account == 0) {
			assert_null(t->account);
		} else {
			assert_non_null(t->account);
			assert_int_equal(strlen(t->account), 12);
			assert_int_equal(
			    strspn(t->account, "0123456789abcdef"), 12);
			if (account[0] == '\0')
				strcpy(account, t->account);
			assert_string_equal(t->account, account);
		}
		turn_free(t);
	}
	for (int a = 1; a < 5; a++)
		for (int b = 1; b < a; b++)
			assert_string_not_equal(accounts[a], accounts[b]);
}

static void
test_identity_attempts(void **state)
{
	static const struct {
		const char *count;
		int64_t attempt;
	} rows[] = {{"0", TURN_NULL}, {"1", 2}, {"7", 8}, {"", TURN_NULL},
	    {"x", TURN_NULL}, {"-1", TURN_NULL},
	    {"99999999999999999999", TURN_NULL}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct pair header[1] = {
		    {"X-Stainless-Retry-Count", rows[i].count}};
		struct turn *t = identify(header, 1, NULL);

		assert_int_equal(t->attempt, rows[i].attempt);
		turn_free(t);
	}
}

/* The struct holds no credential either. */
static void
test_identity_keeps_no_credential(void **state)
{
	struct identity i;

	(void)state;
	identity_init(&i, &key);
	identity_header(&i, "x-api-key", "sk-CANARY");
	identity_header(&i, "authorization", "Bearer sk-CANARY");
	identity_header(&i, "cookie", "sk-CANARY");
	assert_null(memmem(&i, sizeof(i), "CANARY", 6));
}

/* More texts than a thread remembers, twice, under two keys. */
static void
test_a_remembered_hash_is_the_same(void **state)
{
	struct keyhash other;

	(void)state;
	keyhash_ephemeral(&other);
	for (int i = 0; i < 200; i++) {
		const struct keyhash *k = i % 2 == 0 ? &key : &other;
		char text[16], plain[65], again[65];
		int n = snprintf(text, sizeof(text), "sk-%d", i / 2 % 50);

		keyhash_hex(k, text, (size_t)n, 64, plain);
		keyhash_hex_again(k, text, (size_t)n, 64, again);
		assert_string_equal(again, plain);
		keyhash_hex_again(k, text, (size_t)n, 12, again);
		assert_int_equal(strlen(again), 12);
		assert_memory_equal(again, plain, 12);
	}
}

static int
set_up(void **state)
{
	(void)state;
	keyhash_ephemeral(&key);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_identity_sessions),
	    cmocka_unit_test(test_identity_long_id_is_none),
	    cmocka_unit_test(test_identity_clients),
	    cmocka_unit_test(test_identity_accounts),
	    cmocka_unit_test(test_identity_attempts),
	    cmocka_unit_test(test_identity_keeps_no_credential),
	    cmocka_unit_test(test_a_remembered_hash_is_the_same),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
