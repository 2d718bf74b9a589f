/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "endpoint.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "reading.h"

const struct endpoint_known endpoint_known[] = {
    {"alibaba", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
	{"DASHSCOPE_API_KEY"}},
    {"anthropic", "https://api.anthropic.com/v1", {"ANTHROPIC_API_KEY"}},
    {"cerebras", "https://api.cerebras.ai/v1", {"CEREBRAS_API_KEY"}},
    {"deepinfra", "https://api.deepinfra.com/v1/openai", {"DEEPINFRA_API_KEY"}},
    {"deepseek", "https://api.deepseek.com", {"DEEPSEEK_API_KEY"}},
    {"fireworks-ai", "https://api.fireworks.ai/inference/v1",
	{"FIREWORKS_API_KEY"}},
    {"google", "https://generativelanguage.googleapis.com/v1beta",
	{"GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"}},
    {"groq", "https://api.groq.com/openai/v1", {"GROQ_API_KEY"}},
    {"huggingface", "https://router.huggingface.co/v1", {"HF_TOKEN"}},
    {"mistral", "https://api.mistral.ai/v1", {"MISTRAL_API_KEY"}},
    {"moonshotai", "https://api.moonshot.ai/v1", {"MOONSHOT_API_KEY"}},
    {"nvidia", "https://integrate.api.nvidia.com/v1", {"NVIDIA_API_KEY"}},
    {"openai", "https://api.openai.com/v1", {"OPENAI_API_KEY"}},
    {"opencode", "https://opencode.ai/zen/v1", {"OPENCODE_API_KEY"}},
    {"openrouter", "https://openrouter.ai/api/v1", {"OPENROUTER_API_KEY"}},
    {"perplexity", "https://api.perplexity.ai", {"PERPLEXITY_API_KEY"}},
    {"togetherai", "https://api.together.xyz/v1", {"TOGETHER_API_KEY"}},
    {"xai", "https://api.x.ai/v1", {"XAI_API_KEY"}},
    {"zai", "https://api.z.ai/api/paas/v4", {"ZHIPU_API_KEY"}},
    {"zai-coding-plan", "https://api.z.ai/api/coding/paas/v4", {NULL}},
};
const size_t n_endpoint_known = sizeof(endpoint_known) /
				sizeof(*endpoint_known);

const struct endpoint_known *
endpoint_known_find(const char *id)
{
	for (size_t i = 0; i < n_endpoint_known; i++)
		if (strcmp(endpoint_known[i].id, id) == 0)
			return &endpoint_known[i];
	return NULL;
}

void
endpoint_base(
    const struct config *c, const char *project, char out[ENDPOINT_BYTES])
{
	static const char hex[] = "0123456789ABCDEF";
	size_t n;

	reading_base_url(c, out, ENDPOINT_BYTES);
	n = strlen(out);
	if (c->token != NULL)
		n += (size_t)snprintf(
		    out + n, ENDPOINT_BYTES - n, "/~%.300s", c->token);
	if (project == NULL)
		return;
	n += (size_t)snprintf(out + n, ENDPOINT_BYTES - n, "/~p=");
	for (; *project != '\0' && n + 4 < ENDPOINT_BYTES; project++) {
		unsigned char byte = (unsigned char)*project;

		if (isalnum(byte) || strchr("-._", byte) != NULL) {
			out[n++] = (char)byte;
			continue;
		}
		out[n++] = '%';
		out[n++] = hex[byte >> 4];
		out[n++] = hex[byte & 15];
	}
	out[n] = '\0';
}

/* A URL taken apart; the slices lie in it. */
struct endpoint_url {
	bool is_tls;
	const char *host; /* without brackets */
	size_t n_host;
	int port;
	const char *path; /* "" or from its slash on, no slash at its end */
	size_t n_path;
};

static bool
endpoint_parse(const char *url, struct endpoint_url *u)
{
	const char *p, *end, *colon;

	u->is_tls = strncasecmp(url, "https://", 8) == 0;
	if (!u->is_tls && strncasecmp(url, "http://", 7) != 0)
		return false;
	p = url + (u->is_tls ? 8 : 7);
	end = p + strcspn(p, "/?#");
	u->host = p;
	colon = memchr(p, ':', (size_t)(end - p));
	if (*p == '[') {
		const char *close = memchr(p, ']', (size_t)(end - p));

		if (close == NULL)
			return false;
		u->host = p + 1;
		u->n_host = (size_t)(close - p - 1);
		colon = close[1] == ':' ? close + 1 : NULL;
	} else {
		u->n_host = (size_t)((colon != NULL ? colon : end) - p);
	}
	u->port = colon != NULL ? atoi(colon + 1) : u->is_tls ? 443 : 80;
	u->path = end;
	u->n_path = strcspn(end, "?#");
	while (u->n_path > 0 && u->path[u->n_path - 1] == '/')
		u->n_path--;
	return u->n_host > 0 && memchr(u->host, '@', u->n_host) == NULL;
}

static bool
endpoint_is_host(const struct endpoint_url *u, const char *host)
{
	return strlen(host) == u->n_host &&
	       strncasecmp(host, u->host, u->n_host) == 0;
}

static bool
endpoint_is_ours(const struct config *c, const struct endpoint_url *u)
{
	return u->port == c->listen_port && !u->is_tls &&
	       (endpoint_is_host(u, c->listen_host) ||
		   endpoint_is_host(u, "127.0.0.1") ||
		   endpoint_is_host(u, "localhost") ||
		   endpoint_is_host(u, "::1"));
}

/* localhost and 127.0.0.1 are one host. */
static bool
endpoint_is_upstream(
    const struct endpoint_url *u, const struct config_upstream *up)
{
	bool both_local = strcmp(up->host, "127.0.0.1") == 0 &&
			  endpoint_is_host(u, "localhost");

	return u->port == up->port && u->is_tls == up->is_tls &&
	       (both_local || endpoint_is_host(u, up->host));
}

static bool
endpoint_has_prefix(const struct endpoint_url *u, const char *path)
{
	size_t n = strlen(path);

	return n <= u->n_path && memcmp(path, u->path, n) == 0 &&
	       (n == u->n_path || u->path[n] == '/');
}

/* One of our own URLs with the tags of BASE in place of its own. */
static void
endpoint_retag(
    const char *base, const struct endpoint_url *u, char out[ENDPOINT_BYTES])
{
	const char *path = u->path, *end = u->path + u->n_path;

	while (end - path > 2 && path[1] == '~') {
		path = memchr(path + 1, '/', (size_t)(end - path - 1));
		if (path == NULL)
			path = end;
	}
	snprintf(
	    out, ENDPOINT_BYTES, "%.500s%.*s", base, (int)(end - path), path);
}

enum endpoint_result
endpoint_over(const struct config *c, const char *base, const char *url,
    enum endpoint_form form, char out[ENDPOINT_BYTES])
{
	const struct config_upstream *host = NULL, *best = NULL;
	struct endpoint_url u;

	if (strchr(url, '{') != NULL || strchr(url, '$') != NULL ||
	    strlen(url) > ENDPOINT_BYTES / 2 || !endpoint_parse(url, &u))
		return ENDPOINT_ODD;
	if (endpoint_is_ours(c, &u)) {
		endpoint_retag(base, &u, out);
		return ENDPOINT_OURS;
	}
	for (size_t i = 0; i < c->n_upstreams; i++) {
		const struct config_upstream *up = &c->upstreams[i];

		if (!endpoint_is_upstream(&u, up))
			continue;
		if (host == NULL)
			host = up;
		if (endpoint_has_prefix(&u, up->base_path) &&
		    (best == NULL ||
			strlen(up->base_path) > strlen(best->base_path)))
			best = up;
	}
	if (host == NULL)
		return ENDPOINT_UNCOVERED;
	/* By the host the path stands for itself; by a name the part that the
	 * upstream's URL has already is not doubled (docs/routes.md). */
	snprintf(out, ENDPOINT_BYTES, "%.500s/%s%.*s", base,
	    best != NULL && form == ENDPOINT_BY_NAME ? best->name
						     : host->authority,
	    (int)u.n_path, u.path);
	return ENDPOINT_COVERED;
}

void
endpoint_section(const char *name, const char *url, char out[ENDPOINT_BYTES])
{
	char clean[33];
	size_t n = 0;

	for (; *name != '\0' && n < sizeof(clean) - 1; name++) {
		char c = (char)tolower((unsigned char)*name);

		if (isalnum((unsigned char)c) ||
		    (n > 0 && (c == '.' || c == '-')))
			clean[n++] = c;
		else if (n > 0 && clean[n - 1] != '-')
			clean[n++] = '-';
	}
	clean[n] = '\0';
	snprintf(out, ENDPOINT_BYTES, "upstream %s { url = \"%.800s\" }",
	    n > 0 ? clean : "mine", url);
}
