/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "oracle_json.h"

#include <string.h>

#include <jansson.h>

/* A NUL at the end is the end to jansson, and a byte to us. */
bool
oracle_is_document(const void *data, size_t n)
{
	json_t *value;

	if (memchr(data, '\0', n) != NULL)
		return false;
	value = json_loadb(data, n,
	    JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
	json_decref(value);
	return value != NULL;
}
