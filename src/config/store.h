/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * store: checked values into the fields of config.h, one function a type.
 */
#ifndef CONFIG_STORE_H
#define CONFIG_STORE_H

#include <stddef.h>

#include "config/config.h"
#include "config/keys.h"
#include "draft.h"

/* The object behind struct config. */
struct config_own {
	struct config c; /* first: what the callers hold */
	struct draft draft;
	struct config_setting *settings;
	size_t n_settings;
	struct config_upstream *upstreams;
};

/* What a value is stored into and what it needs on the way. */
struct config_target {
	struct config_own *own;
	const struct config_setting *setting;
	const struct draft_origin *origin;
	void *base; /* struct config or struct config_upstream; NULL: check */
};

/* Checks every item of the setting and stores it; what is wrong goes to the
 * draft's problems. */
void config_store(const struct config_target *t);

/* The user's home, without a slash at its end; NULL where unknown. */
const char *config_home(void);

#endif
