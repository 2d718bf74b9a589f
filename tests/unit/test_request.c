/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Bodies are written with ' for " and read whole, byte by byte and at random
 * splits: every way must give the same turn.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/keyhash.h"
#include "meter/calls.h"
#include "meter/identity.h"
#include "meter/request.h"
#include "record/turn.h"

#define CHAT      REQUEST_SHAPE_OPENAI_CHAT
#define ANTHROPIC REQUEST_SHAPE_ANTHROPIC
#define OTHER     REQUEST_SHAPE_OTHER

static struct keyhash key;

struct reading {
	struct turn *turn;
	struct request_scan *scan;
};

static unsigned
next_random(unsigned *seed)
{
	*seed = *seed * 1103515245u + 12345u;
	return *seed >> 16;
}

/* STEP bytes at a time; 0: random pieces. */
static struct reading
read_bytes(enum request_shape shape, const char *body, size_t n, size_t step,
    unsigned seed)
{
	struct reading r = {.turn = turn_new()};

	assert_non_null(r.turn);
	r.scan = request_scan_new(r.turn, &key, shape);
	assert_non_null(r.scan);
	for (size_t at = 0, piece; at < n; at += piece) {
		piece = step > 0 ? step : 1 + next_random(&seed) % (n / 3 + 1);
		if (piece > n - at)
			piece = n - at;
		/* A copy of its own, so that a read beyond it is seen. */
		char *copy = malloc(piece);

		memcpy(copy, body + at, piece);
		request_scan_feed(r.scan, copy, piece);
		free(copy);
	}
	request_scan_end(r.scan);
	return r;
}

static char *
quoted(const char *body)
{
	char *s = strdup(body);

	for (char *p = s; *p != '\0'; p++)
		if (*p == '\'')
			*p = '"';
	return s;
}

static struct reading
read_whole(enum request_shape shape, const char *body)
{
	char *s = quoted(body);
	struct reading r = read_bytes(shape, s, strlen(s), strlen(s) + 1, 0);

	free(s);
	return r;
}

static void
drop(struct reading *r)
{
	request_scan_free(r->scan);
	turn_free(r->turn);
}

static void
add(char *out, const char *name, const char *value)
{
	size_t n = strlen(out);

	if (value != NULL)
		snprintf(out + n, 2048 - n, "%s%s=%s", n > 0 ? " " : "", name,
		    value);
}

static void
add_int(char *out, const char *name, int64_t value)
{
	char text[32];

	if (value == TURN_NULL)
		return;
	snprintf(text, sizeof(text), "%lld", (long long)value);
	add(out, name, text);
}

/* All that was read but sizes by class and hashes; NULLs are left out. */
static void
describe(const struct reading *r, char out[2048])
{
	static const char *const wishes[] = {NULL, "no", "yes"};
	static const char *const last[] = {NULL, "user", "results", "both"};
	const struct turn *t = r->turn;

	out[0] = '\0';
	add(out, "model", t->model);
	add(out, "stream", wishes[request_scan_wants_stream(r->scan)]);
	add(out, "usage", request_scan_asked_usage(r->scan) ? "yes" : NULL);
	add(out, "tier", request_scan_service_tier(r->scan));
	add_int(out, "max", t->max_tokens);
	add(out, "effort", t->effort);
	add_int(out, "n", t->n_messages);
	add(out, "last", last[t->last_message]);
	for (size_t i = 0; i < t->n_tools; i++) {
		char text[64];

		snprintf(text, sizeof(text), "%lld/%lld",
		    (long long)t->tools[i].result_bytes,
		    (long long)t->tools[i].result_errors);
		add(out, t->tools[i].name, text);
	}
	add(out, "flags", t->flags[0] != '\0' ? t->flags : NULL);
}

#define LEN(s) ((int64_t)sizeof(s) - 1)

/* Messages of the cases below, sized by the compiler. */
#define SYS      "{'role':'system','content':'Be good.'}"
#define DEV      "{'content':'Be brief.','role':'developer'}"
#define ASK      "{'role':'user','content':'Do it'}"
#define ASK_LATE "{'content':[{'text':'Do it','type':'text'}],'role':'user'}"
#define REMIND                                             \
	"{'role':'user','content':[{'type':'text','text':" \
	"'<system-reminder>it is Monday</system-reminder>'}]}"
#define CALL                                                           \
	"{'tool_calls':[{'function':{'arguments':'{}','name':'read'}," \
	"'type':'function','id':'c1'},{'id':'c2','function':{'name':"  \
	"'bash','arguments':'x'}}],'content':null,'role':'assistant'}"
#define RESULT1 "{'role':'tool','tool_call_id':'c1','content':'four'}"
#define RESULT2 "{'content':[{'text':'x'}],'tool_call_id':'c2','role':'tool'}"
#define STRAY   "{'role':'tool','tool_call_id':'c9','content':'four'}"
#define ANSWER  "{'role':'assistant','content':'Done'}"
#define TOOLS   "[{'type':'function','function':{'name':'read'}}]"

#define A_USE                                                               \
	"{'role':'assistant','content':[{'type':'thinking','thinking':'h'"  \
	",'signature':'s'},{'input':{'id':'no','type':'no'},'name':'Read'," \
	"'id':'t1','type':'tool_use'},{'type':'tool_use','id':'t2',"        \
	"'name':'Bash','input':{}}]}"
#define A_RESULT1 "{'type':'tool_result','tool_use_id':'t1','content':'abc'}"
#define A_RESULT2                                                        \
	"{'is_error':true,'content':[{'type':'text','text':'no such'}]," \
	"'tool_use_id':'t2','type':'tool_result'}"
#define A_TEXT    "{'type':'text','text':'and then?'}"
#define A_RESULTS "{'role':'user','content':[" A_RESULT1 "," A_RESULT2 "]}"
#define A_BOTH    "{'content':[" A_RESULT1 "," A_TEXT "],'role':'user'}"

struct request_case {
	enum request_shape shape;
	const char *body;
	const char *expect;
	/* context bytes; all NULL where has_no_context */
	int64_t sys, tools, user, asst, res;
	bool has_no_context;
};

static const struct request_case cases[] = {
    {CHAT, "", "", .has_no_context = true},
    {CHAT, "{}", "", .has_no_context = true},
    {CHAT, "{'model':'m','messages':[]}", "model=m n=0", .sys = 0},
    {CHAT,
	"{'model':'gpt-5','messages':[" SYS "," ASK "],'stream':true,"
	"'stream_options':{'include_usage':true},'max_tokens':100,"
	"'max_completion_tokens':200,'reasoning_effort':'high',"
	"'service_tier':'flex'}",
	"model=gpt-5 stream=yes usage=yes tier=flex max=200 effort=high n=2 "
	"last=user",
	.sys = LEN(SYS), .user = LEN(ASK)},
    /* The same in another order. */
    {CHAT,
	"{'service_tier':'flex','reasoning_effort':'high',"
	"'max_completion_tokens':200,'max_tokens':100,'stream_options':"
	"{'include_usage':true},'stream':true,'messages':[" SYS "," ASK
	"],'model':'gpt-5'}",
	"model=gpt-5 stream=yes usage=yes tier=flex max=200 effort=high n=2 "
	"last=user",
	.sys = LEN(SYS), .user = LEN(ASK)},
    {CHAT, "{'stream':false,'stream_options':{'include_usage':false}}",
	"stream=no", .has_no_context = true},
    {CHAT, "{'stream':null,'max_tokens':null,'model':null}", "",
	.has_no_context = true},
    {CHAT, "{'max_tokens':2e3}", "max=2000", .has_no_context = true},
    {CHAT, "{'max_tokens':-1}", "", .has_no_context = true},
    {CHAT, "{'max_tokens':0}", "max=0", .has_no_context = true},
    {CHAT, "{'usage':{'include':true}}", "usage=yes", .has_no_context = true},
    {CHAT, "{'reasoning':{'effort':'low'}}", "effort=low",
	.has_no_context = true},
    {CHAT, "{'reasoning':{'max_tokens':512}}", "effort=budget:512",
	.has_no_context = true},
    {CHAT, "{'model':'a\\u0062\\n'}", "model=ab?", .has_no_context = true},
    /* Names deeper down mean nothing. */
    {CHAT,
	"{'model':'m','x':{'model':'no','stream':true,'messages':[{'role':"
	"'user'}],'tools':[1]},'metadata':{'model':'no'}}",
	"model=m", .has_no_context = true},
    /* Roles come late, results are new only after the last answer. */
    {CHAT,
	"{'messages':[" SYS "," DEV "," ASK_LATE "," CALL "," RESULT1
	"," RESULT2 "],'tools':" TOOLS "}",
	"n=6 last=results read=6/0 bash=14/0", .sys = LEN(SYS) + LEN(DEV),
	.tools = LEN(TOOLS), .user = LEN(ASK_LATE), .asst = LEN(CALL),
	.res = LEN(RESULT1) + LEN(RESULT2)},
    {CHAT,
	"{'tools':" TOOLS ",'messages':[" ASK "," CALL "," RESULT1 "," RESULT2
	"," ANSWER "," ASK "]}",
	"n=6 last=user", .tools = LEN(TOOLS), .user = 2 * LEN(ASK),
	.asst = LEN(CALL) + LEN(ANSWER), .res = LEN(RESULT1) + LEN(RESULT2)},
    {CHAT, "{'messages':[" ASK "," CALL "," RESULT1 "," ASK "]}",
	"n=4 last=both read=6/0", .user = 2 * LEN(ASK), .asst = LEN(CALL),
	.res = LEN(RESULT1)},
    {CHAT, "{'messages':[" CALL "," STRAY "]}",
	"n=2 last=results flags=tool_nameless", .asst = LEN(CALL),
	.res = LEN(STRAY)},
    {CHAT, "{'messages':[" ASK "," ANSWER "]}", "n=2", .user = LEN(ASK),
	.asst = LEN(ANSWER)},
    {CHAT,
	"{'messages':[{'role':'function','name':'old','content':'x'}],"
	"'functions':[]}",
	"n=1 last=results old=3/0", .tools = 2,
	.res = LEN("{'role':'function','name':'old','content':'x'}")},
    /* A role that nobody knows belongs to no class. */
    {CHAT, "{'messages':[{'role':'critic','content':'x'}]}", "n=1", .sys = 0},

    {ANTHROPIC,
	"{'model':'claude','max_tokens':32000,'thinking':{'type':'enabled',"
	"'budget_tokens':16000},'system':'Be good.','messages':[" ASK
	"],'stream':true}",
	"model=claude stream=yes max=32000 effort=budget:16000 n=1 last=user",
	.sys = LEN("'Be good.'"), .user = LEN(ASK)},
    {ANTHROPIC,
	"{'thinking':{'budget_tokens':1},'output_config':{'effort':'high',"
	"'format':{'effort':'no'}}}",
	"effort=high", .has_no_context = true},
    {ANTHROPIC, "{'thinking':{'type':'disabled'}}", "", .has_no_context = true},
    {ANTHROPIC,
	"{'messages':[" ASK "," A_USE "," A_RESULTS "],'tools':[],'system':"
	"[{'type':'text','text':'Be good.'}]}",
	"n=3 last=results Read=5/0 Bash=34/1",
	.sys = LEN("[{'type':'text','text':'Be good.'}]"), .tools = 2,
	.user = LEN(ASK), .asst = LEN(A_USE), .res = LEN(A_RESULTS)},
    {ANTHROPIC, "{'messages':[" ASK "," A_USE "," A_BOTH "]}",
	"n=3 last=both Read=5/0",
	.user = LEN(ASK) + LEN(A_BOTH) - LEN(A_RESULT1), .asst = LEN(A_USE),
	.res = LEN(A_RESULT1)},
    {ANTHROPIC,
	"{'messages':[" ASK "," A_USE "," A_RESULTS "," ANSWER "," ASK "]}",
	"n=5 last=user", .user = 2 * LEN(ASK), .asst = LEN(A_USE) + LEN(ANSWER),
	.res = LEN(A_RESULTS)},
    /* What the client says by itself is no new message of the user's. */
    {ANTHROPIC, "{'messages':[" A_USE "," A_RESULTS "," REMIND "]}",
	"n=3 last=results Read=5/0 Bash=34/1", .user = LEN(REMIND),
	.asst = LEN(A_USE), .res = LEN(A_RESULTS)},
    {ANTHROPIC, "{'messages':[" REMIND "]}", "n=1 last=user",
	.user = LEN(REMIND)},
    {ANTHROPIC, "{'messages':[" ASK "," SYS "]}", "n=2 last=user",
	.sys = LEN(SYS), .user = LEN(ASK)},

    {OTHER, "{'model':'e','input':['a','b']}", "model=e last=user", .user = 6},
    /* Where the conversation is elsewhere, nothing is known of it. */
    {OTHER, "{'contents':[{'parts':[]}],'tools':[1]}", "", .tools = 3,
	.has_no_context = true},
    {OTHER, "{'input':[[1,2],[3]]}", "", .has_no_context = true},
    {OTHER, "{'model':'e','input':'abc'}", "model=e last=user", .user = 5},
    {OTHER, "{'prompt':'abc','n_predict':5}", "last=user", .user = 5},
    {OTHER,
	"{'instructions':'x','max_output_tokens':9,'input':[" DEV "," ASK
	",{'type':'reasoning','id':'r'},{'type':'function_call','id':'f',"
	"'call_id':'k','name':'sh','arguments':'{}'},{'type':"
	"'function_call_output','output':'ok','call_id':'k'}]}",
	"max=9 n=5 last=results sh=4/0", .sys = 3 + LEN(DEV), .user = LEN(ASK),
	.asst = LEN("{'type':'reasoning','id':'r'}") +
		LEN("{'type':'function_call','id':'f','call_id':'k',"
		    "'name':'sh','arguments':'{}'}"),
	.res = LEN("{'type':'function_call_output','output':'ok',"
		   "'call_id':'k'}")},

    {CHAT, "{'model':'m'", "model=m flags=request_unread",
	.has_no_context = true},
    {CHAT, "{'model':'m','messages':[" ASK "}", "model=m flags=request_unread",
	.has_no_context = true},
    {CHAT, "model=m&stream=true", "flags=request_unread",
	.has_no_context = true},
    {CHAT, "{} {}", "flags=request_unread", .has_no_context = true},
    {CHAT, "{} {'messages':[" ASK "]", "flags=request_unread",
	.has_no_context = true},
    {CHAT, "{}x", "flags=request_unread", .has_no_context = true},
    {CHAT, "[1,2]", "", .has_no_context = true},
};

static void
check_case(const struct request_case *c, const struct reading *r)
{
	int64_t nothing = c->has_no_context ? TURN_NULL : 0;
	int64_t no_tools = c->tools > 0 ? 0 : nothing;
	const struct turn *t = r->turn;
	char text[2048];

	describe(r, text);
	assert_string_equal(text, c->expect);
	assert_int_equal(t->context_system_bytes, c->sys + nothing);
	assert_int_equal(t->context_tools_bytes, c->tools + no_tools);
	assert_int_equal(t->context_user_bytes, c->user + nothing);
	assert_int_equal(t->context_assistant_bytes, c->asst + nothing);
	assert_int_equal(t->context_results_bytes, c->res + nothing);
}

static void
assert_same_text(const char *a, const char *b)
{
	if (a == NULL || b == NULL)
		assert_ptr_equal(a, b);
	else
		assert_string_equal(a, b);
}

static void
assert_same_hashes(const struct reading *a, const struct reading *b)
{
	size_t n = request_scan_n_messages(a->scan);

	assert_same_text(a->turn->body_hash, b->turn->body_hash);
	assert_same_text(a->turn->prefix_hash, b->turn->prefix_hash);
	assert_int_equal(n, request_scan_n_messages(b->scan));
	for (size_t i = 0; i < n; i++)
		assert_memory_equal(request_scan_message(a->scan, i),
		    request_scan_message(b->scan, i),
		    offsetof(struct request_message, role) + sizeof(int));
}

static void
test_request_table_in_any_split(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *body = quoted(cases[i].body);
		size_t n = strlen(body);
		struct reading whole = read_bytes(
		    cases[i].shape, body, n, n + 1, 0);

		check_case(&cases[i], &whole);
		for (unsigned seed = 0; seed < 24; seed++) {
			struct reading r = read_bytes(
			    cases[i].shape, body, n, seed < 4 ? seed : 0, seed);

			check_case(&cases[i], &r);
			assert_same_hashes(&whole, &r);
			drop(&r);
		}
		drop(&whole);
		free(body);
	}
}

/* Without a key nothing is hashed; all else is the same. */
static void
test_request_without_key(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *body = quoted(cases[i].body);
		struct reading r = {.turn = turn_new()};

		r.scan = request_scan_new(r.turn, NULL, cases[i].shape);
		request_scan_feed(r.scan, body, strlen(body));
		request_scan_end(r.scan);
		check_case(&cases[i], &r);
		assert_null(r.turn->body_hash);
		assert_null(r.turn->prefix_hash);
		drop(&r);
		free(body);
	}
}

static const struct {
	const char *a, *b;
	bool same_body, same_prefix;
} pairs[] = {
    {"{'a':1,'stream':true}", "{ 'stream':false, 'a':1 }", true, true},
    {"{'a':1,'stream':true}", "{'a':1}", true, true},
    {"{'a':1}", "{'a':2}", false, true},
    {"{'a':1,'b':2}", "{'a':2,'b':1}", false, true},
    {"{'a':{'b':1,'c':[1,{'x':1,'y':2}]}}",
	"{\n 'a' : {'c':[1 , {'y':2,'x':1}],\t'b':1}}", true, true},
    {"{'a':[1,2]}", "{'a':[2,1]}", false, true},
    {"{'a':[[1],2]}", "{'a':[1,[2]]}", false, true},
    {"{'a':[]}", "{'a':{}}", false, true},
    {"{'a':{}}", "{'a':null}", false, true},
    {"{'a':true}", "{'a':'true'}", false, true},
    {"{'a':1}", "{'a':'1'}", false, true},
    {"{'a':''}", "{'a':' '}", false, true},
    {"{'a':{'stream':true}}", "{'a':{}}", false, true},
    {"{'a':1,'a':1}", "{'a':1}", false, true},
    /* A mark that moves: another body, the same prefix. */
    {"{'messages':[],'system':[{'text':'x','cache_control':{'type':'e'}}]}",
	"{'messages':[],'system':[{'text':'x'}]}", false, true},
    {"{'a':[{'cache_control':1},{}]}", "{'a':[{},{'cache_control':1}]}", false,
	true},
    {"{'a':[{'b':1,'cache_control':1},{}]}",
	"{'a':[{'cache_control':1,'b':1},{}]}", true, true},
    {"{'messages':[" SYS "," ASK "]}", "{'messages':[" SYS "," ANSWER "]}",
	false, true},
    {"{'messages':[" SYS "," ASK "]}", "{'messages':[" DEV "," ASK "]}", false,
	false},
    {"{'messages':[" SYS "," ASK "]}", "{'messages':[" ASK "," SYS "]}", false,
	false},
    {"{'messages':[" ASK "," SYS "]}", "{'messages':[" ASK "," DEV "]}", false,
	true},
    {"{'messages':[" SYS "],'tools':[{'a':1,'b':2}]}",
	"{'tools':[{'b':2,'a':1}],'messages':[" SYS "," ASK "]}", false, true},
    {"{'messages':[" SYS "],'tools':[1]}", "{'messages':[" SYS "],'tools':[2]}",
	false, false},
    {"{'system':'a','tools':'b'}", "{'system':'b','tools':'a'}", false, false},
};

static void
test_request_hashes_equal_and_not(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		struct reading a = read_whole(OTHER, pairs[i].a);
		struct reading b = read_whole(OTHER, pairs[i].b);
		bool same;

		assert_int_equal(strlen(a.turn->body_hash), 16);
		same = strcmp(a.turn->body_hash, b.turn->body_hash) == 0;
		if (same != pairs[i].same_body)
			fail_msg("body hashes of pair %zu", i);
		same =
		    (a.turn->prefix_hash == NULL) ==
			(b.turn->prefix_hash == NULL) &&
		    (a.turn->prefix_hash == NULL ||
			strcmp(a.turn->prefix_hash, b.turn->prefix_hash) == 0);
		if (same != pairs[i].same_prefix)
			fail_msg("prefix hashes of pair %zu", i);
		drop(&a);
		drop(&b);
	}
}

static void
test_request_hash_needs_the_key(void **state)
{
	struct reading a = read_whole(CHAT, "{'a':1}");
	struct keyhash old = key;
	struct reading b;

	(void)state;
	keyhash_ephemeral(&key);
	b = read_whole(CHAT, "{'a':1}");
	key = old;
	assert_string_not_equal(a.turn->body_hash, b.turn->body_hash);
	drop(&a);
	drop(&b);
}

/* A container far beyond the depth that is told still counts, and any split
 * gives the same. */
static void
test_request_hashes_deep_containers(void **state)
{
	char body[2 * 300 + 32];
	struct reading a, b, c;
	size_t n = 0;

	(void)state;
	n += (size_t)sprintf(body, "{\"a\":");
	memset(body + n, '[', 300);
	n += 300;
	n += (size_t)sprintf(body + n, "\"]}\",7");
	memset(body + n, ']', 300);
	n += 300;
	n += (size_t)sprintf(body + n, ",\"model\":\"m\"}");
	a = read_bytes(CHAT, body, n, n, 0);
	b = read_bytes(CHAT, body, n, 1, 0);
	body[310] = '8';
	c = read_bytes(CHAT, body, n, n, 0);
	assert_string_equal(a.turn->model, "m");
	assert_string_equal(c.turn->model, "m");
	assert_same_hashes(&a, &b);
	assert_string_not_equal(a.turn->body_hash, c.turn->body_hash);
	drop(&a);
	drop(&b);
	drop(&c);
}

/* The messages of a request that extends another begin with the other's. */
static void
test_request_message_records_extend(void **state)
{
	struct reading a = read_whole(CHAT, "{'messages':[" SYS "," ASK "]}");
	struct reading b = read_whole(CHAT,
	    "{'messages':[" SYS ", {'content':'Do it','role':'user',"
	    "'cache_control':{}}," ANSWER "," ASK "]}");
	const struct request_message *last;

	(void)state;
	assert_int_equal(request_scan_n_messages(b.scan), 4);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(request_scan_message(a.scan, i)->prefix,
		    request_scan_message(b.scan, i)->prefix);
	last = request_scan_message(b.scan, 3);
	assert_int_equal(last->hash, request_scan_message(b.scan, 1)->hash);
	assert_int_not_equal(
	    last->prefix, request_scan_message(b.scan, 1)->prefix);
	assert_int_equal(last->bytes, LEN(ASK));
	assert_int_equal(last->role, REQUEST_ROLE_USER);
	assert_null(request_scan_message(b.scan, 4));
	drop(&a);
	drop(&b);
}

/* 200,000 messages, calls and results of 1,000 tools: the tables stop. */
static void
test_request_memory_has_a_ceiling(void **state)
{
	struct turn *t = turn_new();
	struct request_scan *s = request_scan_new(t, &key, ANTHROPIC);
	size_t most = 0;
	char text[512];
	int n;

	(void)state;
	request_scan_feed(s, "{\"messages\":[", 13);
	for (int i = 0; i < 200000; i++) {
		n = snprintf(text, sizeof(text),
		    "%s{\"role\":\"assistant\",\"content\":[{\"type\":"
		    "\"tool_use\",\"id\":\"t%d\",\"name\":\"tool%d\"}]},"
		    "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\""
		    ",\"tool_use_id\":\"t%d\",\"content\":\"ok\"}]}",
		    i > 0 ? "," : "", i, i % 1000, i);
		request_scan_feed(s, text, (size_t)n);
		if (request_scan_memory(s) > most)
			most = request_scan_memory(s);
	}
	request_scan_feed(s, "]}", 2);
	assert_true(
	    most <= 16 * 1024 +
			REQUEST_MESSAGES_MAX * sizeof(struct request_message) +
			CALLS_IDS_MAX * sizeof(struct calls_id) +
			CALLS_NAMES_MAX *
			    (sizeof(struct calls_name) + CALLS_NAME_BYTES));
	request_scan_end(s);
	assert_int_equal(t->n_messages, 400000);
	assert_null(request_scan_message(s, 400000 - REQUEST_MESSAGES_MAX - 1));
	assert_int_equal(
	    request_scan_message(s, 399999)->role, REQUEST_ROLE_RESULTS);
	request_scan_free(s);
	turn_free(t);
}

/* One text of 30 MB, in pieces as they come from a socket. */
static void
test_request_big_text_costs_nothing(void **state)
{
	struct turn *t = turn_new();
	struct request_scan *s = request_scan_new(t, &key, CHAT);
	char *piece = malloc(65536);
	size_t before;

	(void)state;
	memset(piece, 'x', 65536);
	request_scan_feed(
	    s, "{\"messages\":[{\"role\":\"user\",\"content\":\"", 39);
	before = request_scan_memory(s);
	assert_true(before <= 8 * 1024);
	for (int i = 0; i < 480; i++) {
		request_scan_feed(s, piece, 65536);
		assert_int_equal(request_scan_memory(s), before);
	}
	request_scan_feed(s, "\"}],\"model\":\"m\"}", 16);
	request_scan_end(s);
	assert_string_equal(t->model, "m");
	assert_int_equal(t->context_user_bytes, 480 * 65536 + 28);
	free(piece);
	request_scan_free(s);
	turn_free(t);
}

/* The ids of the body reach the identity, in any split. */
static void
test_request_tells_session_ids(void **state)
{
	static const struct {
		const char *body, *session, *source;
	} rows[] = {
	    {"{'metadata':{'user_id':'{\\'device_id\\':\\'d\\',"
	     "\\'session_id\\':\\'s-1\\'}'}}",
		"s-1", "body:metadata.user_id"},
	    {"{'metadata':{'sessionId':'s-2','promptId':'p'}}", "s-2",
		"body:metadata.sessionId"},
	    {"{'prompt_cache_key':'ses_3'}", "ses_3", "body:prompt_cache_key"},
	    {"{'prompt_cache_key':'ses_3','metadata':{'sessionId':'s-2'}}",
		"s-2", "body:metadata.sessionId"},
	    {"{'metadata':{'user_id':'me'},'x':{'prompt_cache_key':'ses_3'},"
	     "'sessionId':'no','session_id':'no'}",
		NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (size_t step = 1; step < 200; step += 66) {
			char *body = quoted(rows[i].body);
			struct reading r = read_bytes(
			    ANTHROPIC, body, strlen(body), step, 0);
			struct identity identity;

			identity_init(&identity, &key);
			request_scan_identify(r.scan, &identity);
			identity_finish(&identity, r.turn);
			assert_same_text(r.turn->session_id, rows[i].session);
			assert_same_text(
			    r.turn->session_source, rows[i].source);
			drop(&r);
			free(body);
		}
}

/* Prompts, arguments and ids of calls never reach the turn. */
static void
test_request_keeps_no_text(void **state)
{
	struct reading r = read_whole(CHAT,
	    "{'model':'m','user':'CANARY','metadata':{'x':'CANARY'},'messages'"
	    ":[{'role':'system','content':'CANARY'},{'role':'user','content':"
	    "[{'type':'text','text':'CANARY'}]},{'role':'assistant',"
	    "'tool_calls':[{'id':'CANARY','function':{'name':'read',"
	    "'arguments':'CANARY'}}]},{'role':'tool','tool_call_id':'CANARY',"
	    "'content':'CANARY'}],'tools':[{'description':'CANARY'}]}");

	(void)state;
	assert_int_equal(r.turn->n_tools, 1);
	for (size_t i = 0; i < n_turn_fields; i++) {
		const struct turn_field *f = &turn_fields[i];

		if (f->type == TURN_TYPE_TEXT && !turn_field_is_null(f, r.turn))
			assert_null(strstr(
			    *(const char *const *)turn_field_at(f, r.turn),
			    "CANARY"));
	}
	assert_string_equal(r.turn->tools[0].name, "read");
	drop(&r);
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
	    cmocka_unit_test(test_request_table_in_any_split),
	    cmocka_unit_test(test_request_without_key),
	    cmocka_unit_test(test_request_hashes_equal_and_not),
	    cmocka_unit_test(test_request_hash_needs_the_key),
	    cmocka_unit_test(test_request_hashes_deep_containers),
	    cmocka_unit_test(test_request_message_records_extend),
	    cmocka_unit_test(test_request_memory_has_a_ceiling),
	    cmocka_unit_test(test_request_big_text_costs_nothing),
	    cmocka_unit_test(test_request_tells_session_ids),
	    cmocka_unit_test(test_request_keeps_no_text),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
