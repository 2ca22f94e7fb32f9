# SPDX-License-Identifier: GPL-2.0
"""Draws mutants and builds one kernel that has them all.

Drawn by a seed: in turns a mutant of each room, of the engine and of the software GPU's module, of a kind that is drawn
first, so that rare kinds are as frequent as common ones. The first mutants of a longer draw are those of a shorter one.
More are drawn than asked for: those that don't compile are taken out again, by the lines that the compiler names.

The kernel is built by kernels.sh from a copy of the sources in out/mutate/tree, in a cache of its own.
"""
import fnmatch
import glob
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time

import mutants

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
OUT = os.path.join(TOP, "out", "mutate")
TREE = os.path.join(OUT, "tree")
CACHE = os.environ.get("PAGODA_CACHE") or \
    os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "pagoda")
# MUTATE_CACHE: another one in which nothing else is built.
OWN_CACHE = os.environ.get("MUTATE_CACHE") or os.path.join(CACHE, "mutate")
# Not built where suites run: a room, a file.
LEFT_OUT = ("bench",)
NO_KCOV = "drivers/vgpu/kcov.c"
PARTS = ("Kbuild", "Kconfig", "include", "drivers", "kunit")
# Places in the sources, and what the compiler objects to there.
PLACE = re.compile(r"drivers/gpu/drm/pagoda/(drivers/[\w/]+\.c):(\d+):\d+: (error|note: in expansion|note: in definition)")
ROUNDS = 12
KBUILD = """
ifeq ($(CONFIG_DRM_PAGODA),m)
pagoda-y += kunit/mutant.o
pagoda_vgpu-y += kunit/mutant.o
else
obj-y += kunit/mutant.o
endif
"""


def say(text):
    print(time.strftime("%T"), "", text, file=sys.stderr, flush=True)


def read(path):
    with open(path) as f:
        return f.read()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)


def rooms(top):
    """Folders of C files by the name of the room."""
    names = re.search(r"^rooms := ((?:.*\\\n)*.*)$", read(os.path.join(top, "Kbuild")), re.M)[1].replace("\\", " ").split()
    found = {name: os.path.join("drivers/pagoda", name) for name in names if name not in LEFT_OUT}
    return {**found, "driver": "drivers/pagoda", "engine": "drivers/vgpu/engine", "vgpu": "drivers/vgpu"}


def room_of(path, top=TOP):
    return next(name for name, folder in rooms(top).items() if folder == os.path.dirname(path))


def sources(top, kinds=("c", "h")):
    paths = [p for part in ("drivers", "include") for kind in kinds
             for p in glob.glob(os.path.join(top, part, "**", "*." + kind), recursive=True)]
    return sorted(os.path.relpath(p, top) for p in paths)


def find(top, files):
    """All mutants by room. files: globs that a path must match one of."""
    constants = mutants.Constants([read(os.path.join(top, path)) for path in sources(top)])
    found = {}
    for room, folder in sorted(rooms(top).items()):
        found[room] = []
        for path in sorted(glob.glob(os.path.join(top, folder, "*.c"))):
            path = os.path.relpath(path, top)
            if path != NO_KCOV and (not files or any(fnmatch.fnmatch(path, "*" + pattern) for pattern in files)):
                found[room] += mutants.Finder(path, read(os.path.join(top, path)), constants).run()
    return {room: some for room, some in found.items() if some}


def draw(found, seed, count):
    """So many mutants that can all be in one kernel, as far as there are so many."""
    rng = random.Random(f"pagoda {seed}")
    pools = {room: {kind: [m for m in some if m.kind == kind] for kind in mutants.KINDS} for room, some in found.items()}
    pools = {room: {kind: some for kind, some in kinds.items() if some} for room, kinds in pools.items()}
    chosen, by_file = [], {}
    while len(chosen) < count and pools:
        order = sorted(pools)
        rng.shuffle(order)
        for room in order:
            mutant = draw_one(rng, pools[room], by_file)
            if not pools[room]:
                del pools[room]
            if mutant:
                chosen.append(mutant)
                by_file.setdefault(mutant.file, []).append(mutant)
    return chosen[:count]


def draw_one(rng, kinds, by_file):
    while kinds:
        kind = rng.choice(sorted(kinds))
        mutant = kinds[kind].pop(rng.randrange(len(kinds[kind])))
        if not kinds[kind]:
            del kinds[kind]
        if not any(mutants.crosses(mutant, other) for other in by_file.get(mutant.file, ())):
            return mutant
    return None


def listed(found, rows):
    """The mutants that rows of a table name by file, function and text; of two that can't be in one kernel, the first."""
    names = {(row["file"], row["function"], row["before"], row["after"]) for row in rows}
    chosen = []
    for some in found.values():
        for mutant in some:
            if (mutant.file, mutant.function, mutant.before, mutant.after) not in names:
                continue
            if any(mutant.file == other.file and mutants.crosses(mutant, other) for other in chosen):
                say(f"left out: {mutant.file}:{mutant.line} {mutant.before[:60]}")
            else:
                chosen.append(mutant)
    return chosen


def tree_key(top=TOP):
    """Says whether drivers and suites are what they were."""
    digest = hashlib.sha1()
    for part in PARTS:
        for path in sorted(glob.glob(os.path.join(top, part, "**"), recursive=True)) or [os.path.join(top, part)]:
            if os.path.isfile(path):
                digest.update(os.path.relpath(path, top).encode() + b"\0" + read(path).encode())
    for name in sorted(os.listdir(HERE)):
        if os.path.isfile(os.path.join(HERE, name)) and name.endswith((".c", ".h")) or name in ("mutants.py", "draw.py"):
            digest.update(read(os.path.join(HERE, name)).encode())
    return digest.hexdigest()


class Built:
    """The kernel that has the drawn mutants. usable: by number, those that compile, in the order they were drawn."""

    def __init__(self, drawn, dropped, kernel):
        self.drawn, self.dropped, self.kernel = drawn, set(dropped), kernel

    def numbered(self):
        return [(n, m) for n, m in enumerate(self.drawn, 1) if m.key not in self.dropped]


def copy_tree():
    """What doesn't change keeps its time."""
    os.makedirs(TREE, exist_ok=True)
    subprocess.run(["rsync", "-rc", "--delete", "--exclude=/out", "--exclude=/drivers", "--exclude=/.git",
                    TOP + "/", TREE + "/"], check=True)
    subprocess.run(["rsync", "-rc", "--delete", "--exclude=*.c", TOP + "/drivers", TREE + "/"], check=True)
    write(os.path.join(TREE, "Kbuild"), read(os.path.join(TOP, "Kbuild")) + KBUILD)
    # A folder that kernels.sh and modules.sh take along.
    for name in ("mutant.c", "mutant.h"):
        shutil.copy(os.path.join(HERE, name), os.path.join(TREE, "kunit", name))
    rigs = os.path.join(TREE, "selftests/rigs")
    write(os.path.join(rigs, "sparse.sh"), "#!/bin/sh\nexit 0\n")
    write(os.path.join(rigs, "programs.sh"), "#!/bin/sh\nexit 0\n")
    lib = read(os.path.join(rigs, "lib.sh"))
    write(os.path.join(rigs, "lib.sh"), re.sub(r"^STOCK_MODULES=.*$", "STOCK_MODULES=(KCFLAGS=-g0 PAGODA_UNITS=1 "
                                               "CONFIG_DEBUG_INFO_BTF_MODULES=)", lib, flags=re.M))
    write(os.path.join(TREE, "kunit", "chosen.h"), "#define PAGODA_MUTANT_CHOSEN 0\n")


def write_sources(built):
    by_file = {}
    for number, mutant in built.numbered():
        by_file.setdefault(mutant.file, []).append((number, mutant))
    for path in sources(TOP, ("c",)):
        text = read(os.path.join(TOP, path))
        text = mutants.write(text, by_file[path]) if path in by_file else text
        target = os.path.join(TREE, path)
        if not os.path.exists(target) or read(target) != text:
            write(target, text)


def kernels(*args):
    """Runs the copy's kernels.sh. Returns what it prints, or None if the build failed."""
    env = {**os.environ, "PAGODA_CACHE": OWN_CACHE, "KERNEL": "6.12", "GNUMAKEFLAGS": "-k"}
    done = subprocess.run([os.path.join(TREE, "selftests/rigs/kernels.sh"), *args], env=env, stdout=subprocess.PIPE,
                          text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def seed_cache():
    """The kernel's source is unpacked already, in the cache of the others: links to it cost nothing."""
    os.makedirs(OWN_CACHE, exist_ok=True)
    for path in glob.glob(os.path.join(CACHE, "source-6.12-*/ready")):
        source = os.path.dirname(path)
        target = os.path.join(OWN_CACHE, os.path.basename(source))
        if not os.path.exists(target):
            subprocess.run(["cp", "-al", source, target + ".new"], check=True)
            os.rename(target + ".new", target)


def complaints():
    """File and line of what the compiler refused: of an error in a macro, where it is used."""
    log = max(glob.glob(os.path.join(OWN_CACHE, "uml-6.12-*/build.log")), key=os.path.getmtime)
    return {(m[1], int(m[2])) for m in PLACE.finditer(read(log))}, log


def suspects(built, places):
    """Mutants at these lines; where there are none, those not far in front of them."""
    left = [m for _, m in built.numbered()]
    near = {m.key for m in left for path, line in places if m.file == path and m.line <= line <= m.last_line}
    return near or {m.key for m in left for path, line in places if m.file == path and 0 <= line - m.line < 40}


def build(drawn, seed, files):
    """Builds until everything compiles, without what doesn't."""
    note = os.path.join(OUT, "built.json")
    key, built = tree_key(), Built(drawn, (), None)
    state = {"tree": key, "seed": seed, "files": files, "keys": [m.key for m in drawn]}
    if os.path.exists(note):
        old = json.loads(read(note))
        if all(old[name] == state[name] for name in state) and os.path.exists(os.path.join(old["kernel"], "linux")):
            return Built(drawn, old["dropped"], old["kernel"])
        os.unlink(note)
    seed_cache()
    copy_tree()
    for _ in range(ROUNDS):
        write_sources(built)
        say(f"building a kernel with {len(built.numbered())} mutants")
        built.kernel = kernels("uml", "rig")
        if built.kernel:
            write(note, json.dumps({**state, "dropped": sorted(built.dropped), "kernel": built.kernel}))
            return built
        places, log = complaints()
        bad = suspects(built, places)
        if not bad:
            sys.exit(f"mutate: the kernel can't be built, see {log}")
        say(f"{len(bad)} mutants don't compile and are left out")
        built.dropped |= bad
    sys.exit("mutate: too many rounds of mutants that don't compile")
