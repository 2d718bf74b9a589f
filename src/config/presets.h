/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * presets: the upstreams that are there without any configuration. Constant.
 */
#ifndef CONFIG_PRESETS_H
#define CONFIG_PRESETS_H

#include <stddef.h>

struct preset {
	const char *name;
	const char *url;
	const char *protocol; /* NULL: told by the path */
	const char *version;
	const char *price_provider; /* NULL: the name */
};

extern const struct preset presets[];
extern const size_t n_presets;

#endif
