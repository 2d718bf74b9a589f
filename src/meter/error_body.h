/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * error_body: what turnmeter itself answers, in the shape that the client's
 * protocol gives its errors, so that the client shows the message. Pure.
 */
#ifndef METER_ERROR_BODY_H
#define METER_ERROR_BODY_H

enum error_shape {
	ERROR_SHAPE_OPENAI,
	ERROR_SHAPE_ANTHROPIC,
	ERROR_SHAPE_GOOGLE,
	ERROR_SHAPE_STRING, /* {"error":"text"}: Ollama */
	ERROR_SHAPE_MESSAGE /* {"message":"text"}: Cohere, Bedrock */
};

/* Gives a malloc'd JSON text, NULL without memory. */
char *error_body_make(
    enum error_shape shape, int status, const char *kind, const char *message);

#endif
