/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * other: the protocols that are known by their paths and not yet read. Their
 * turns have times, status and sizes; usage_source is none. A protocol that
 * gets its reader moves to a file of its own.
 */
#include "meter/protocol.h"
#include "record/turn.h"

static const struct protocol_path other_responses_paths[] = {
    {"POST", "/responses", TURN_KIND_TURN, NULL},
    {"POST", "/responses/compact", TURN_KIND_COMPACTION, NULL},
    {"POST", "/responses/input_tokens", TURN_KIND_COUNT_TOKENS, NULL},
    /* a replay of one that was billed before */
    {"GET", "/responses/{}", TURN_KIND_OTHER, NULL},
    {"POST", "/responses/{}/cancel", TURN_KIND_OTHER, NULL},
    {NULL, NULL, 0, NULL},
};
const struct protocol protocol_openai_responses = {
    .name = "openai-responses",
    .paths = other_responses_paths,
    .request = REQUEST_SHAPE_OTHER,
    .error = ERROR_SHAPE_OPENAI,
};

static const struct protocol_path other_completions_paths[] = {
    {"POST", "/completions", TURN_KIND_TURN, NULL},
    {NULL, NULL, 0, NULL},
};
const struct protocol protocol_openai_completions = {
    .name = "openai-completions",
    .paths = other_completions_paths,
    .request = REQUEST_SHAPE_OTHER,
    .error = ERROR_SHAPE_OPENAI,
};

static const struct protocol_path other_embeddings_paths[] = {
    {"POST", "/embeddings", TURN_KIND_EMBEDDING, NULL},
    {NULL, NULL, 0, NULL},
};
const struct protocol protocol_openai_embeddings = {
    .name = "openai-embeddings",
    .paths = other_embeddings_paths,
    .request = REQUEST_SHAPE_OTHER,
    .error = ERROR_SHAPE_OPENAI,
};

static const struct protocol_path other_gemini_paths[] = {
    {"POST", "/{model}:generateContent", TURN_KIND_TURN, NULL},
    {"POST", "/{model}:streamGenerateContent", TURN_KIND_TURN, NULL},
    {"POST", "/{model}:countTokens", TURN_KIND_COUNT_TOKENS, NULL},
    {"POST", "/{model}:embedContent", TURN_KIND_EMBEDDING, NULL},
    {"POST", "/{model}:batchEmbedContents", TURN_KIND_EMBEDDING, NULL},
    {"POST", "/{model}:batchGenerateContent", TURN_KIND_OTHER, NULL},
    {"POST", "/publishers/google/models/{model}:predict", TURN_KIND_OTHER,
	NULL},
    {"POST", "/v1beta/interactions", TURN_KIND_TURN, NULL},
    {NULL, NULL, 0, NULL},
};
const struct protocol protocol_gemini = {
    .name = "gemini",
    .paths = other_gemini_paths,
    .request = REQUEST_SHAPE_OTHER,
    .error = ERROR_SHAPE_GOOGLE,
};

static const struct protocol_path other_ollama_paths[] = {
    {"POST", "/api/chat", TURN_KIND_TURN, NULL},
    {"POST", "/api/generate", TURN_KIND_TURN, NULL},
    {"POST", "/api/embed", TURN_KIND_EMBEDDING, NULL},
    {"POST", "/api/embeddings", TURN_KIND_EMBEDDING, NULL},
    {NULL, NULL, 0, NULL},
};
const struct protocol protocol_ollama = {
    .name = "ollama",
    .paths = other_ollama_paths,
    .request = REQUEST_SHAPE_OTHER,
    .error = ERROR_SHAPE_STRING,
};

/* `/completions` too, where the upstream's setting says llamacpp. */
static const struct protocol_path other_llamacpp_paths[] = {
    {"POST", "/completion", TURN_KIND_TURN, NULL},
    {"POST", "/completions", TURN_KIND_TURN, "llama.cpp"},
    {"POST", "/infill", TURN_KIND_TURN, NULL},
    {"POST", "/embedding", TURN_KIND_EMBEDDING, NULL},
    {"POST", "/tokenize", TURN_KIND_COUNT_TOKENS, NULL},
    {"POST", "/apply-template", TURN_KIND_OTHER, NULL},
    {NULL, NULL, 0, NULL},
};
const struct protocol protocol_llamacpp = {
    .name = "llamacpp",
    .paths = other_llamacpp_paths,
    .request = REQUEST_SHAPE_OTHER,
    .error = ERROR_SHAPE_OPENAI,
};

static const struct protocol_path other_cohere_paths[] = {
    {"POST", "/v2/chat", TURN_KIND_TURN, NULL},
    {"POST", "/v1/chat", TURN_KIND_TURN, "cohere"},
    {"POST", "/v2/embed", TURN_KIND_EMBEDDING, NULL},
    {"POST", "/v1/embed", TURN_KIND_EMBEDDING, "cohere"},
    {NULL, NULL, 0, NULL},
};
const struct protocol protocol_cohere = {
    .name = "cohere",
    .paths = other_cohere_paths,
    .request = REQUEST_SHAPE_OTHER,
    .error = ERROR_SHAPE_MESSAGE,
};

static const struct protocol_path other_bedrock_paths[] = {
    {"POST", "/model/{model}/converse", TURN_KIND_TURN, NULL},
    {"POST", "/model/{model}/converse-stream", TURN_KIND_TURN, NULL},
    {"POST", "/model/{model}/invoke", TURN_KIND_TURN, NULL},
    {"POST", "/model/{model}/invoke-with-response-stream", TURN_KIND_TURN,
	NULL},
    {"POST", "/model/{model}/count-tokens", TURN_KIND_COUNT_TOKENS, NULL},
    {NULL, NULL, 0, NULL},
};
const struct protocol protocol_bedrock = {
    .name = "bedrock",
    .paths = other_bedrock_paths,
    .request = REQUEST_SHAPE_OTHER,
    .error = ERROR_SHAPE_MESSAGE,
};
