/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * oracle_json: what jansson says of a text. A file of its own, since its header
 * and scan/json.h use the same names.
 */
#ifndef ORACLE_JSON_H
#define ORACLE_JSON_H

#include <stdbool.h>
#include <stddef.h>

/* Whether it is one JSON document and nothing else. */
bool oracle_is_document(const void *data, size_t n);

#endif
