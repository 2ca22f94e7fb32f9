#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Judges what igt-gpu-tools printed: igt.py VERSION PROGRAMS FOLDER EXPECTED TABLE

PROGRAMS is a file with the names of the programs that were to run. FOLDER is what guest/igt.sh left: a log and a status for
each of them, and the results of igt_runner. TABLE is written: program, subtest, result, reason. EXPECTED is such a table,
which begins with the version of igt-gpu-tools that it is of. Prints rows that differ, and writes FOLDER/igt.tap, in which
they fail, for report.py. With another version of igt-gpu-tools rows that only one table has are told and don't fail, unless
a subtest fails, and reasons may have other words.
"""
import json
import os
import re
import sys
from collections import namedtuple

Row = namedtuple("Row", "program subtest result reason")

HEADER = "# igt-gpu-tools "
COLUMNS = "\t".join(Row._fields)
RESULTS = {"SUCCESS": "pass", "SKIP": "skip", "FAIL": "fail", "CRASH": "fail", "TIMEOUT": "fail"}
BEGIN = re.compile(r"^Starting subtest: (\S+)$")
END = re.compile(r"^Subtest (\S+): (\w+)\b")
# A program without subtests.
WHOLE = re.compile(r"^(\w+) \(\d+\.\d+s\)$")
REASON = re.compile(r"^(?:.* CRITICAL: )?(?:Test requirement|Failed assertion): (.*)$")
# Lines that are no reason of a skip, which may have words of its own instead of a requirement.
NO_REASON = re.compile(r"^(?:Opened device: |Test requirement not met|Last errno: |[(\[*]|$)")
# The end of a program all of whose subtests passed or were skipped, which was skipped as a whole, or failed.
PASSED, SKIPPED, FAILED = 0, 77, 98
# A client that gputop shows has a busy engine: at least a full block of its bar.
CLIENT = re.compile(r"^ *\d+ .*\u2588.*\bsoak\b")
# The reason of a subtest that failed at first.
AGAIN = "only when tried again"
MINOR = re.compile(r"^DRM minor \d+")


def read(path):
    with open(path, errors="replace") as f:
        return re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", f.read()).replace("\r", "").splitlines()


def rows_of(program, lines, status):
    """Results of a test's log, where those that failed were tried again: the last result of a subtest counts, and a subtest
    that passed only then says so instead of a reason.

    What isn't met outside of subtests is the reason of all subtests that are skipped then.
    """
    reason = common = said = ""
    inside, found = None, []
    for line in lines:
        if m := BEGIN.match(line):
            inside, reason, said = m[1], "", ""
        elif m := REASON.match(line):
            reason = reason or m[1]
            common = common if inside else reason
        elif (m := END.match(line)) and m[2] in RESULTS:
            result = RESULTS[m[2]]
            why = reason or said if m[1] == inside else common
            found.append(Row(program, m[1], result, "" if result == "pass" else why))
            inside, reason, said = None, "", ""
        elif (m := WHOLE.match(line)) and m[1] in RESULTS:
            result = RESULTS[m[1]]
            found.append(Row(program, "-", result, "" if result == "pass" else reason or said))
        elif not NO_REASON.match(line):
            said = line
    if inside:
        found.append(Row(program, inside, "fail", f"ended the program, status {status}"))
    elif not found or status not in (PASSED, SKIPPED, FAILED) or \
            (status == FAILED and all(row.result != "fail" for row in found)):
        found.append(Row(program, "-", "fail", f"status {status}"))
    failed = {row.subtest for row in found if row.result == "fail"}
    last = {row.subtest: row for row in found}.values()
    return [row._replace(reason=AGAIN) if row.result == "pass" and row.subtest in failed else row for row in last]


def runner_rows(path, status):
    """What igt_runner says of the tests that it ran."""
    if not os.path.exists(path):
        return [Row("igt_runner", "-", "fail", f"no results, status {status}")]
    with open(path) as f:
        tests = json.load(f)["tests"]
    found = [Row("igt_runner", name, test["result"], "") for name, test in sorted(tests.items())]
    return found if status == PASSED else found + [Row("igt_runner", "-", "fail", f"status {status}")]


def gputop_rows(lines, status):
    """gputop has to show the GPU, and beside it a client that keeps an engine busy."""
    wrong = f"status {status}" if status != PASSED else \
        "no GPU" if not any(map(MINOR.match, lines)) else \
        "no client with a busy engine" if not any(map(CLIENT.match, lines)) else ""
    return [Row("gputop", "-", "fail" if wrong else "pass", wrong)]


def read_results(folder, programs):
    found = []
    for program in programs:
        path = os.path.join(folder, program)
        if not os.path.exists(path + ".status"):
            continue
        status, lines = int(read(path + ".status")[0]), read(path + ".log")
        if program == "gputop":
            found += gputop_rows(lines, status)
        elif program == "igt_runner":
            found += runner_rows(os.path.join(folder, "igt_runner.json"), status)
        else:
            found += rows_of(program, lines, status)
    return found


def read_table(path):
    """The version of igt-gpu-tools, and the rows."""
    with open(path) as f:
        version, _, *rows = f.read().splitlines()
    return version[len(HEADER):], [Row(*row.split("\t")) for row in rows]


def write_table(path, version, rows):
    with open(path, "w") as f:
        f.writelines(line + "\n" for line in (HEADER + version, COLUMNS, *map("\t".join, rows)))


def objection(expected, got, same):
    """What is wrong with a row, or None. One of the two may be None. same: the version is."""
    if not got:
        return "is gone" if same else None
    if not expected:
        return f"isn't expected: {got.result}" if same or got.result == "fail" else None
    if got.result != expected.result:
        return f"{expected.result} is expected, not {got.result}" + (f": {got.reason}" if got.reason else "")
    return f"skips because of {got.reason}, not of {expected.reason}" \
        if same and got.result == "skip" and got.reason != expected.reason else None


def verdicts(expected, got, same):
    """Name, objection or None, reason of a skip or None, in the order of what is expected. A program has to be there."""
    before, after = ({row[:2]: row for row in rows} for rows in (expected, got))
    ran = {row.program for row in got}
    for key in dict.fromkeys((*before, *after)):
        a, b = before.get(key), after.get(key)
        wrong = objection(a, b, same or (not b and key[0] not in ran))
        skipped = "not in this version" if not b else b.reason if b.result == "skip" else None
        yield " ".join(key), wrong, skipped


def tap(judged):
    yield f"1..{len(judged)}"
    for n, (name, wrong, skipped) in enumerate(judged, 1):
        if wrong:
            yield f"# {name}: {wrong}"
        yield f"not ok {n} {name}" if wrong else f"ok {n} {name}" + (f" # SKIP {skipped}" if skipped is not None else "")


def main():
    version, programs, folder, expected_path, table = sys.argv[1:]
    programs = read(programs)
    got = read_results(folder, programs)
    write_table(table, version, got)
    expected_version, expected = read_table(expected_path)
    if version != expected_version:
        print(f"igt-gpu-tools {version}: the expected table is of {expected_version}")
    expected = [row for row in expected if row.program in programs]
    judged = list(verdicts(expected, got, version == expected_version))
    with open(os.path.join(folder, "igt.tap"), "w") as f:
        f.writelines(line + "\n" for line in tap(judged))
    with open(os.path.join(folder, "igt.status"), "w") as f:
        f.write("0\n")
    wrong = [f"{name}: {why}" for name, why, _ in judged if why]
    late = [f"{row.program} {row.subtest}: passed {AGAIN}" for row in got if row.reason == AGAIN]
    print("\n".join(wrong + late + [f"igt: {sum(row.result == 'pass' for row in got)} pass, "
                             f"{sum(row.result == 'skip' for row in got)} skip, {len(wrong)} wrong (out/igt.tsv)"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
