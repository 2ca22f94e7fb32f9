#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Writes the README's table of operations from the sources.

The numbers come from VIRTIO_PAGODA_OPS() in the device ABI, what event needs an operation and
which conformance points say what it must do from its row in drivers/pagoda/paging/table.c.

    optable.py          rewrites what stands between the markers in README.md
    optable.py --check  says how README.md differs from that and fails if it does
"""
import difflib
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
ABI = TOP / "include/uapi/linux/virtio_pagoda.h"
ROWS = TOP / "drivers/pagoda/paging/table.c"
README = TOP / "README.md"
BEGIN = "<!-- operations: written by selftests/tools/optable.py -->\n"
END = "<!-- end of operations -->\n"


def operations():
    """Opcode and name of each operation, in the ABI's order."""
    found = re.findall(r"^\tX\(([A-Z0-9_]+), \w+, (\d+)\)", ABI.read_text(), re.M)
    if not found:
        sys.exit(f"{ABI}: no operations")
    return [(int(opcode), name) for name, opcode in found]


def strings(row, column):
    """The text of a column: string literals, which C joins."""
    match = re.search(rf"\.{column} =\s*((?:\"[^\"]*\"\s*)+),", row)
    return "".join(re.findall(r"\"([^\"]*)\"", match[1])) if match else None


def rows():
    """Trigger and points of each operation by name."""
    table = {}
    text = ROWS.read_text()
    for name, row in re.findall(r"^\t\[VIRTIO_PAGODA_OP_(\w+)\] = \{(.*?)^\t\},", text, re.M | re.S):
        table[name] = strings(row, "trigger"), strings(row, "points")
    return table


def left_out():
    """Why the opcodes that are kept free have no operation: a comment in the table."""
    match = re.search(r"/\*\n\t? \* (24, 25, 26): (.*?)\*/", ROWS.read_text(), re.S)
    if not match:
        sys.exit(f"{ROWS}: doesn't say why 24 to 26 are left out")
    return match[1], " ".join(re.sub(r"\n\s*\*", " ", match[2]).split())


def make():
    table = rows()
    lines = ["| opcode | operation | what needs it | points |\n", "|---|---|---|---|\n"]
    for opcode, name in operations():
        trigger, points = table.get(name, (None, None))
        if not trigger or not points:
            sys.exit(f"{ROWS}: {name} lacks its trigger or its points")
        lines.append(f"| {opcode} | {name} | {trigger} | {points} |\n")
    opcodes, why = left_out()
    lines.append(f"| {opcodes} | (TRANSFER2, FILL2, DISCARD_CONTENT2) | {why} | |\n")
    return lines


def main():
    text = README.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit(f"{README}: not one pair of markers")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    wanted = before + BEGIN + "".join(make()) + END + after
    if "--check" not in sys.argv[1:]:
        README.write_text(wanted)
        return 0
    diff = difflib.unified_diff(text.splitlines(True), wanted.splitlines(True),
                                "README.md", "what optable.py writes")
    sys.stdout.writelines(diff)
    return text != wanted


if __name__ == "__main__":
    sys.exit(main())
