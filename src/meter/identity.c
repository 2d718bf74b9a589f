/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Most ids name something else than a session: a request, a machine, a user,
 * a prefix of a prompt. So there is no guessing by looks: a header or member
 * counts because a client is known to put the session's id there
 * (docs/internals/request-scan.md has the table in words). Two of them mean a
 * session only with some clients and wait until the client is known.
 */
#include "meter/identity.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "record/turn.h"
#include "scan/json.h"

/* Better rows first: a static x-session-id of somebody's own must not hide
 * what the client itself says. */
enum identity_row {
	IDENTITY_CLAUDE,
	IDENTITY_OPENCODE,
	IDENTITY_X_SESSION_ID,
	IDENTITY_SESSION_DASH,
	IDENTITY_SESSION_UNDERSCORE,
	IDENTITY_CONVERSATION,
	IDENTITY_KILO,
	IDENTITY_CLIENT_REQUEST,
	IDENTITY_USER_ID,
	IDENTITY_METADATA_SESSION,
	IDENTITY_CACHE_KEY,
	IDENTITY_SESSIONS
};

static const struct {
	const char *source; /* as stored */
	const char *header; /* NULL: of the body */
	size_t n_header;
	const char *member; /* NULL: of the head */
} identity_sessions[IDENTITY_SESSIONS] = {
#define HEADER(name)                                         \
	{                                                    \
		"header:" name, name, sizeof(name) - 1, NULL \
	}
#define MEMBER(name)                        \
	{                                   \
		"body:" name, NULL, 0, name \
	}
    [IDENTITY_CLAUDE] = HEADER("x-claude-code-session-id"),
    [IDENTITY_OPENCODE] = HEADER("x-opencode-session"),
    [IDENTITY_X_SESSION_ID] = HEADER("x-session-id"),
    [IDENTITY_SESSION_DASH] = HEADER("session-id"),
    [IDENTITY_SESSION_UNDERSCORE] = HEADER("session_id"),
    [IDENTITY_CONVERSATION] = HEADER("conversation_id"),
    [IDENTITY_KILO] = HEADER("x-kilocode-taskid"),
    [IDENTITY_CLIENT_REQUEST] = HEADER("x-client-request-id"),
    [IDENTITY_USER_ID] = MEMBER("metadata.user_id"),
    [IDENTITY_METADATA_SESSION] = MEMBER("metadata.sessionId"),
    [IDENTITY_CACHE_KEY] = MEMBER("prompt_cache_key"),
#undef HEADER
#undef MEMBER
};

/* Better rows first: with several, one request has one account. */
static const struct {
	const char *header;
	size_t n_header;
} identity_credentials[] = {
    {"authorization", 13},
    {"x-api-key", 9},
    {"api-key", 7},
    {"x-goog-api-key", 14},
};

enum {
	IDENTITY_CREDENTIALS = sizeof(identity_credentials) /
			       sizeof(*identity_credentials)
};

void
identity_init(struct identity *i, const struct keyhash *keys)
{
	memset(i, 0, sizeof(*i));
	i->keys = keys;
	i->session_rank = IDENTITY_SESSIONS;
	i->credential_rank = IDENTITY_CREDENTIALS;
	i->retry_count = TURN_NULL;
}

/* Copies an id; what has blanks, controls or too many bytes is none. */
static bool
identity_copy(char out[IDENTITY_ID_BYTES], const char *s, size_t n)
{
	if (n == 0 || n >= IDENTITY_ID_BYTES)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isgraph((unsigned char)s[i]))
			return false;
	memcpy(out, s, n);
	out[n] = '\0';
	return true;
}

static void
identity_session(struct identity *i, int rank, const char *value, size_t n)
{
	char id[IDENTITY_ID_BYTES];

	if (rank >= i->session_rank || !identity_copy(id, value, n))
		return;
	memcpy(i->session_id, id, sizeof(id));
	i->session_rank = rank;
}

/* "product/version" of the first product in a user agent: up to the first part
 * that is a number, or the whole first word. */
static void
identity_client(struct identity *i, const char *value)
{
	size_t n = strcspn(value, " \t(;,");

	for (size_t at = 0; at < n; at++)
		if (value[at] == '/' && isdigit((unsigned char)value[at + 1])) {
			n = at + 1 + strcspn(value + at + 1, "/ \t(;,");
			break;
		}
	if (n >= sizeof(i->client))
		n = sizeof(i->client) - 1;
	memcpy(i->client, value, n);
	i->client[n] = '\0';
}

/* The part of a credential that stays the same from request to request. */
static void
identity_credential(struct identity *i, int rank, const char *value)
{
	static const char signature[] = "AWS4-HMAC-SHA256 Credential=";
	size_t n;

	if (rank >= i->credential_rank)
		return;
	if (strncasecmp(value, "Bearer ", 7) == 0)
		value += 7;
	value += strspn(value, " \t");
	n = strlen(value);
	if (strncasecmp(value, signature, sizeof(signature) - 1) == 0)
		n = strcspn(value, "/");
	while (n > 0 && (value[n - 1] == ' ' || value[n - 1] == '\t'))
		n--;
	if (n == 0)
		return;
	keyhash_hex_again(i->keys, value, n, 64, i->credential);
	i->credential_rank = rank;
}

/* Most headers are known to be none of these by their length. */
static inline bool
identity_is(const char *name, size_t n, const char *header, size_t n_header)
{
	return n == n_header && strncasecmp(name, header, n) == 0;
}

#define IDENTITY_IS(name, n, header) \
	identity_is(name, n, header, sizeof(header) - 1)

static void
identity_session_header(
    struct identity *i, const char *name, size_t n_name, const char *value)
{
	for (int row = 0; row < IDENTITY_SESSIONS; row++) {
		if (!identity_is(name, n_name, identity_sessions[row].header,
			identity_sessions[row].n_header))
			continue;
		if (row == IDENTITY_CLIENT_REQUEST)
			identity_copy(
			    i->client_request_id, value, strlen(value));
		else
			identity_session(i, row, value, strlen(value));
	}
}

void
identity_header(struct identity *i, const char *name, const char *value)
{
	size_t n = strlen(name);

	if (n == 0)
		return;
	for (int row = 0; row < IDENTITY_CREDENTIALS; row++)
		if (identity_is(name, n, identity_credentials[row].header,
			identity_credentials[row].n_header)) {
			identity_credential(i, row, value);
			return;
		}
	if (IDENTITY_IS(name, n, "user-agent"))
		identity_client(i, value);
	else if (IDENTITY_IS(name, n, "openai-organization"))
		identity_copy(i->organization, value, strlen(value));
	else if (IDENTITY_IS(name, n, "x-stainless-retry-count")) {
		if (!json_number_int(value, strlen(value), &i->retry_count))
			i->retry_count = TURN_NULL;
	} else {
		identity_session_header(i, name, n, value);
	}
}

/* Finds the member session_id of a JSON object. */
struct identity_finder {
	struct json json;
	bool is_wanted;
	bool is_whole;
	size_t n;
	char id[IDENTITY_ID_BYTES];
};

static enum json_wish
identity_find(void *cls, enum json_event event, int depth, const char *data,
    size_t n, bool is_last)
{
	struct identity_finder *f = cls;

	if (event == JSON_KEY)
		f->is_wanted = depth == 1 && n == 10 &&
			       memcmp(data, "session_id", 10) == 0;
	else if (event == JSON_STRING && depth == 1 && f->is_wanted) {
		size_t room = sizeof(f->id) - f->n;

		memcpy(f->id + f->n, data, n < room ? n : room);
		f->n += n < room ? n : room;
		f->is_whole = is_last;
	}
	return event == JSON_KEY && !f->is_wanted ? JSON_SKIP : JSON_WANT;
}

/* Claude's user_id is a JSON text, or as it was before
 * user_HASH_account_UUID_session_UUID; anything else is a user, no session. */
static void
identity_user_id(struct identity *i, int rank, const char *value, size_t n)
{
	static const char before[] = "_session_";
	struct identity_finder f = {.n = 0};
	const char *last = NULL;

	if (n > 0 && value[0] == '{') {
		json_init(&f.json, identity_find, &f);
		json_feed(&f.json, value, n);
		if (json_end(&f.json) && f.is_whole)
			identity_session(i, rank, f.id, f.n);
		return;
	}
	for (size_t at = 0; at + sizeof(before) - 1 < n; at++)
		if (memcmp(value + at, before, sizeof(before) - 1) == 0)
			last = value + at + sizeof(before) - 1;
	if (last != NULL && strncmp(value, "user_", 5) == 0)
		identity_session(i, rank, last, (size_t)(value + n - last));
}

void
identity_body(struct identity *i, const char *name, const char *value, size_t n)
{
	for (int row = 0; row < IDENTITY_SESSIONS; row++) {
		const char *member = identity_sessions[row].member;

		if (member == NULL || strcmp(name, member) != 0)
			continue;
		if (row == IDENTITY_CACHE_KEY)
			identity_copy(i->cache_key, value, n);
		else if (row == IDENTITY_USER_ID)
			identity_user_id(i, row, value, n);
		else
			identity_session(i, row, value, n);
	}
}

/* Whether the client's product begins with one of NAMES. */
static bool
identity_is_client(const struct identity *i, const char *const *names)
{
	for (; *names != NULL; names++)
		if (strncasecmp(i->client, *names, strlen(*names)) == 0)
			return true;
	return false;
}

/* "ses_..." or a UUID. */
static bool
identity_is_unique(const char *id)
{
	if (strncmp(id, "ses_", 4) == 0)
		return true;
	if (strlen(id) != 36)
		return false;
	for (int at = 0; at < 36; at++) {
		bool is_dash = at == 8 || at == 13 || at == 18 || at == 23;

		if (is_dash ? id[at] != '-' : !isxdigit((unsigned char)id[at]))
			return false;
	}
	return true;
}

static void
identity_set_session(struct turn *t, const char *id, int row)
{
	turn_set_str(t, &t->session_id, id);
	turn_set_str(t, &t->session_source, identity_sessions[row].source);
}

static void
identity_finish_session(const struct identity *i, struct turn *t)
{
	/* x-client-request-id is a session with these, a request else. */
	static const char *const askers[] = {"codex", "pi/", "pi-", NULL};
	/* prompt_cache_key is a session with these; with others it may as well
	 * be one constant for all that share a prompt. */
	static const char *const cachers[] = {
	    "codex", "opencode", "kilo", "pi/", "pi-", NULL};

	if (i->session_rank > IDENTITY_CLIENT_REQUEST &&
	    i->client_request_id[0] != '\0' && identity_is_client(i, askers))
		identity_set_session(
		    t, i->client_request_id, IDENTITY_CLIENT_REQUEST);
	else if (i->session_rank < IDENTITY_SESSIONS)
		identity_set_session(t, i->session_id, i->session_rank);
	else if (i->cache_key[0] != '\0' &&
		 (identity_is_client(i, cachers) ||
		     identity_is_unique(i->cache_key)))
		identity_set_session(t, i->cache_key, IDENTITY_CACHE_KEY);
}

static void
identity_finish_account(const struct identity *i, struct turn *t)
{
	char both[sizeof(i->credential) + sizeof(i->organization) + 1];
	char account[13];

	if (i->credential[0] == '\0')
		return;
	if (i->organization[0] == '\0') {
		turn_set_text(t, &t->account, i->credential, 12);
		return;
	}
	snprintf(both, sizeof(both), "%s\n%s", i->credential, i->organization);
	keyhash_hex(i->keys, both, strlen(both), 12, account);
	turn_set_str(t, &t->account, account);
}

void
identity_finish(const struct identity *i, struct turn *t)
{
	turn_set_str(t, &t->client, i->client);
	identity_finish_account(i, t);
	identity_finish_session(i, t);
	if (i->retry_count > 0 && i->retry_count < INT32_MAX)
		t->attempt = i->retry_count + 1;
}
