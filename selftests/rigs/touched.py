#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What the change since a commit concerns: touched.py suites|programs|files [COMMIT]

COMMIT is HEAD~1 unless said otherwise; what isn't committed counts. Prints suites (globs) or programs by
touched.txt, one a line, or the files themselves. Without a history (a shallow clone) nothing was touched.
"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))


def git(*args):
    done = subprocess.run(("git", "-C", TOP) + args, capture_output=True, text=True, check=False)
    return done.stdout.split("\n") if done.returncode == 0 else []


def files(base):
    changed = set(git("diff", "--name-only", "--diff-filter=d", base)) | \
        set(git("ls-files", "--others", "--exclude-standard"))
    return sorted(changed - {""})


def table():
    with open(os.path.join(HERE, "touched.txt")) as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                path, suites, programs = line.rstrip("\n").split("\t")
                yield re.compile(path), {"suites": suites, "programs": programs}


def concerned(path, what, rows):
    for pattern, row in rows:
        if found := pattern.fullmatch(path):
            return {found.expand(name) for name in row[what].split(",")} - {"-"}
    return set()


def covered(glob, globs):
    """Whether another glob has the suites of this one, too."""
    return any(other != glob and other.endswith("*") and glob.startswith(other[:-1]) for other in globs)


def main():
    what, base = sys.argv[1], (sys.argv[2:] or ["HEAD~1"])[0]
    names = set(files(base))
    if what != "files":
        rows = list(table())
        names = set().union(*(concerned(path, what, rows) for path in names))
        names = {name for name in names if not covered(name, names)}
    for name in sorted(names):
        print(name)


if __name__ == "__main__":
    main()
