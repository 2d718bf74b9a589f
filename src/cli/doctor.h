/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * doctor: what the checks share. Each check is one function and one line in
 * doctor_checks; each adds lines to the report, good, worth a look, or broken.
 */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "reading.h"

enum doctor_verdict { DOCTOR_OK, DOCTOR_LOOK, DOCTOR_BROKEN };

struct doctor {
	struct reading reading;
	const char *base_url;
	bool is_offline;
	json_t *lines; /* of {check, verdict, text, help} */
	bool is_broken;
};

struct doctor_check {
	const char *name;
	void (*run)(struct doctor *d, const char *name);
};

extern const struct doctor_check doctor_checks[];
extern const size_t n_doctor_checks;

/* HELP says what to do; NULL: nothing. */
void doctor_say(struct doctor *d, const char *check,
    enum doctor_verdict verdict, const char *help, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Prints the newest turn column by column, exactly as it is stored, and what
 * is never stored. An exit status. */
int doctor_privacy(const struct reading *r);

#endif
