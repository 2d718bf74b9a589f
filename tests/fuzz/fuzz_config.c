/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * Any bytes as a configuration file: read, or refused with a reason; and a good
 * file is read afterwards, whatever state the bytes left behind.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config/config.h"

static void
check(bool claim)
{
	if (!claim)
		abort();
}

/* NULL where it is refused. */
static struct config *
load(const void *data, size_t n)
{
	int fd = memfd_create("conf", MFD_CLOEXEC);
	struct config_source source = {0};
	struct config *c;
	char path[64], *error;

	check(fd >= 0 && write(fd, data, n) == (ssize_t)n);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	source.file = path;
	if (config_load(&source, &c, &error) != 0) {
		check(c == NULL && error != NULL && error[0] != '\0');
		check(strstr(error, path) != NULL);
	} else {
		check(c != NULL && error == NULL);
		check(c->listen_is_loopback || c->token != NULL);
	}
	free(error);
	close(fd);
	return c;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const char good[] = "warn_turns = 17\n";
	struct config *c;

	config_free(load(data, n));
	c = load(good, sizeof(good) - 1);
	check(c != NULL && c->warn_turns == 17);
	config_free(c);
	return 0;
}
