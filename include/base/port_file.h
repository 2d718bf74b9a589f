/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * port_file: tells scripts which port was taken. Any thread.
 */
#ifndef BASE_PORT_FILE_H
#define BASE_PORT_FILE_H

/* Writes "PORT\n". A reader of PATH sees the whole port or no file. 0 or
 * -errno. */
int port_file_write(const char *path, int port);

#endif
