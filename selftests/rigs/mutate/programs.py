# SPDX-License-Identifier: GPL-2.0
"""Tries mutants that survived KUnit with kselftests, on the stock kernel in QEMU.

The programs are those that touched.txt names for the mutant's file. Modules are built from the copy of the sources that
the UML kernel is built from; for another mutant only chosen.h changes, so that one file is compiled and both are linked.
Without a mutant the programs have to pass; that is run once for each list of programs. The console says whether the
mutant was reached.
"""
import glob
import os
import re
import subprocess
import sys
import time

import draw
from draw import say

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import touched  # noqa: E402

FAILED = re.compile(r"^\s*not ok \d+ (?:- )?([^#\n]*)", re.M)
STEP = "stock.selftests"
CELLS = "gpu_physical.mmu0.some modules"


def prepare():
    """Programs don't depend on mutants: they are built once, from the sources as they are."""
    rigs = os.path.join(draw.TOP, "selftests/rigs")
    subprocess.run([os.path.join(rigs, "setup.sh")], check=True)
    subprocess.run([os.path.join(rigs, "programs.sh")], check=True)
    out = os.path.join(draw.TREE, "out")
    os.makedirs(out, exist_ok=True)
    for name in ("selftests", "rig.env"):
        if not os.path.lexists(os.path.join(out, name)):
            os.symlink(os.path.join(draw.TOP, "out", name), os.path.join(out, name))


def run(number, names):
    """Returns what failed, or None, and whether the mutant was reached."""
    draw.write(os.path.join(draw.TREE, "kunit", "chosen.h"), f"#define PAGODA_MUTANT_CHOSEN {number}\n")
    env = {**os.environ, "PAGODA_CACHE": draw.OWN_CACHE, "FILTER": ",".join(names), "CELLS": CELLS}
    done = subprocess.run([os.path.join(draw.TREE, "selftests/rigs/machine.sh"), "stock", "selftests"], env=env, check=False,
                          stdout=subprocess.DEVNULL)
    out = os.path.join(draw.TREE, "out")
    with open(os.path.join(out, "logs", STEP + ".console.log"), errors="replace") as f:
        reached = "pagoda-reached:" in f.read()
    for path in sorted(glob.glob(os.path.join(out, "vm", STEP, "*.tap"))):
        with open(path, errors="replace") as f:
            if failed := FAILED.search(f.read()):
                return f"{os.path.basename(path).split('.')[-2]}: {failed[1].strip()}", reached
    return (None if done.returncode == 0 else "the machine"), reached


def names_for(path, rows):
    return sorted(touched.concerned(path, "programs", rows))


def try_survivors(rows, wanted):
    prepare()
    table, good = list(touched.table()), {}
    for number, mutant in wanted:
        verdict = rows.rows[mutant.key]["verdict"]
        if not verdict.startswith("survived") or "kselftests" in verdict:
            continue
        names = tuple(names_for(mutant.file, table))
        if not names:
            continue
        if names not in good:
            good[names] = run(0, names)[0]
            if good[names]:
                say(f"{' '.join(names)} without a mutant: {good[names]}; not tried")
        if good[names]:
            continue
        start = time.monotonic()
        failed, reached = run(number, names)
        verdict = f"killed by {failed}" if failed else \
            f"survived, and kselftests ({'' if reached else 'not reached, '}{' '.join(names)})"
        rows.add(mutant, verdict, time.monotonic() - start)
