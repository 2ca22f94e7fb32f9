#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Which programs run in which modes: cells.py RIG.STEP, as lines of a cell and its programs.

A cell is a word: <update mode>.mmu<0 or 1>.<VRAM the CPU sees>[.<more parameters of the GPU>][.defer_jobs=1], the last
of which is the driver's: no job is prepared before SUBMIT has returned. The cell "modules" has
the test of loading and unloading. In the environment, CELLS replaces the cells (all programs in each, the short list
in those with parameters of their own), FILTER is globs for programs, with commas between them, and SHARE chooses the
part of a step that rotates (the number of commits if it isn't set): cells.py --share prints it.
"""
import fnmatch
import glob
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))

MODES = ("gpu_physical", "gpu_virtual", "cpu_virtual")
COLUMNS = [(mmu, visible) for mmu in ("0", "1") for visible in ("all", "none")]
# With part of VRAM in the CPU's window, what the CPU can reach and what it can't are both tested.
BASE = "gpu_physical.mmu0.some"
DEFERRED = "gpu_physical.mmu0.all.defer_jobs=1"
# Devices unlike the default one, each with the programs that use page tables and move memory most.
OPTIONS = ("gpu_physical.mmu0.all.dual_pte=1", "gpu_virtual.mmu0.all.cache_invalid=1",
           "gpu_virtual.mmu0.all.pt_levels=2", "cpu_virtual.mmu0.all.pt_levels=5",
           # Machines of steps with these have memory that this one doesn't reach.
           "gpu_physical.mmu0.all.misconfigure=system_address_bits:32")
SHORT = ("residency_test", "evict_test", "bind_test", "bind_queue_test", "submit_test", "submit_fault_test", "fence_test",
         "fence_wait_test")
SANITIZED = "gpu_virtual.mmu1.some.pt_levels=4"
# The rest of SHORT runs on four processors there.
SANITIZED_SHORT = ("residency_test", "evict_test", "bind_test")
LITTLE_MEMORY = ("isolation_test", "pressure_test")
SLEEP = ("suspend_test",)
# Needs modules that are compiled for it, on a kernel with KCOV.
KCOV = ("kcov_test",)
# The kernels that are built here don't run 32-bit programs; Debian's does.
STOCK_ONLY = ("abi32_test",)
# One cell will do for these.
ONCE = STOCK_ONLY + ("events_test", "pagodactl_test", "unplug_storm_test", "dmem_test", "trace_test", "identity_test")
# Execution, by several threads at once: four processors on the sanitizer kernel.
ALONE = ("bind_queue_test", "submit_test", "submit_fault_test", "overcommit_test", "fence_test", "fence_wait_test",
         "unplug_test", "unplug_storm_test")
EXECUTION = ("bind_test",) + ALONE
# Seconds on the sanitizer kernel, where they aren't few: what a share is to have as much of as another.
COST = {"evict_test": 8, "inject_test": 8, "submit_test": 5, "vmbind_test": 6, "overcommit_test": 6, "storm_test": 6,
        "submit_fault_test": 4, "tiled_test": 4, "mmap_test": 3, "reset_test": 3, "modules": 12, "soak": 5}
# Parts of what the sanitizer kernel runs, and how many of them are with four processors.
SHARES = 24
FOUR_SHARES = 6


def programs():
    names = (os.path.basename(path)[:-2] for path in glob.glob(os.path.join(TOP, "selftests/cases/*_test.c")))
    return sorted({*names, *STOCK_ONLY} - set(LITTLE_MEMORY) - set(SLEEP) - set(KCOV))


def native():
    return [name for name in programs() if name not in STOCK_ONLY]


def share():
    if os.environ.get("SHARE"):
        return int(os.environ["SHARE"])
    count = subprocess.run(("git", "-C", TOP, "rev-list", "--count", "HEAD"), capture_output=True, text=True,
                           check=False).stdout
    return int(count or 0)


def touched():
    done = subprocess.run((os.path.join(HERE, "touched.py"), "programs"), capture_output=True, text=True, check=True)
    return done.stdout.split()


def matrix(columns):
    names = [name for name in programs() if name not in ONCE]
    return [(f"{mode}.mmu{mmu}.{visible}", names) for mmu, visible in columns for mode in MODES]


def turn(cells):
    """The cell whose turn it is with this commit."""
    return [cells[share() % len(cells)]]


def matrix_share():
    """Each program in one cell, a third of them in each of three: twelve shares are the matrix.

    And a device unlike the default one, loading and unloading.
    """
    shift, first = divmod(share(), len(MODES))
    cells = turn([(cell, list(SHORT)) for cell in OPTIONS]) + [("modules", ["reload"])]
    for n, mode in enumerate(MODES):
        mmu, visible = COLUMNS[(shift + n) % len(COLUMNS)]
        names = dict(matrix(COLUMNS))[f"{mode}.mmu{mmu}.{visible}"]
        cells.append((f"{mode}.mmu{mmu}.{visible}", names[(n + first) % len(MODES)::len(MODES)]))
    cells[-1][1].extend(ONCE)
    return cells + deferred_share()


def sleeping():
    return [(cell, list(SLEEP)) for cell in (BASE, "gpu_virtual.mmu1.none", "cpu_virtual.mmu0.all.preserve=half")]


def sanitized():
    names = [name for name in native() if name not in ALONE]
    return [(BASE, names + ["soak"]), (SANITIZED, list(SANITIZED_SHORT)), ("modules", ["reload"])]


def deal(cells, hands):
    """The cells' programs in so many parts of about the same cost."""
    parts = [[] for _ in range(hands)]
    items = [(COST.get(cell if cell == "modules" else name, 1), cell, name) for cell, names in cells for name in names]
    for cost, cell, name in sorted(items, reverse=True):
        min(parts, key=lambda part: sum(item[0] for item in part)).append((cost, cell, name))
    return [[(cell, [name for _, c, name in part if c == cell]) for cell, _ in cells
             if any(c == cell for _, c, _ in part)] for part in parts]


def sanitized_share():
    """The share of this commit, and what the last commit touched."""
    two, four = deal(sanitized(), SHARES - FOUR_SHARES), deal([(BASE, list(EXECUTION))], FOUR_SHARES)
    picked = dict((two + four)[share() % SHARES])
    base = picked.setdefault(BASE, [])
    base += [name for name in touched() if name in native() and name not in base]
    return list(picked.items())


def deferred():
    """Programs that submit jobs, with every job prepared in a work item."""
    return [name for name in native() if name not in ONCE]


def deferred_share():
    """A third of them, by commit."""
    names = deferred()
    return [(DEFERRED, names[share() % 3::3])]


def quick():
    names = {"abi_test", "residency_test", *touched()}
    return [(BASE, sorted(names & set(programs()))), ("modules", sorted(names & {"reload"}))]


STEPS = {
    "stock.selftests-deferred": lambda: [(DEFERRED, deferred())],
    "stock.selftests": lambda: [(BASE, programs()), ("modules", ["reload"])],
    "stock.selftests-options": lambda: [(cell, list(SHORT)) for cell in OPTIONS],
    "stock.selftests-mmu0": lambda: matrix(COLUMNS[:2]),
    "stock.selftests-mmu1": lambda: matrix(COLUMNS[2:]),
    "stock.selftests-share": matrix_share,
    "stock.selftests-quick": quick,
    "new.selftests": lambda: [(BASE, native())],
    "coverage.selftests": lambda: [(BASE, native()), (SANITIZED, list(SHORT)), ("modules", ["reload"])],
    "debug.selftests": sanitized,
    "debug.selftests-kcov": lambda: [(BASE, list(KCOV)), ("cpu_virtual.mmu0.all", list(KCOV))],
    "debug.selftests-smp4": lambda: [(BASE, list(EXECUTION))],
    "debug.selftests-share": sanitized_share,
    # Without VRAM for the CPU, and with a GPU that forgets nothing when it is reset.
    "stock.pressure": lambda: [(BASE, list(LITTLE_MEMORY)), ("gpu_virtual.mmu1.none.reset_vram=keep",
                                                             ["isolation_test"])],
    "stock.pressure-share": lambda: turn([(BASE, list(LITTLE_MEMORY)),
                                          ("gpu_virtual.mmu1.none.reset_vram=keep", ["isolation_test"])]),
    "stock.suspend": sleeping,
    "stock.suspend-share": lambda: turn(sleeping()),
    "stock.record": lambda: [("gpu_physical.mmu0.all", list(SANITIZED_SHORT))],
    "debug.suspend": lambda: [(cell, list(SLEEP)) for cell in ("gpu_virtual.mmu1.some",
                                                               BASE + ".preserve=standby")],
}


def processors(step):
    """Four where threads are to meet; the new kernel preempts, too."""
    four = step in ("debug.selftests-smp4", "new.selftests") or \
        (step == "debug.selftests-share" and share() % SHARES >= SHARES - FOUR_SHARES)
    return 4 if four else 2


def plan(step):
    default = STEPS.get(step) or STEPS.get("stock." + step.split(".")[1], STEPS["stock.selftests"])
    if os.environ.get("CELLS"):
        every = list(SLEEP) if step.endswith("suspend") else programs()
        cells = [(cell, ["reload"] if cell == "modules" else list(SHORT) if "=" in cell else every)
                 for cell in os.environ["CELLS"].split()]
    else:
        cells = default()
    patterns = (os.environ.get("FILTER") or "*").split(",")
    chosen = [(cell, [name for name in names if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)])
              for cell, names in cells]
    return [(cell, names) for cell, names in chosen if names]


def main():
    if sys.argv[1] == "--share":
        print(share())
        return
    if sys.argv[1] == "--processors":
        print(processors(sys.argv[2]))
        return
    for cell, names in plan(sys.argv[1]):
        print(cell, *names)


if __name__ == "__main__":
    main()
