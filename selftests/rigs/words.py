#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Looks at what the sources say: words.py points|language

points: each point Cn that a comment, PAGODA_PROVES or a text names has a row in selftests/points.tsv. Rows are in order
and complete; the column `test` agrees with where PAGODA_PROVES(Cn) stands, and only such a point is `proven`.

language: in comments of C sources the subject of a sentence is an allocation, a thread, a caller; pronouns for persons
are objected to.

Prints file:line and the objection; nothing if all is well.
"""
import glob
import os
import re
import sys
from collections import defaultdict

sys.dont_write_bytecode = True
import report  # noqa: E402

PLACES = ("*.", "drivers/**/*.", "include/**/*.", "kunit/**/*.", "selftests/**/*.")
# In C comments and claims speak. Literals come first: what looks like a comment in one is none.
SPEAKS = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|(/\*.*?\*/|//[^\n]*|PAGODA_PROVES\([^)]*\))', re.S)
POINT = re.compile(r"\bC\d+\b")
PERSON = re.compile(r"\b(?:who|whoever|whom|somebody|someone|nobody|anybody|anyone|he|him|his)\b", re.I)
HEADER = ("point",) + report.Point._fields
STATES = (report.PROVEN, report.BY_DESIGN, report.OPEN)
# Rigs that claim points without PAGODA_PROVES.
OTHER_TESTS = ("fuzz", "replay")


def spoken(*kinds):
    """Path, number and text of each line that says something to a reader: in C comments and claims, else anything."""
    paths = [path for place in PLACES for kind in kinds
             for path in sorted(glob.glob(os.path.join(report.TOP, place + kind), recursive=True))]
    for path in paths:
        with open(path) as f:
            text = f.read()
        spans = [m.span(1) for m in SPEAKS.finditer(text) if m[1]] if path.endswith((".c", ".h")) else [(0, None)]
        for start, end in spans:
            for number, line in enumerate(text[start:end].split("\n"), text.count("\n", 0, start) + 1):
                yield os.path.relpath(path, report.TOP), number, line


def bad_row(row, before, tests):
    """What is wrong with a row of points.tsv. before: the number of the row in front of it."""
    if len(row) != len(HEADER) or not all(field.strip() for field in row):
        return f"{len(HEADER)} fields, none of them empty, are wanted"
    point = report.Point(*row[1:])
    if row[0] != f"C{before + 1}":
        return f"C{before + 1} is wanted here"
    if point.state not in STATES:
        return f"the state is none of {', '.join(STATES)}"
    if point.state != report.PROVEN and point.note == "-":
        return "a note has to say why it isn't proven"
    test = "both" if len(tests) == 2 else "".join(tests).replace("selftests", "kselftest") or "-"
    if point.test != test and (test != "-" or point.test not in OTHER_TESTS):
        return f"by PAGODA_PROVES the test is {test}"
    if point.test == "-" and point.state == report.PROVEN:
        return "is proven, but by nothing"
    return None


def points():
    table, tests = "selftests/points.tsv", defaultdict(set)
    for claim in report.source_claims().values():
        for n in claim.points:
            tests[n].add(claim.folder)
    with open(os.path.join(report.TOP, table)) as f:
        rows = [tuple(line.rstrip("\n").split("\t")) for line in f]
    if rows[:1] != [HEADER]:
        yield f"{table}:1: the header is wanted: {' '.join(HEADER)}"
    before = 0
    for line, row in enumerate(rows[1:], 2):
        number = int("".join(re.findall(r"^C(\d+)$", row[0])) or before + 1)
        if objection := bad_row(row, before, tests[number]):
            yield f"{table}:{line}: {row[0]}: {objection}"
        before = number
    known = {row[0] for row in rows[1:]}
    for path, number, line in spoken("c", "h", "sh", "py", "md"):
        for name in POINT.findall(line):
            if name not in known:
                yield f"{path}:{number}: {name} has no row in {table}"


def language():
    for path, number, line in spoken("c", "h"):
        if PERSON.search(line):
            yield f"{path}:{number}: {line.strip()}"


def main():
    rules = {"points": points, "language": language}
    if len(sys.argv) != 2 or sys.argv[1] not in rules:
        sys.exit(__doc__)
    objections = list(rules[sys.argv[1]]())
    for objection in objections:
        print(objection)
    return 1 if objections else 0


if __name__ == "__main__":
    sys.exit(main())
