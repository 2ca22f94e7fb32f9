#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Writes the table of operations in drivers/pagoda/paging/README.md from the sources.

The numbers come from VIRTIO_PAGODA_OPS() in the device ABI, what event needs an operation and
which conformance points say what it must do from its row in drivers/pagoda/paging/table.c.

    optable.py          rewrites what stands between the markers
    optable.py --check  says how the file differs from that and fails if it does
"""
import difflib
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
ABI = TOP / "include/uapi/linux/virtio_pagoda.h"
ROWS = TOP / "drivers/pagoda/paging/table.c"
README = TOP / "drivers/pagoda/paging/README.md"
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
    """Why the opcodes that are kept free have no operation: the table's comment about them."""
    for comment in re.findall(r"^/\*\n(.*?)\*/", ROWS.read_text(), re.M | re.S):
        text = " ".join(re.sub(r"^\s*\* ?", "", comment, flags=re.M).split())
        if re.match(r"Opcodes 24, 25 and 26\b", text):
            return text
    sys.exit(f"{ROWS}: no comment says why opcodes 24, 25 and 26 are left out")


def make():
    table = rows()
    lines = ["| opcode | operation | what needs it | points |\n", "|---|---|---|---|\n"]
    for opcode, name in operations():
        trigger, points = table.get(name, (None, None))
        if not trigger or not points:
            sys.exit(f"{ROWS}: {name} lacks its trigger or its points")
        lines.append(f"| {opcode} | {name} | {trigger} | {points} |\n")
    lines.append(f"| 24, 25, 26 | (TRANSFER2, FILL2, DISCARD_CONTENT2) | {left_out()} | |\n")
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
                                str(README.relative_to(TOP)), "what optable.py writes")
    sys.stdout.writelines(diff)
    return text != wanted


if __name__ == "__main__":
    sys.exit(main())
