#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""Hold the #includes of src/ and include/ against the table of floors.

A room may include its own headers and those of lower floors; never those above
and never those beside it (docs/architecture.md). A header without a folder in
its name is private and stands beside the file that includes it.

    floors.py [ROOT]      complain about each include that breaks the rule
    floors.py --self-test show that a bad tree is found bad
"""
import os
import re
import sys
import tempfile

FLOORS = [
    ["base"],
    ["config", "scan", "record"],
    ["meter", "ledger", "store"],
    ["proxy", "report", "import"],
    ["live", "sim"],
    ["daemon"],
    ["cli"],
]
FLOOR_OF = {room: n for n, rooms in enumerate(FLOORS) for room in rooms}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def complaint(room, target):
    """Why ROOM may not include a header of the room TARGET; None: it may."""
    if target not in FLOOR_OF:
        return "there is no room %s" % target
    if room is None:
        return None if target == "cli" else "main.c calls cli alone"
    if target == room or FLOOR_OF[target] < FLOOR_OF[room]:
        return None
    way = "upward" if FLOOR_OF[target] > FLOOR_OF[room] else "sideways"
    return "%s, from %s (floor %d) to %s (floor %d)" % (
        way, room, FLOOR_OF[room], target, FLOOR_OF[target])


def file_complaints(path, room):
    with open(path, encoding="utf-8", errors="replace") as source:
        for number, line in enumerate(source, 1):
            match = INCLUDE.match(line)
            if match is None:
                continue
            header = match.group(1)
            if "/" in header:
                why = complaint(room, header.split("/")[0])
            elif os.path.exists(os.path.join(os.path.dirname(path), header)):
                why = None
            else:
                why = "there is no such private header"
            if why is not None:
                yield '%s:%d: "%s": %s' % (path, number, header, why)


def tree_complaints(root):
    n_files = 0
    found = []
    for top in ("src", "include"):
        for folder, _, names in sorted(os.walk(os.path.join(root, top))):
            parts = os.path.relpath(folder, os.path.join(root, top))
            room = None if parts == "." else parts.split(os.sep)[0]
            for name in sorted(names):
                if not name.endswith((".c", ".h")):
                    continue
                n_files += 1
                path = os.path.join(folder, name)
                if room is not None and room not in FLOOR_OF:
                    found.append("%s: %s is no room" % (path, room))
                else:
                    found.extend(file_complaints(path, room))
    if n_files == 0:
        found.append("%s: there are no files" % root)
    return found


SELF_TEST = [
    # path, text, what is to be found (None: nothing)
    ("src/store/good.c", '#include "base/buf.h"\n#include "own.h"\n', None),
    ("src/store/own.h", "#include <stdio.h>\n", None),
    ("include/store/store.h", '#include "record/turn.h"\n', None),
    ("src/main.c", '#include "cli/cli.h"\n', None),
    ("src/store/up.c", '\n # include  "live/feed.h"\n', ":2: \"live/feed.h\": "
     "upward, from store (floor 2) to live (floor 4)"),
    ("src/store/side.c", '#include "meter/meter.h"\n', "sideways, from store"),
    ("include/base/up.h", '#include "record/turn.h"\n', "upward, from base"),
    ("src/scan/deep/up.c", '#include "meter/m.h"\n', "upward, from scan"),
    ("src/store/path.c", '#include "../live/x.h"\n', "there is no room .."),
    ("src/store/gone.c", '#include "gone.h"\n', "no such private header"),
    ("src/other.c", '#include "live/feed.h"\n', "main.c calls cli alone"),
    ("src/attic/x.c", "", "attic is no room"),
]


def self_test():
    with tempfile.TemporaryDirectory() as root:
        for path, text, _ in SELF_TEST:
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as out:
                out.write(text)
        found = tree_complaints(root)
        for path, _, expected in SELF_TEST:
            full = os.path.join(root, path)
            own = [line for line in found if line.startswith(full + ":")]
            if expected is None:
                assert not own, own
            else:
                assert len(own) == 1 and expected in own[0], (path, own)
        assert len(found) == sum(e is not None for _, _, e in SELF_TEST), found
    with tempfile.TemporaryDirectory() as root:
        assert tree_complaints(root), "an empty tree passes"


def main(args):
    if args == ["--self-test"]:
        self_test()
        return 0
    root = args[0] if args else os.path.join(os.path.dirname(__file__), "..")
    found = tree_complaints(root)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
