/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * sim_pacer: one thread that wakes suspended connections when their time has
 * come. Private to the room sim.
 */
#ifndef SIM_SIM_PACER_H
#define SIM_SIM_PACER_H

#include <stdbool.h>
#include <stdint.h>

struct MHD_Connection;
struct sim_pacer;

/* 0 or -errno. */
int sim_pacer_start(struct sim_pacer **pacer_out);

/* Suspends CONNECTION and resumes it at DUE_NS of clock_now_ns. False where
 * the pacer is stopping or without memory: nothing was suspended. Called from
 * a callback of libmicrohttpd for that connection. */
bool sim_pacer_hold(
    struct sim_pacer *p, struct MHD_Connection *connection, int64_t due_ns);

/* Resumes all, refuses what comes later and ends the thread. The pacer may
 * still be asked until sim_pacer_free. */
void sim_pacer_stop(struct sim_pacer *p);
void sim_pacer_free(struct sim_pacer *p);

#endif
