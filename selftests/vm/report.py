#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Adds up what the rigs reported: report.py RUN...

Each RUN is a folder below out/vm with (K)TAP files. A run without its file `machine` didn't reach its end; what
stands in that file is what was wrong with the machine itself. Prints what failed and what was skipped, writes
out/conformance.tsv, and ends with the numbers.

A test proves a conformance point by PAGODA_PROVES(Cn) in its body; a script or tool by a line `# proves Cn: ok`.
A point passes if every claim that ran passed, in every rig, and at least one ran.
"""
import glob
import os
import re
import sys
from collections import defaultdict

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OUT = os.path.join(TOP, "out")
POINTS = 207
# Rigs whose machine gives a verdict; lint has none.
NO_MACHINE = {"lint"}

RESULT = re.compile(r"^(\s*)(not )?ok (\d+)(?: -)? ?(.*?)(?:\s*# *SKIP\b *(.*))?$", re.I)
PLAN = re.compile(r"^(\s*)1\.\.(\d+)\s*(?:# *SKIP\b.*)?$", re.I)
PROVES = re.compile(r"^\s*# proves (C\d+(?:,\s*C\d+)*): (ok|not ok)\b(.*)$")
# What the kernel's console puts before a line.
STAMP = re.compile(r"^\[ *\d+\.\d+\](?:\[ *[TC]\d+\])? ")


class Leaf:
    """A result with nothing below it. path: suite, case, parameter - as deep as the nesting goes."""

    def __init__(self, run, source, path, verdict, text=()):
        self.run, self.source, self.path, self.verdict, self.text = run, source, path, verdict, list(text)

    def __str__(self):
        return f"{self.run}: {self.source}: {' / '.join(self.path)}"


class Tap:
    """Reads one file. Results wait until the line that ends their level names what they belong to."""

    def __init__(self, run, path):
        self.run = run
        self.source = os.path.basename(path)[:-len(".tap")]
        self.waiting = []               # (indentation, [leaf])
        self.plans, self.counts = {}, defaultdict(int)
        self.recent = []
        self.claims = []                # (points, passed, text)
        with open(path, errors="replace") as f:
            for line in f:
                self.line(STAMP.sub("", line.rstrip("\n")))
        self.close(-1, ())
        self.leaves = [leaf for _, leaves in self.waiting for leaf in leaves]

    def line(self, line):
        if m := PLAN.match(line):
            self.plans[len(m[1])] = int(m[2])
        elif m := RESULT.match(line):
            self.result(len(m[1]), bool(m[2]), m[4], m[5])
        elif m := PROVES.match(line):
            self.claims.append((re.findall(r"C(\d+)", m[1]), m[2] == "ok", m[3].strip()))
        elif "KTAP version" in line:
            self.recent = []
        else:
            self.recent = (self.recent + [line])[-25:]

    def result(self, indent, failed, name, skipped):
        below = self.close(indent, (name,))
        verdict = "fail" if failed else "skip" if skipped is not None else "pass"
        text = [skipped] if verdict == "skip" else self.recent
        if not below or (failed and all(leaf.verdict != "fail" for leaf in below)):
            below.append(Leaf(self.run, self.source, (name,), verdict, text if verdict != "pass" else ()))
        self.counts[indent] += 1
        self.waiting.append((indent, below))
        self.recent = []

    def close(self, indent, prefix):
        """Ends all levels deeper than indent; what they held is named after what they belong to."""
        below = []
        while self.waiting and self.waiting[-1][0] > indent:
            below[:0] = self.waiting.pop()[1]
        for leaf in below:
            leaf.path = prefix + leaf.path
        for level in [n for n in self.plans if n > indent]:
            planned, seen = self.plans.pop(level), self.counts.pop(level, 0)
            if planned != seen:
                below.append(Leaf(self.run, self.source, prefix + (f"{seen} of {planned} results",), "fail",
                                  self.recent))
        for level in [n for n in self.counts if n > indent]:
            del self.counts[level]
        if indent < 0:
            self.waiting.append((0, below))
        return below


def read(path):
    try:
        with open(path, errors="replace") as f:
            return f.read().strip()
    except FileNotFoundError:
        return None


def read_status(run, tap):
    """A program's exit status must agree with what it printed, and there must be one."""
    status = read(os.path.join(OUT, "vm", run, tap.source + ".status"))
    if run in NO_MACHINE or (status is None and tap.source.startswith("kunit.")):
        return []
    if status is None and tap.source == "replay":
        return []
    if status is None:
        return [Leaf(run, tap.source, ("did not end",), "fail", tap.recent)]
    if status != "0" and all(leaf.verdict != "fail" for leaf in tap.leaves):
        return [Leaf(run, tap.source, (f"exit status {status}",), "fail", tap.recent)]
    return []


def read_run(run):
    folder = os.path.join(OUT, "vm", run)
    taps = [Tap(run, path) for path in sorted(glob.glob(os.path.join(folder, "*.tap")))]
    leaves = [leaf for tap in taps for leaf in tap.leaves + read_status(run, tap)]
    if not leaves:
        leaves.append(Leaf(run, "-", ("no results",), "fail"))
    if run not in NO_MACHINE:
        machine = read(os.path.join(folder, "machine"))
        failed = any(leaf.verdict == "fail" for leaf in leaves)
        if machine is None:
            leaves.append(Leaf(run, "machine", ("did not run to its end",), "fail"))
        elif machine and not (failed and re.fullmatch(r"the script failed: status \d+", machine)):
            leaves.append(Leaf(run, "machine", ("clean kernel log, orderly end",), "fail", machine.split("\n")))
        elif not machine:
            leaves.append(Leaf(run, "machine", ("clean kernel log, orderly end",), "pass"))
    return taps, leaves


TEST_START = re.compile(
    r"^(?:static void (\w+)\(\s*struct kunit \*\w+\)"
    r"|TEST(?:_SIGNAL)?\(\s*(\w+)"
    r"|TEST_F(?:_SIGNAL|_TIMEOUT)?\(\s*(\w+)\s*,\s*(\w+))", re.M)


def source_claims():
    """(file, fixture or None, test) -> points, and the claims that stand outside any test."""
    claims, stray = defaultdict(set), []
    files = glob.glob(os.path.join(TOP, "kunit/**/*.c"), recursive=True) + \
        glob.glob(os.path.join(TOP, "selftests/*_test.c"))
    for path in sorted(files):
        with open(path) as f:
            text = f.read()
        tests = [(m.start(), m) for m in TEST_START.finditer(text)]
        for claim in re.finditer(r"PAGODA_PROVES\(([^)]*)\)", text):
            points = {int(n) for n in re.findall(r"\bC(\d+)\b", claim[1])}
            before = [m for start, m in tests if start < claim.start()]
            if not before or "\n}" in text[before[-1].start():claim.start()]:
                if text[:claim.start()].rsplit("\n", 1)[-1].strip() != "#define":
                    stray.append(f"{os.path.relpath(path, TOP)}: {claim[0]}")
                continue
            m = before[-1]
            name = os.path.basename(path)[:-2]
            claims[(name, m[3], m[1] or m[2] or m[4])] |= points
    return claims, stray


def results_by_test(leaves):
    """How a test is called in a source file -> its results. KUnit: (None, case); kselftest: (program, fixture.test)."""
    found = defaultdict(list)
    for leaf in leaves:
        if leaf.source.startswith("kunit"):
            for part in leaf.path[1:3]:
                found[(None, part)].append(leaf)
        else:
            parts = leaf.path[-1].split(".")
            program = leaf.source.split(".")[-1]
            found[(program, parts[0] + "." + parts[-1])].append(leaf)
    return found


def conformance(leaves, taps):
    claims, stray = source_claims()
    found = results_by_test(leaves)
    status, tests = {}, defaultdict(list)

    def claim(point, name, verdicts):
        tests[point].append(name)
        if "fail" in verdicts:
            status[point] = "fail"
        elif "pass" in verdicts:
            status.setdefault(point, "pass")

    for (file, fixture, test), points in sorted(claims.items(), key=str):
        results = found[(None, test)] + found[(file, f"{fixture or 'global'}.{test}")]
        for point in points:
            claim(point, f"{file}.{test}", [leaf.verdict for leaf in results])
    for tap in taps:
        for points, passed, _ in tap.claims:
            for point in points:
                claim(int(point), f"{tap.run}.{tap.source}", ["pass" if passed else "fail"])
    return {n: status.get(n, "missing") for n in range(1, POINTS + 1)}, tests, stray


def required_points():
    points = []
    for part in read(os.path.join(TOP, "selftests/vm/required-points")).split():
        first, _, last = part.replace("C", "").partition("-")
        points += range(int(first), int(last or first) + 1)
    return points


def write_conformance(status, tests):
    with open(os.path.join(OUT, "conformance.tsv"), "w") as f:
        f.write("point\tstatus\ttests\n")
        for n, verdict in status.items():
            f.write(f"C{n}\t{verdict}\t{', '.join(sorted(set(tests[n]))) or '-'}\n")


def print_failures(leaves):
    for leaf in leaves:
        if leaf.verdict == "fail":
            short = len(leaf.text) == 1
            print(f"FAILED {leaf}" + (f" ({leaf.text[0]})" if short else ""))
            for line in () if short else leaf.text[-40:]:
                print(f"    {line}")
    for leaf in leaves:
        if leaf.verdict == "skip":
            print(f"SKIPPED {leaf}: {leaf.text[0] or 'no reason given'}")


def print_table(runs, leaves):
    print(f"{'run':24} {'passed':>7} {'failed':>7} {'skipped':>7}")
    for run in runs:
        count = {v: sum(leaf.run == run and leaf.verdict == v for leaf in leaves) for v in ("pass", "fail", "skip")}
        print(f"{run:24} {count['pass']:7} {count['fail']:7} {count['skip']:7}")


def main():
    runs = sys.argv[1:]
    taps, leaves = [], []
    for run in runs:
        more_taps, more = read_run(run)
        taps += more_taps
        leaves += more

    status, tests, stray = conformance(leaves, taps)
    write_conformance(status, tests)
    leaves += [Leaf("conformance", "claims", (text + " stands outside a test",), "fail") for text in stray]
    required = required_points()
    for n in required:
        if status[n] != "pass":
            detail = ", ".join(sorted(set(tests[n]))) or "no test claims it"
            leaves.append(Leaf("conformance", "required", (f"C{n}",), "fail", [f"{status[n]}: {detail}"]))

    print_failures(leaves)
    print_table(runs + ["conformance"], leaves)
    count = {v: sum(s == v for s in status.values()) for v in ("pass", "fail", "missing")}
    print(f"conformance: {count['pass']} pass, {count['fail']} fail, {count['missing']} missing of {POINTS}; "
          f"{sum(status[n] == 'pass' for n in required)} of the {len(required)} required now (out/conformance.tsv)")
    total = {v: sum(leaf.verdict == v for leaf in leaves) for v in ("pass", "fail", "skip")}
    print(f"{total['pass']} passed, {total['fail']} failed" + (f", {total['skip']} skipped" if total["skip"] else ""))
    return 1 if total["fail"] else 0


if __name__ == "__main__":
    sys.exit(main())
