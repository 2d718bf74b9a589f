/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
/*
 * turn_codec: a turn as a short run of bytes, for the journal. Private to the
 * room. Any thread that owns the turn.
 *
 * The bytes are records in a row, each of which tells its own length:
 *
 *   u16  field << 2 | wire type       (all numbers little-endian)
 *   int  8 bytes | real 8 bytes | text u16 length, bytes
 *
 * FIELD is the index in turn_fields, which only ever grows at its end; enums
 * travel by name; a null field is left out. A field or an enum's name that the
 * reader does not know is skipped, so files of an older or a newer program can
 * be read. The child rows are texts of the field TURN_CODEC_TOOL. What is
 * biggest and matters least (usage_raw, then the tools) stands last: a front
 * part of the bytes is still a turn.
 */
#ifndef STORE_TURN_CODEC_H
#define STORE_TURN_CODEC_H

#include <stdbool.h>
#include <stddef.h>

struct turn;

enum { TURN_CODEC_TOOL = 0x3fff };

/* What is left out; anything but nothing adds the flag journal_cut. */
enum turn_codec_cut {
	TURN_CODEC_CUT_NOTHING,
	TURN_CODEC_CUT_TOOLS,
	TURN_CODEC_CUT_USAGE_RAW /* and the tools */
};

/* The bytes written to OUT; 0 where they are more than SIZE. */
size_t turn_encode(const struct turn *t, enum turn_codec_cut cut,
    unsigned char *out, size_t size);

/* Gives the turn; NULL where the bytes are not one with an id, or without
 * memory. IS_FRONT: the last record may be broken off; what is whole counts,
 * and the turn gets the flag journal_cut. */
struct turn *turn_decode(const unsigned char *data, size_t n, bool is_front);

#endif
