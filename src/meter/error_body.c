/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * The kind (connect_failed, timeout, ...) stands where a client looks for a
 * code; the type, where there is one, is the provider's own word for the
 * status, since clients decide by it whether to try again.
 */
#include "meter/error_body.h"

#include <stddef.h>

#include <jansson.h>

static const char *
error_body_anthropic_type(int status)
{
	switch (status) {
	case 400: return "invalid_request_error";
	case 401: return "authentication_error";
	case 403: return "permission_error";
	case 404: return "not_found_error";
	case 413: return "request_too_large";
	case 429: return "rate_limit_error";
	case 504: return "timeout_error";
	default: return "api_error";
	}
}

static const char *
error_body_google_status(int status)
{
	switch (status) {
	case 400:
	case 413: return "INVALID_ARGUMENT";
	case 401: return "UNAUTHENTICATED";
	case 403: return "PERMISSION_DENIED";
	case 404: return "NOT_FOUND";
	case 429: return "RESOURCE_EXHAUSTED";
	case 502:
	case 503: return "UNAVAILABLE";
	case 504: return "DEADLINE_EXCEEDED";
	default: return "INTERNAL";
	}
}

char *
error_body_make(
    enum error_shape shape, int status, const char *kind, const char *message)
{
	json_t *body = NULL;
	char *text;

	switch (shape) {
	case ERROR_SHAPE_OPENAI:
		body = json_pack("{s:{s:s, s:s, s:n, s:s}}", "error", "message",
		    message, "type",
		    status < 500 ? "invalid_request_error" : "server_error",
		    "param", "code", kind);
		break;
	case ERROR_SHAPE_ANTHROPIC:
		body = json_pack("{s:s, s:{s:s, s:s}}", "type", "error",
		    "error", "type", error_body_anthropic_type(status),
		    "message", message);
		break;
	case ERROR_SHAPE_GOOGLE:
		body = json_pack("{s:{s:i, s:s, s:s}}", "error", "code", status,
		    "message", message, "status",
		    error_body_google_status(status));
		break;
	case ERROR_SHAPE_STRING:
		body = json_pack("{s:s}", "error", message);
		break;
	case ERROR_SHAPE_MESSAGE:
		body = json_pack("{s:s}", "message", message);
		break;
	}
	if (body == NULL)
		return NULL;
	text = json_dumps(body, JSON_COMPACT);
	json_decref(body);
	return text;
}
