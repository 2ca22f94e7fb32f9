#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Adds up what the rigs reported: report.py [--matrix|--some] RUN...

Each RUN is a folder below out/vm with (K)TAP files. A run without its file `machine` didn't reach its end; what
stands in that file is what was wrong with the machine itself. Prints what failed and what was skipped, writes
out/conformance.tsv, and ends with the numbers; with --matrix, prints failures and results by mode only; with --some,
asks for no conformance point.

A test proves a conformance point by executing PAGODA_PROVES(Cn), which leaves a line `# proves Cn at file:line` before
its result; a script or tool by a line `# proves Cn: ok`. What a test that was skipped claimed counts for nothing. A
point passes if a test that passed claimed it, in any rig, and no test failed that claimed it or has the claim in its
source; conformance.tsv names the rigs. Claims in the sources that no passed test executed are printed: all of them, or
with --some those in tests that ran.

selftests/points.tsv has a row for each point. A point of state `proven` must pass. One that is `different by design` is
waived, its note being the reason, and must not pass. One that is `open` may do either; if it passes, that is printed.
"""
import glob
import os
import re
import sys
from collections import defaultdict, namedtuple

sys.dont_write_bytecode = True
import cells  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
OUT = os.path.join(TOP, "out")
PROVEN, BY_DESIGN, OPEN = "proven", "different by design", "open"
# Rigs without a machine that gives a verdict.
NO_MACHINE = {"lint", "fuzz", "simulate", "dkms", "in-tree"}

RESULT = re.compile(r"^(\s*)(not )?ok (\d+)(?: -)? ?(.*?)(?:\s*# *SKIP\b *(.*))?$", re.I)
PLAN = re.compile(r"^(\s*)1\.\.(\d+)\s*(?:# *SKIP\b.*)?$", re.I)
PROVES = re.compile(r"^\s*# proves (C\d+(?:,\s*C\d+)*): (ok|not ok)\b(.*)$")
# What PAGODA_PROVES leaves; KUnit puts the name of the case before it.
MARK = re.compile(r"^\s*# (?:\w+: )?proves (C\d+(?:,\s*C\d+)*) at ([\w.-]+):(\d+)$")
# What the kernel's console puts before a line.
STAMP = re.compile(r"^\[ *\d+\.\d+\](?:\[ *[TC]\d+\])? ")


# A row of selftests/points.tsv without its number.
Point = namedtuple("Point", "promise documented test state note")
# An executed claim: where it stands. Files of the same name are told apart by their folder.
Mark = namedtuple("Mark", "points file line")


class Leaf:
    """A result with nothing below it. path: suite, case, parameter - as deep as the nesting goes. marks: its claims."""

    def __init__(self, run, source, path, verdict, text=(), marks=()):
        self.run, self.source, self.path, self.verdict, self.text = run, source, path, verdict, list(text)
        self.marks = set(marks)

    @property
    def folder(self):
        return "kunit" if self.source.startswith("kunit") else "selftests"

    def __str__(self):
        return f"{self.run}: {self.source}: {' / '.join(self.path)}"


def point_numbers(text):
    return tuple(int(n) for n in re.findall(r"\bC(\d+)\b", text))


def read_points():
    """Number -> row of selftests/points.tsv."""
    with open(os.path.join(TOP, "selftests/points.tsv")) as f:
        rows = [line.rstrip("\n").split("\t") for line in f][1:]
    return {int(row[0][1:]): Point(*row[1:]) for row in rows}


class Tap:
    """Reads one file. Results wait until the line that ends their level names what they belong to."""

    def __init__(self, run, path):
        self.run = run
        self.source = os.path.basename(path)[:-len(".tap")]
        self.waiting = []               # (indentation, [leaf])
        self.plans, self.counts = {}, defaultdict(int)
        self.recent = []
        self.marks = []                 # of the test whose result comes next
        self.stray = []                 # marks behind the result of the test that made them
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
            self.claims.append((point_numbers(m[1]), m[2] == "ok", m[3].strip()))
        elif m := MARK.match(line):
            self.marks.append(Mark(point_numbers(m[1]), m[2], int(m[3])))
        elif "KTAP version" in line:
            self.recent = []
        else:
            self.recent = (self.recent + [line])[-25:]

    def result(self, indent, failed, name, skipped):
        below = self.close(indent, (name,))
        verdict = "fail" if failed else "skip" if skipped is not None else "pass"
        text = [skipped] if verdict == "skip" else self.recent
        if not below or (failed and all(leaf.verdict != "fail" for leaf in below)):
            below.append(Leaf(self.run, self.source, (name,), verdict, text if verdict != "pass" else (), self.marks))
        else:
            self.stray += self.marks
        self.marks = []
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
    if run in NO_MACHINE or (status is None and tap.source.split(".")[0] in ("kunit", "replay")):
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


class Claim:
    """A claim in the sources. test: (fixture or None, name) of the test it stands in, None in a function of several."""

    def __init__(self, path, lines, points, test):
        self.path, self.lines, self.points, self.test = path, lines, points, test
        self.folder = os.path.relpath(path, TOP).split(os.sep)[0]
        self.file = os.path.basename(path)
        self.name = f"{os.path.splitext(self.file)[0]}.{test[1]}" if test else f"{self.file}:{lines[0]}"

    def __str__(self):
        where = f"{os.path.relpath(self.path, TOP)}:{self.lines[0]}" + (f" ({self.test[1]})" if self.test else "")
        return where + ": " + ", ".join(f"C{n}" for n in self.points)

    def results(self, found):
        """Those of the test it stands in, executed or not."""
        if not self.test:
            return []
        fixture, test = self.test
        if self.folder == "kunit":
            return found[(None, test)]
        return found[(os.path.splitext(self.file)[0], f"{fixture or 'global'}.{test}")]


def source_claims():
    """All claims in the sources, by folder, file and line: one that goes over several lines stands for each."""
    claims = {}
    for path in sorted(path for folder in ("kunit", "selftests") for kind in "ch"
                       for path in glob.glob(os.path.join(TOP, folder, "**/*." + kind), recursive=True)):
        with open(path) as f:
            text = f.read()
        tests = list(TEST_START.finditer(text))
        for found in re.finditer(r"PAGODA_PROVES\(([^)]*)\)", text):
            if not point_numbers(found[1]):
                continue
            before = [m for m in tests if m.start() < found.start()]
            m = before[-1] if before and "\n}" not in text[before[-1].start():found.start()] else None
            lines = [text.count("\n", 0, at) + 1 for at in (found.start(), found.end())]
            claim = Claim(path, lines, point_numbers(found[1]), m and (m[3], m[1] or m[2] or m[4]))
            for line in range(lines[0], lines[1] + 1):
                claims[claim.folder, claim.file, line] = claim
    return claims


def results_by_test(leaves):
    """How a test is called in a source file -> its results. KUnit: (None, case); kselftest: (program, fixture.test)."""
    found = defaultdict(list)
    for leaf in leaves:
        if leaf.source.startswith("kunit"):
            for part in leaf.path[1:3]:
                found[(None, part)].append(leaf)
        else:
            parts = leaf.path[-1].split(".")
            # abi32_test is abi_test.c, too.
            program = leaf.source.split(".")[-1].replace("32_test", "_test")
            found[(program, parts[0] + "." + parts[-1])].append(leaf)
    return found


class Conformance:
    """What becomes of each point. tests: who claimed it; unproven: claims in the sources that no passed test made."""

    def __init__(self, leaves, taps, some, points):
        self.points = points
        self.status = dict.fromkeys(points, "missing")
        self.tests, self.rigs, self.stray = defaultdict(set), defaultdict(set), []
        self.claims, executed = source_claims(), set()
        for leaf in leaves:
            for mark in leaf.marks:
                claim = self.claims.get((leaf.folder, mark.file, mark.line))
                self.count(mark.points, claim.name if claim else " / ".join(leaf.path), leaf.verdict, leaf.run)
                if leaf.verdict == "pass" and claim:
                    executed.add(claim)
        for tap in taps:
            for points, passed, _ in tap.claims:
                self.count(points, f"{tap.run}.{tap.source}", "pass" if passed else "fail", tap.run)
            self.stray += [f"{tap.run}: {tap.source}: {mark.file}:{mark.line} outside a test" for mark in tap.stray]
        self.unproven = []
        found = results_by_test(leaves)
        for claim in dict.fromkeys(self.claims.values()):
            results = claim.results(found)
            if any(leaf.verdict == "fail" for leaf in results):
                self.count(claim.points, claim.name, "fail", None)
            if claim not in executed and (not some or any(leaf.verdict == "pass" for leaf in results)):
                self.unproven.append(claim)

    def count(self, points, name, verdict, run):
        for point in points:
            if verdict == "fail":
                self.status[point] = "fail"
            elif verdict == "pass":
                self.rigs[point].add(run)
                if self.status.get(point, "missing") == "missing":
                    self.status[point] = "pass"
            if verdict != "skip":
                self.tests[point].add(name)

    def claimed(self, point):
        """Where the sources claim a point that nothing has claimed."""
        return sorted({claim.name for claim in self.claims.values() if point in claim.points})


def required_failures(found):
    """What stands between the points and what is asked of them."""
    def failure(n, text):
        return Leaf("conformance", "required", (f"C{n}",), "fail", [text])

    for n, status in found.status.items():
        state = found.points[n].state if n in found.points else None
        if state is None:
            yield failure(n, "is claimed, but has no row in selftests/points.tsv")
        elif state == BY_DESIGN and status == "pass":
            yield failure(n, "passes, but is different by design: change its state in selftests/points.tsv")
        elif state != OPEN and status == "fail":
            yield failure(n, "fail: " + ", ".join(sorted(found.tests[n])))
        elif state not in (OPEN, BY_DESIGN) and status == "missing":
            names = ", ".join(found.claimed(n))
            yield failure(n, f"missing: claimed by {names}, but by nothing that passed" if names else
                          "missing: no test claims it")


def write_conformance(found):
    def row(*fields):
        return "\t".join(", ".join(sorted(f)) or "-" if isinstance(f, set) else f for f in fields) + "\n"

    with open(os.path.join(OUT, "conformance.tsv"), "w") as f:
        f.write(row("point", "status", "promise", "rigs", "tests", "reason"))
        for n, point in found.points.items():
            status = found.status[n]
            if status == "missing":
                status = {BY_DESIGN: "waived", OPEN: "open"}.get(point.state, status)
            f.write(row(f"C{n}", status, point.promise, found.rigs[n], found.tests[n],
                        "-" if point.state == PROVEN else point.note))


def print_conformance(found, some):
    required = [n for n, point in found.points.items() if point.state != OPEN and not some]
    waived = [n for n in required if found.points[n].state == BY_DESIGN]
    for n in waived:
        print(f"waived: C{n}: {found.points[n].note}")
    for n, point in found.points.items():
        if point.state == OPEN and found.status[n] == "pass":
            print(f"open, but passes: C{n}: {', '.join(sorted(found.tests[n]))}")
    count = {v: sum(s == v for s in found.status.values()) for v in ("pass", "fail", "missing")}
    print(f"conformance: {count['pass']} pass, {count['fail']} fail, {count['missing']} missing of "
          f"{len(found.status)}; {sum(found.status[n] == 'pass' for n in required)} of the {len(required)} required "
          f"now, {len(waived)} waived (out/conformance.tsv)")


def print_failures(leaves):
    for leaf in leaves:
        if leaf.verdict == "fail":
            short = len(leaf.text) == 1
            print(f"FAILED {leaf}" + (f" ({leaf.text[0]})" if short else ""))
            for line in () if short else leaf.text[-40:]:
                print(f"    {line}")
    skipped = defaultdict(list)
    for leaf in leaves:
        if leaf.verdict == "skip":
            skipped[leaf.run, leaf.source.split(".")[-1], leaf.text[0] or "no reason given"].append(leaf)
    for (run, program, reason), some in skipped.items():
        print(f"SKIPPED {some[0]}: {reason}" if len(some) == 1 else
              f"SKIPPED {run}: {program}: {len(some)} results: {reason}")


def print_table(runs, leaves):
    print(f"{'run':24} {'passed':>7} {'failed':>7} {'skipped':>7}")
    for run in runs:
        count = {v: sum(leaf.run == run and leaf.verdict == v for leaf in leaves) for v in ("pass", "fail", "skip")}
        print(f"{run:24} {count['pass']:7} {count['fail']:7} {count['skip']:7}")


MATRIX_CELL = re.compile(r"^(gpu_physical|gpu_virtual|cpu_virtual)\.mmu([01])\.(all|some|none)\.(?:(\w+=\w+)\.)?\w+$")
# What a run of the matrix must have tested, and in which column it stands.
MATRIX = {f"stock.selftests-mmu{mmu}": [column for column in cells.COLUMNS if column[0] == mmu] for mmu in "01"}


def matrix(leaves):
    """Results by cell: (row, column) -> {verdict: count}. Rows are update modes, and devices unlike the default."""
    found = defaultdict(lambda: defaultdict(int))
    for leaf in leaves:
        if m := MATRIX_CELL.match(leaf.source):
            found[m[1] + (" " + m[4] if m[4] else ""), (m[2], m[3])][leaf.verdict] += 1
    return found


def matrix_missing(runs, leaves):
    """A failure for every cell of the matrix that a run should have tested and didn't."""
    ran = matrix(leaf for leaf in leaves if leaf.run in MATRIX)
    return [Leaf(run, "matrix", (".".join((mode, "mmu" + column[0], column[1])),), "fail", ["did not run"])
            for run in runs for column in MATRIX.get(run, ()) for mode in cells.MODES if (mode, column) not in ran]


def print_matrix(leaves):
    found = matrix(leaves)
    rows = sorted({row for row, _ in found}, key=lambda row: (" " in row, cells.MODES.index(row.split()[0]), row))
    columns = sorted({column for _, column in found}, key=lambda c: (c[0], ("all", "some", "none").index(c[1])))
    if not found:
        return
    print("passed/failed by update mode, device-MMU mode and what the CPU sees of video memory:")
    print(f"{'':32}" + "".join(f"{'mmu ' + mmu + ' ' + visible:>12}" for mmu, visible in columns))
    for row in rows:
        counts = (found.get((row, column)) for column in columns)
        print(f"{row:32}" + "".join(f"{str(c['pass']) + '/' + str(c['fail']) if c else '-':>12}" for c in counts))


def main():
    options = [arg for arg in sys.argv[1:] if arg.startswith("--")]
    only_matrix, some = "--matrix" in options, "--some" in options
    runs = sys.argv[1 + len(options):]
    taps, leaves = [], []
    for run in runs:
        more_taps, more = read_run(run)
        taps += more_taps
        leaves += more

    leaves += matrix_missing(runs, leaves)
    if only_matrix:
        print_failures(leaves)
        print_matrix(leaves)
        return int(any(leaf.verdict == "fail" for leaf in leaves))
    found = Conformance(leaves, taps, some, read_points())
    write_conformance(found)
    leaves += [Leaf("conformance", "claims", (text,), "fail") for text in found.stray]
    leaves += [] if some else required_failures(found)

    print_failures(leaves)
    print_matrix(leaves)
    print_table(runs + ["conformance"], leaves)
    for claim in found.unproven:
        print(f"NOT EXECUTED {claim}")
    print_conformance(found, some)
    total = {v: sum(leaf.verdict == v for leaf in leaves) for v in ("pass", "fail", "skip")}
    print(f"{total['pass']} passed, {total['fail']} failed" + (f", {total['skip']} skipped" if total["skip"] else ""))
    return 1 if total["fail"] else 0


if __name__ == "__main__":
    sys.exit(main())
