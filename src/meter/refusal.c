/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Providers agree on little: codes are strings, numbers, numbers in strings;
 * an error is an object, a string or an array; the wait is in one of three
 * headers, in a detail of the body, in its prose, or only in the reset of the
 * bucket that is empty. docs/protocols/refusals.md has the table.
 *
 * Order of trust for the wait: retry-after-ms, Retry-After, a field of the
 * body, its prose, the reset header of the exhausted bucket (the latest one,
 * where several are). A reset of a bucket that is not empty says nothing.
 */
#include "meter/refusal.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

#include "base/buf.h"
#include "record/turn.h"
#include "scan/values.h"

struct refusal_bucket {
	char name[32]; /* "tokens", "requests-day" */
	double remaining;
	char reset[40]; /* read at the end: Date may come later */
};

struct refusal {
	int64_t date_ms;
	double retry_ms;      /* of retry-after-ms */
	char retry_after[64]; /* read at the end, as the resets */
	char unified_claim[32];
	char unified_reset[32];
	bool is_unified_empty; /* a subscription's window refuses */
	bool is_wall_clock;    /* date_ms is ours, not the provider's */
	int n_buckets;
	struct refusal_bucket buckets[REFUSAL_BUCKETS_MAX];
	struct buf body;
};

/* What the body says. Texts are borrowed from the parsed JSON. */
struct refusal_facts {
	json_t *json;
	int status; /* the HTTP one, or a code in the body that looks so */
	const char *code;
	const char *type;
	const char *message;
	const char *quota_id; /* Google's */
	double retry_ms;
	char code_text[24];
};

struct refusal *
refusal_new(int64_t now_wall_ms)
{
	struct refusal *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->date_ms = now_wall_ms;
	r->is_wall_clock = true;
	r->retry_ms = NAN;
	buf_init(&r->body, REFUSAL_BODY_BYTES);
	return r;
}

void
refusal_free(struct refusal *r)
{
	if (r == NULL)
		return;
	buf_fini(&r->body);
	free(r);
}

void
refusal_body(struct refusal *r, const void *data, size_t n)
{
	size_t room = REFUSAL_BODY_BYTES - buf_len(&r->body);

	if (n > 0 && room > 0)
		(void)buf_append(&r->body, data, n < room ? n : room);
}

static void
refusal_copy(char *out, size_t n_out, const char *s, size_t n)
{
	if (n >= n_out)
		n = n_out - 1;
	memcpy(out, s, n);
	out[n] = '\0';
}

static struct refusal_bucket *
refusal_bucket(struct refusal *r, const char *name, size_t n)
{
	struct refusal_bucket *b;
	char key[sizeof(b->name)];

	refusal_copy(key, sizeof(key), name, n);
	for (size_t i = 0; key[i] != '\0'; i++)
		if (key[i] >= 'A' && key[i] <= 'Z')
			key[i] = (char)(key[i] | 0x20);
	for (int i = 0; i < r->n_buckets; i++)
		if (strcmp(r->buckets[i].name, key) == 0)
			return &r->buckets[i];
	if (r->n_buckets == REFUSAL_BUCKETS_MAX)
		return NULL;
	b = &r->buckets[r->n_buckets++];
	memcpy(b->name, key, sizeof(key));
	b->remaining = NAN;
	b->reset[0] = '\0';
	return b;
}

/* A wait: a duration or a moment, that in RFC 3339, or seconds or milliseconds
 * since the epoch; NaN for none. */
static double
refusal_wait_ms(const struct refusal *r, const char *s)
{
	size_t n = strlen(s);
	int64_t moment;
	double value;

	if (values_rfc3339_ms(s, n, &moment))
		return fmax(0, (double)(moment - r->date_ms));
	if (values_real(s, n, &value) && value > 1e12)
		return fmax(0, value - (double)r->date_ms);
	if (values_real(s, n, &value) && value > 1e9)
		return fmax(0, value * 1e3 - (double)r->date_ms);
	return values_duration_ms(s, n, &value) && value >= 0 ? value : NAN;
}

/* "x-ratelimit-remaining-tokens", "anthropic-ratelimit-tokens-remaining":
 * what stands for WORD and what is left around it. */
static bool
refusal_bucket_name(const char *name, size_t n, const char *word,
    const char **key_out, size_t *n_key_out)
{
	static const char *const prefixes[] = {
	    "x-ratelimit-", "anthropic-ratelimit-", "ratelimit-"};
	size_t n_word = strlen(word);

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		size_t n_prefix = strlen(prefixes[i]);

		if (n < n_prefix + n_word ||
		    strncasecmp(name, prefixes[i], n_prefix) != 0)
			continue;
		if (strncasecmp(name + n_prefix, word, n_word) == 0) {
			size_t skip = n_prefix + n_word;

			skip += skip < n && name[skip] == '-';
			*key_out = name + skip;
			*n_key_out = n - skip;
			return true;
		}
		if (n > n_prefix + n_word && name[n - n_word - 1] == '-' &&
		    strncasecmp(name + n - n_word, word, n_word) == 0) {
			*key_out = name + n_prefix;
			*n_key_out = n - n_prefix - n_word - 1;
			return true;
		}
	}
	return false;
}

static const char refusal_unified_prefix[] = "anthropic-ratelimit-unified-";

static bool
refusal_is_unified(const char *name, size_t n)
{
	return n > sizeof(refusal_unified_prefix) - 1 &&
	       strncasecmp(name, refusal_unified_prefix,
		   sizeof(refusal_unified_prefix) - 1) == 0;
}

/* Of a subscription: whether it refuses, by which window, and until when. The
 * headers of single windows say nothing of that. */
static void
refusal_unified(struct refusal *r, const char *name, size_t n_name,
    const char *value, size_t n_value)
{
	if (values_name_is(name, n_name, "status"))
		r->is_unified_empty =
		    values_name_is(value, n_value, "rejected") ||
		    values_name_is(value, n_value, "rate_limited");
	else if (values_name_is(name, n_name, "representative-claim"))
		refusal_copy(
		    r->unified_claim, sizeof(r->unified_claim), value, n_value);
	else if (values_name_is(name, n_name, "reset"))
		refusal_copy(
		    r->unified_reset, sizeof(r->unified_reset), value, n_value);
}

void
refusal_header(struct refusal *r, const char *name, size_t n_name,
    const char *value, size_t n_value)
{
	struct refusal_bucket *b;
	const char *key;
	size_t n_key;
	double real;

	if (values_name_is(name, n_name, "date")) {
		if (values_http_date_ms(value, n_value, &r->date_ms))
			r->is_wall_clock = false;
	} else if (values_name_is(name, n_name, "retry-after-ms")) {
		if (values_real(value, n_value, &real) && real >= 0)
			r->retry_ms = real;
	} else if (values_name_is(name, n_name, "retry-after")) {
		refusal_copy(
		    r->retry_after, sizeof(r->retry_after), value, n_value);
	} else if (refusal_is_unified(name, n_name)) {
		refusal_unified(r, name + sizeof(refusal_unified_prefix) - 1,
		    n_name - (sizeof(refusal_unified_prefix) - 1), value,
		    n_value);
	} else if (refusal_bucket_name(
		       name, n_name, "remaining", &key, &n_key)) {
		b = refusal_bucket(r, key, n_key);
		if (b != NULL && values_real(value, n_value, &real))
			b->remaining = real;
	} else if (refusal_bucket_name(name, n_name, "reset", &key, &n_key)) {
		b = refusal_bucket(r, key, n_key);
		if (b != NULL)
			refusal_copy(
			    b->reset, sizeof(b->reset), value, n_value);
	}
}

/* Whether TEXT, which may be NULL, holds one of the phrases, in any case. */
static bool
refusal_says(const char *text, const char *const *phrases)
{
	for (; text != NULL && *phrases != NULL; phrases++)
		if (strcasestr(text, *phrases) != NULL)
			return true;
	return false;
}

static const char *const refusal_quota_words[] = {"insufficient_quota",
    "billing", "insufficient_balance", "insufficient balance", "credit balance",
    "out_of_credits", "usage_not_included", "quota_exceeded", "token_quota",
    NULL};
static const char *const refusal_quota_codes[] = {
    "1113", "1308", "1309", "1310", "1314", NULL}; /* Z.ai */
static const char *const refusal_rate_words[] = {"rate_limit", "ratelimit",
    "rate limit", "rate_exceeded", "RESOURCE_EXHAUSTED", "too_many_requests",
    "too many requests", "throttl", "usage_limit_reached", NULL};
static const char *const refusal_overload_words[] = {"overload", "slow_down",
    "queue_exceeded", "capacity_exceeded", "high demand", "at capacity",
    "UNAVAILABLE", "temporarily unavailable", NULL};
static const char *const refusal_context_words[] = {"context_length",
    "context length", "context window", "prompt is too long",
    "maximum number of tokens", "string_above_max_length",
    "exceed_context_size", "max_tokens limit", "reduce the length", NULL};
static const char *const refusal_auth_words[] = {"authentication_error",
    "permission_error", "invalid_api_key", "api key not valid",
    "UNAUTHENTICATED", "PERMISSION_DENIED", NULL};
static const char *const refusal_invalid_words[] = {"invalid", "not_found",
    "unsupported", "not_supported", "request_too_large", "tool_use_failed",
    NULL};
static const char *const refusal_server_words[] = {
    "server_error", "api_error", "internal", "timeout", "bad_gateway", NULL};
static const char *const refusal_wall_words[] = {
    "request too large", "reduce your message size", NULL};

/* The name of the error: code, type and status in one go. */
static bool
refusal_is_named(const struct refusal_facts *f, const char *const *words)
{
	return refusal_says(f->code, words) || refusal_says(f->type, words);
}

static bool
refusal_code_is(const struct refusal_facts *f, const char *const *codes)
{
	for (; f->code != NULL && *codes != NULL; codes++)
		if (strcmp(f->code, *codes) == 0)
			return true;
	return false;
}

/* Google's "34.4s", as a field of its own. */
static void
refusal_read_details(struct refusal_facts *f, const json_t *details)
{
	size_t i;
	const json_t *detail;

	for (i = 0; i < json_array_size(details); i++) {
		const char *delay;

		detail = json_array_get(details, i);
		delay = json_string_value(
		    json_object_get(detail, "retryDelay"));
		if (delay != NULL)
			(void)values_duration_ms(
			    delay, strlen(delay), &f->retry_ms);
		if (f->quota_id == NULL)
			f->quota_id = json_string_value(json_object_get(
			    json_array_get(
				json_object_get(detail, "violations"), 0),
			    "quotaId"));
	}
}

static void
refusal_read_code(struct refusal_facts *f, const json_t *code)
{
	const char *text = json_string_value(code);
	char *end;
	long value = 0;

	if (json_is_integer(code)) {
		value = (long)json_integer_value(code);
		snprintf(f->code_text, sizeof(f->code_text), "%ld", value);
		text = f->code_text;
	} else if (text != NULL) {
		value = strtol(text, &end, 10);
		if (*end != '\0')
			value = 0;
	}
	if (text != NULL && f->code == NULL)
		f->code = text;
	if (f->status == 0 && value >= 400 && value < 600)
		f->status = (int)value;
}

/* One error value: an object, a string, or what an array holds first. */
static void
refusal_read_error(struct refusal_facts *f, const json_t *error, int64_t now_ms)
{
	const json_t *at;
	const char *text;

	if (json_is_array(error))
		error = json_array_get(error, 0);
	if (json_is_string(error)) {
		f->message = json_string_value(error);
		return;
	}
	refusal_read_code(f, json_object_get(error, "code"));
	refusal_read_code(f, json_object_get(error, "status_code"));
	text = json_string_value(json_object_get(error, "type"));
	if (text != NULL && strcmp(text, "error") != 0)
		f->type = text;
	/* Google's name of the status says more than its number. */
	text = json_string_value(json_object_get(error, "status"));
	if (text != NULL && f->type == NULL)
		f->type = text;
	text = json_string_value(json_object_get(error, "message"));
	if (text == NULL)
		text = json_string_value(json_object_get(error, "detail"));
	if (text != NULL)
		f->message = text;
	refusal_read_details(f, json_object_get(error, "details"));
	at = json_object_get(error, "resets_at");
	if (json_is_number(at))
		f->retry_ms = fmax(
		    0, json_number_value(at) * 1e3 - (double)now_ms);
	at = json_object_get(error, "resets_in_seconds");
	if (json_is_number(at))
		f->retry_ms = json_number_value(at) * 1e3;
	at = json_object_get(error, "metadata");
	text = json_string_value(json_object_get(at, "error_type"));
	if (text != NULL && f->type == NULL)
		f->type = text;
}

/* The wait in prose: "try again in 1.3s", "9m38.016s", "28ms", "in 6
 * seconds". */
static double
refusal_prose_ms(const char *message)
{
	static const char *const leads[] = {"try again in ", "retry in ",
	    "retry after ", "available in ", NULL};
	const char *s = NULL;
	size_t n;
	double value;

	for (int i = 0; s == NULL && leads[i] != NULL; i++) {
		s = message != NULL ? strcasestr(message, leads[i]) : NULL;
		if (s != NULL)
			s += strlen(leads[i]);
	}
	if (s == NULL)
		return NAN;
	n = strspn(s, "0123456789.");
	if (n == 0)
		return NAN;
	if (s[n] == ' ' && values_real(s, n, &value)) {
		const char *unit = s + n + 1;

		if (strncasecmp(unit, "ms", 2) == 0 ||
		    strncasecmp(unit, "milli", 5) == 0)
			return value;
		if (strncasecmp(unit, "min", 3) == 0)
			return value * 60e3;
		if (strncasecmp(unit, "hour", 4) == 0)
			return value * 3600e3;
		return strncasecmp(unit, "s", 1) == 0 ? value * 1e3 : NAN;
	}
	n = strspn(s, "0123456789.hmsu");
	while (n > 0 && s[n - 1] == '.') /* the sentence's */
		n--;
	return values_duration_ms(s, n, &value) ? value : NAN;
}

static bool
refusal_is_overload(const struct refusal_facts *f, int status)
{
	static const char *const loading[] = {"loading model", NULL};

	if (status == 529 || status == 498)
		return true;
	if (refusal_is_named(f, refusal_overload_words))
		return !refusal_says(f->message, loading);
	if (status != 503)
		return false;
	/* A bare 503 says that there is no room at the moment. */
	return f->json == NULL ||
	       refusal_says(f->message, refusal_overload_words);
}

static int
refusal_kind(const struct refusal_facts *f, int status)
{
	if (status == 402 || refusal_is_named(f, refusal_quota_words) ||
	    refusal_code_is(f, refusal_quota_codes))
		return TURN_ERROR_KIND_QUOTA;
	if (refusal_is_overload(f, status))
		return TURN_ERROR_KIND_OVERLOADED;
	if (status == 429 || refusal_is_named(f, refusal_rate_words))
		return TURN_ERROR_KIND_RATE;
	if (status == 401 || status == 403 || status == 407 ||
	    refusal_is_named(f, refusal_auth_words) ||
	    refusal_says(f->message, refusal_auth_words))
		return TURN_ERROR_KIND_AUTH;
	if (refusal_is_named(f, refusal_context_words) ||
	    (status < 500 && refusal_says(f->message, refusal_context_words)))
		return TURN_ERROR_KIND_CONTEXT_LENGTH;
	if (status >= 500 || refusal_is_named(f, refusal_server_words))
		return TURN_ERROR_KIND_SERVER;
	if ((status >= 400 && status != 408) ||
	    refusal_is_named(f, refusal_invalid_words))
		return TURN_ERROR_KIND_INVALID;
	return TURN_ERROR_KIND_OTHER;
}

/* Which limit, in the words of the body: "input_tokens/min"; "" for none. */
static void
refusal_dimension(const struct refusal_facts *f, char out[64])
{
	static const struct {
		const char *phrase;
		const char *dimension;
	} names[] = {{"uncached tokens", "uncached_tokens"},
	    {"uncached token", "uncached_tokens"},
	    {"total tokens", "total_tokens"}, {"input tokens", "input_tokens"},
	    {"InputTokens", "input_tokens"}, {"output tokens", "output_tokens"},
	    {"concurren", "concurrency"}, {"token rate", "tokens"},
	    {"(TPM)", "tokens"}, {"(TPD)", "tokens"}, {"(RPM)", "requests"},
	    {"(RPD)", "requests"}, {"tokens per", "tokens"},
	    {"token_quota", "tokens"}, {"Requests", "requests"},
	    {"requests", "requests"}, {"too many tokens", "tokens"}};
	static const struct {
		const char *phrase;
		const char *window;
	} windows[] = {{"per min", "/min"}, {"PerMinute", "/min"},
	    {"(TPM)", "/min"}, {"(RPM)", "/min"}, {"per day", "/day"},
	    {"PerDay", "/day"}, {"(TPD)", "/day"}, {"(RPD)", "/day"},
	    {"per hour", "/h"}, {"per second", "/s"}};
	const char *text = f->quota_id != NULL ? f->quota_id : f->message;

	out[0] = '\0';
	for (size_t i = 0; text != NULL && out[0] == '\0' &&
			   i < sizeof(names) / sizeof(*names);
	     i++)
		if (strcasestr(text, names[i].phrase) != NULL)
			strcpy(out, names[i].dimension);
	if (out[0] == '\0' && f->type != NULL &&
	    (strcmp(f->type, "tokens") == 0 ||
		strcmp(f->type, "requests") == 0))
		strcpy(out, f->type);
	if (out[0] == '\0' || strcmp(out, "concurrency") == 0)
		return;
	for (size_t i = 0; i < sizeof(windows) / sizeof(*windows); i++)
		if (strcasestr(text != NULL ? text : "", windows[i].phrase) !=
		    NULL) {
			strcat(out, windows[i].window);
			return;
		}
}

/* A header's name of a bucket as a dimension: "requests-day" is
 * "requests/day", "input-tokens" is "input_tokens". */
static void
refusal_bucket_dimension(const char *name, char out[64])
{
	static const struct {
		const char *suffix;
		const char *window;
	} windows[] = {{"-minute", "/min"}, {"-hour", "/h"}, {"-day", "/day"}};
	size_t n = strlen(name);

	strcpy(out, name[0] != '\0' ? name : "requests");
	for (size_t i = 0; i < sizeof(windows) / sizeof(*windows); i++) {
		size_t n_suffix = strlen(windows[i].suffix);

		if (n > n_suffix &&
		    strcmp(name + n - n_suffix, windows[i].suffix) == 0)
			strcpy(out + n - n_suffix, windows[i].window);
	}
	if (strncmp(out, "req/", 4) == 0) { /* Mistral */
		memmove(out + 8, out + 3, strlen(out + 3) + 1);
		memcpy(out, "requests", 8);
	}
	for (char *p = out; *p != '\0'; p++)
		if (*p == '-')
			*p = '_';
}

/* The exhausted bucket that takes longest to come back; NULL. */
static const struct refusal_bucket *
refusal_empty_bucket(const struct refusal *r, double *wait_ms_out)
{
	const struct refusal_bucket *worst = NULL;

	for (int i = 0; i < r->n_buckets; i++) {
		const struct refusal_bucket *b = &r->buckets[i];
		double wait_ms;

		if (b->remaining > 0 || isnan(b->remaining))
			continue;
		wait_ms = refusal_wait_ms(r, b->reset);
		if (worst == NULL || isnan(*wait_ms_out) ||
		    wait_ms > *wait_ms_out) {
			worst = b;
			*wait_ms_out = wait_ms;
		}
	}
	return worst;
}

static double
refusal_header_wait_ms(const struct refusal *r)
{
	double ms;

	if (!isnan(r->retry_ms))
		return r->retry_ms;
	/* Durations with units and moments are no Retry-After by the book, but
	 * are sent. */
	ms = refusal_wait_ms(r, r->retry_after);
	if (isnan(ms))
		(void)values_retry_after_ms(
		    r->retry_after, strlen(r->retry_after), r->date_ms, &ms);
	return ms;
}

static void
refusal_settle_limit(
    const struct refusal *r, const struct refusal_facts *f, struct turn *t)
{
	double wait_ms = r != NULL ? refusal_header_wait_ms(r) : NAN;
	double reset_ms = NAN;
	const struct refusal_bucket *b =
	    r != NULL ? refusal_empty_bucket(r, &reset_ms) : NULL;
	char dimension[64];

	if (isnan(wait_ms))
		wait_ms = f->retry_ms;
	if (isnan(wait_ms))
		wait_ms = refusal_prose_ms(f->message);
	if (isnan(wait_ms))
		wait_ms = reset_ms;
	if (isnan(wait_ms) && r != NULL && r->is_unified_empty)
		wait_ms = refusal_wait_ms(r, r->unified_reset);
	t->retry_after_ms = wait_ms;
	if (t->error_kind != TURN_ERROR_KIND_RATE) {
		/* A quota does not come back by waiting, whatever is said. */
		if (t->error_kind == TURN_ERROR_KIND_QUOTA && t->status != 402)
			t->retry_after_ms = NAN;
		return;
	}
	if (t->status == 413 || refusal_says(f->message, refusal_wall_words)) {
		turn_add_flag(t, "limit_wall");
		t->retry_after_ms = NAN;
	}
	refusal_dimension(f, dimension);
	if (dimension[0] == '\0' && b != NULL)
		refusal_bucket_dimension(b->name, dimension);
	if (dimension[0] == '\0' && r != NULL)
		strcpy(dimension, r->unified_claim);
	turn_set_str(t, &t->limit_dimension, dimension);
}

static void
refusal_parse(
    struct refusal_facts *f, const char *text, size_t n, int64_t now_ms)
{
	const json_t *top, *error;

	while (n > 0 && strchr(" \t\r\n", *text) != NULL) {
		text++;
		n--;
	}
	f->json = json_loadb(
	    text, n, JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, NULL);
	top = json_is_array(f->json) ? json_array_get(f->json, 0) : f->json;
	error = json_object_get(top, "error");
	if (json_is_object(error) || json_is_array(error)) {
		refusal_read_error(f, error, now_ms);
		refusal_read_code(f, json_object_get(top, "status_code"));
		return;
	}
	refusal_read_error(f, top, now_ms);
	if (json_is_string(error))
		f->message = json_string_value(error);
}

void
refusal_settle(const struct refusal *r, int status, struct turn *t)
{
	struct refusal_facts f = {.status = status, .retry_ms = NAN};

	refusal_parse(&f, r != NULL ? buf_data(&r->body) : "",
	    r != NULL ? buf_len(&r->body) : 0, r != NULL ? r->date_ms : 0);
	t->error_kind = refusal_kind(&f, status);
	if (status == 429)
		t->outcome = TURN_OUTCOME_RATE_LIMITED;
	else if (t->error_kind == TURN_ERROR_KIND_OVERLOADED)
		t->outcome = TURN_OUTCOME_OVERLOADED;
	else
		t->outcome = TURN_OUTCOME_HTTP_ERROR;
	/* 429 for want of capacity is not the user's limit, and stays a 429
	 * all the same. */
	refusal_settle_limit(r, &f, t);
	json_decref(f.json);
}

void
refusal_settle_in_stream(
    const char *error, size_t n, int64_t now_wall_ms, struct turn *t)
{
	struct refusal_facts f = {.retry_ms = NAN};

	refusal_parse(&f, error, n, now_wall_ms);
	t->error_kind = refusal_kind(&f, f.status);
	t->outcome = t->error_kind == TURN_ERROR_KIND_RATE
			 ? TURN_OUTCOME_RATE_LIMITED
			 : TURN_OUTCOME_STREAM_ERROR;
	/* An error by another name whose text speaks of a limit. */
	if (t->error_kind != TURN_ERROR_KIND_RATE &&
	    t->error_kind != TURN_ERROR_KIND_QUOTA &&
	    refusal_says(f.message, refusal_rate_words))
		turn_add_flag(t, "likely_rate_limit");
	refusal_settle_limit(NULL, &f, t);
	json_decref(f.json);
}
