#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Adds up which lines have been executed: coverage.py OWN KUNIT PROGRAMS...

Each argument is a folder of results with gcov.tar.gz, the counters of a machine: OWN's of the suites that DRM has itself,
KUNIT's of our suites in the same kernel, PROGRAMS' of user-space tests. Counted are our files (drivers/pagoda,
drivers/vgpu) and the files of DRM that these call. A line counts as executed if one of its copies was.

out/coverage.tsv has a row for each file: lines, and of the lines that are compiled in the kernels in question the
share that is executed by all our tests, by our KUnit suites, by DRM's own suites. out/coverage-missing.txt names our
lines that no test executes, by function. Rooms and DRM's files go to stdout, as tables for a README.

Fails if our tests execute less than WANTED percent of our lines, or of a file of ours less than FILE_WANTED without a
row in REASONS that says why, or of a source file nothing at all; and if a row's file is gone or needs no reason.
"""
import glob
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import defaultdict

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
OUT = os.path.join(TOP, "out")
REASONS = os.path.join(HERE, "coverage-reasons.tsv")
WANTED, FILE_WANTED = 92, 85

# Tracepoints are the kernel's code, expanded in our header.
OURS = re.compile(r".*/(drivers/(?:pagoda|vgpu)/(?!core/trace\.h$).+)")
DRM = re.compile(r".*/drivers/gpu/drm/((?:ttm|scheduler)/\w+\.c|drm_(?:gpuvm|exec|syncobj)\.c)")
# gcov ends with 0 when it has read nothing that fits together.
UNREADABLE = re.compile(r"mismatch|cannot open|not a gcov|prefer", re.I)
HEADER = ("file", "lines", "ours %", "KUnit %", "own suites %")


class Lines:
    """Of each file its lines, and which of them are executed. functions: the name of the function a line is in."""

    def __init__(self, *parts):
        self.executed, self.functions = defaultdict(dict), {}
        for part in parts:
            self.functions.update(part.functions)
            for path, lines in part.executed.items():
                for number, executed in lines.items():
                    self.note(path, number, executed)

    def note(self, path, number, executed):
        self.executed[path][number] = self.executed[path].get(number, False) or executed

    def add(self, document):
        """document: what gcov says of one object file. A function's name stands at each of its lines."""
        for source in document["files"]:
            path = os.path.normpath(os.path.join(document["current_working_directory"], source["file"]))
            place = OURS.fullmatch(path) or DRM.fullmatch(path)
            for line in source["lines"] if place else ():
                self.note(place[1], line["line_number"], line["count"] > 0)
                self.functions[place[1], line["line_number"]] = line.get("function_name", "-")

    def count(self, path):
        """How many lines a file has, and how many of them are executed."""
        lines = self.executed.get(path, {})
        return len(lines), sum(lines.values())

    def percent(self, path):
        lines, executed = self.count(path)
        return 100 * executed / lines if lines else None


def documents(archive):
    """What gcov says of each object file. Counters go beside the notes that the compiler left when it made it."""
    if not os.path.exists(archive):
        sys.exit(f"coverage: there is no {archive}")
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(archive) as tar:
            tar.extractall(folder)
        # The cache is in a hidden folder.
        counters = sorted(map(str, pathlib.Path(folder).rglob("*.gcda")))
        if not counters:
            sys.exit(f"coverage: {archive} has no counters")
        for path in counters:
            notes = os.path.splitext(path)[0] + ".gcno"
            os.symlink("/" + os.path.relpath(notes, folder), notes)
        done = subprocess.run(("gcov", "--json-format", "--stdout", *counters), cwd=folder, capture_output=True,
                              text=True, check=False)
    if done.returncode or UNREADABLE.search(done.stderr):
        sys.exit(f"coverage: {archive} doesn't fit to what was compiled: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.strip()]


def read_run(folder):
    lines = Lines()
    for document in documents(os.path.join(folder, "gcov.tar.gz")):
        lines.add(document)
    return lines


def is_ours(path):
    return path.startswith(("drivers/pagoda/", "drivers/vgpu/"))


def room(path):
    """The folder of a file of ours: vidmm/ is none, but what is in it is one each."""
    return os.path.dirname(path).replace("drivers/", "", 1)


def shown(percent):
    return "-" if percent is None else f"{percent:.1f}"


def rows(every, kunit, own):
    """Rows of the table by HEADER: our files, then DRM's."""
    for path in sorted(every.executed, key=lambda path: (not is_ours(path), path)):
        yield (path, str(every.count(path)[0]), shown(every.percent(path)), shown(kunit.percent(path)),
               "-" if is_ours(path) else shown(own.percent(path)))


def missing(every):
    """Our lines that no test executes, neighbours in one range."""
    for path in filter(is_ours, sorted(every.executed)):
        lines = sorted(every.executed[path].items())
        start = None
        for (number, executed), (_, follows) in zip(lines, lines[1:] + [(None, True)]):
            start = None if executed else start or number
            if start and follows:
                yield f"{path}:{start}-{number}: {every.functions[path, number]}"


def read_reasons(path):
    with open(path) as f:
        return dict(line.rstrip("\n").split("\t") for line in f if line.strip() and not line.startswith("#"))


def objections(every, reasons, sources):
    """sources: our files that have to be compiled, or have a reason."""
    ours = list(filter(is_ours, every.executed))
    lines, executed = (sum(numbers) for numbers in zip(*map(every.count, ours)))
    if 100 * executed < WANTED * lines:
        yield f"tests execute {100 * executed / lines:.1f} % of our lines, {WANTED} are wanted"
    files = sorted({*ours, *sources})
    for path in files:
        percent = every.percent(path)
        state = "no line of it is counted" if percent is None else f"{percent:.1f} % of its lines are executed"
        enough = percent is not None and percent >= FILE_WANTED
        if enough and path in reasons:
            yield f"{path}: {state}, its reason is out of date"
        elif not enough and path not in reasons:
            yield f"{path}: {state}, and no reason says why"
    for path in sorted(set(reasons) - set(files)):
        yield f"{path}: has a reason, and is gone"


def our_sources():
    for folder in ("pagoda", "vgpu"):
        for path in glob.glob(os.path.join(TOP, "drivers", folder, "**/*.c"), recursive=True):
            yield os.path.relpath(path, TOP)


def summed(every, paths):
    """Lines of several files, and the share of them that is executed."""
    lines, executed = (sum(numbers) for numbers in zip(*map(every.count, paths)))
    return f"{lines} | {100 * executed / lines:.1f}"


def summary(every, kunit, own):
    """The rooms and DRM's files as tables."""
    rooms, drm = defaultdict(list), []
    for path in sorted(every.executed):
        if is_ours(path):
            rooms[room(path)].append(path)
        else:
            drm.append(path)
    yield "| ours | lines | executed % |\n|---|---|---|"
    for name in sorted(rooms):
        yield f"| `{name}/` | {summed(every, rooms[name])} |"
    yield f"| all | {summed(every, sum(rooms.values(), []))} |"
    if drm:
        yield "\n| DRM's | lines | our tests % | our KUnit suites % | its own suites % |\n|---|---|---|---|---|"
    for path in drm:
        percents = " | ".join(shown(part.percent(path)) for part in (every, kunit, own))
        yield f"| `{path}` | {every.count(path)[0]} | {percents} |"


def write(name, lines):
    with open(os.path.join(OUT, name), "w") as f:
        f.writelines(line + "\n" for line in lines)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    own, kunit, *programs = map(read_run, sys.argv[1:])
    every = Lines(kunit, *programs)
    write("coverage.tsv", map("\t".join, (HEADER, *rows(every, kunit, own))))
    write("coverage-missing.txt", missing(every))
    print("\n".join(summary(every, kunit, own)))
    found = list(objections(every, read_reasons(REASONS), our_sources()))
    for objection in found:
        print(objection, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
