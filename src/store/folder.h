/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * folder: makes the folder of the database and of the journal. Private to the
 * room. Any thread.
 */
#ifndef STORE_FOLDER_H
#define STORE_FOLDER_H

/* Makes what is missing of PATH's folders with mode 0700, whatever the umask;
 * those that exist keep theirs. 0 or -errno. */
int folder_make_for(const char *path);

#endif
