#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Makes the driver and the software GPU wrong on purpose, and looks whether the tests notice: make mutate.

N mutants (20) are drawn by SEED (1) evenly over the rooms, of FILES only (globs) if these are given; mutants.py says
which kinds there are. One kernel has them all, and one of them is active (draw.py). Without a mutant every KUnit case
has to pass; that run also says which cases reach which mutant, and only these are run with it, those of the room's own
folder and quick ones first, in User-Mode Linux with one processor (kernel.py). The first failure, hang or complaint of
the kernel has killed the mutant. A case that fails without a complaint, or with one about time, is run once more, alone
with the mutant: if it passes then, the others go on.

With SELFTESTS=1 what survives is tried with the programs that touched.txt names for the file, on the stock kernel
(programs.py). LANES kernels run at the same time (1).

out/mutants.tsv has a row for each mutant: id, file, line, function, kind, before, after, verdict, seconds. Mutants that
have a row aren't run again, whichever draw they were of; AGAIN=survived runs those again that survived. LIST=survivors.tsv,
or another such table of the tree's mutants, is run instead of a draw.
selftests/rigs/mutate/equivalent.tsv proves of mutants that nothing can tell them from the original; survivors.tsv says of
others why they survive, which the summary repeats.
"""
import json
import os
import sys
import threading
import time
from collections import Counter, defaultdict

sys.dont_write_bytecode = True
import draw  # noqa: E402
import kernel  # noqa: E402
import programs  # noqa: E402
from draw import say  # noqa: E402

ROWS = os.path.join(draw.TOP, "out", "mutants.tsv")
# The quick cases didn't notice the mutant, and the others haven't run yet.
OPEN = "open"
HEADER = ("id", "file", "line", "function", "kind", "before", "after", "verdict", "seconds")
EQUIVALENT = os.path.join(draw.HERE, "equivalent.tsv")
SURVIVORS = os.path.join(draw.HERE, "survivors.tsv")
# Seconds of a case that isn't quick, and of the first cases that don't belong to the room.
SLOW, FIRST = 1.5, 8
# What a busy host may be the reason of.
UNSURE = kernel.re.compile("fails|blocked|hogged|stall|detected|lockup|takes more")
# So many lists of cases are run with every mutant, then so many with those that are left, then the last ones.
STAGES = (2, 3, 5)
BOOT_CASES = 20
# Cases that one kernel runs without a mutant.
CHUNK = 60


def table(path):
    if not os.path.exists(path):
        return []
    with open(path) as f:
        lines = [line.rstrip("\n").split("\t") for line in f if line.strip()]
    return [dict(zip(lines[0], line)) for line in lines[1:]]


class Baseline:
    """What the kernel does without a mutant: names of cases, their seconds, those that reach a mutant by its number."""

    def __init__(self, machine, note):
        self.cases, self.seconds, self.reached, self.unsteady, self.done = [], {}, {}, [], 0
        self.at, self.case, self.note = 0, None, note
        if os.path.exists(note) and os.path.getmtime(note) > os.path.getmtime(os.path.join(machine.folder, "linux")):
            self.__dict__.update(json.loads(draw.read(note)))
        self.cases = self.cases or machine.cases()
        if not self.cases:
            sys.exit(f"mutate: {machine.folder}/linux doesn't list its cases")
        while self.done < len(self.cases):
            self.measure(machine, list(range(self.done, min(self.done + CHUNK, len(self.cases)))))

    def measure(self, machine, numbers):
        """Runs some cases. One that fails is run once more, by itself: failing again is the end."""
        say(f"without a mutant: {numbers[0]} of {len(self.cases)} cases")
        end = numbers[-1] + 1
        while numbers:
            self.case = None
            done = machine.run(0, numbers, {}, self.watch)
            if not done.case:
                break
            number = self.cases.index(done.case) if done.case in self.cases else None
            say(f"{done.case} {done.why} without a mutant; once more")
            if number is None or machine.run(0, [number], {}).case:
                sys.exit(f"mutate: {done.case} {done.why} without a mutant")
            self.unsteady.append(done.case)
            passed = {self.cases.index(case) for case in done.passed} | {number}
            numbers = [n for n in numbers if n not in passed]
        self.done = end
        names = ("cases", "seconds", "reached", "unsteady", "done")
        draw.write(self.note, json.dumps({name: getattr(self, name) for name in names}))

    def watch(self, line):
        found = kernel.CASE.search(line)
        if found or kernel.END in line:
            now = time.monotonic()
            if self.case:
                self.seconds[self.case] = self.seconds.get(self.case, 0) + now - self.at
            self.at, self.case = now, found and found[1]
        elif found := kernel.REACHED.search(line):
            for numbers in found[2].split():
                first, last = map(int, numbers.split("-"))
                for n in range(first, last + 1):
                    cases = self.reached.setdefault(str(n), [])
                    if found[1] not in cases:
                        cases.append(found[1])


class Trial:
    """A mutant and what cases are to run with it. at: the next of these lists; once: a case that failed once."""

    def __init__(self, number, mutant, batches):
        self.number, self.mutant, self.batches = number, mutant, batches
        self.at, self.once, self.seconds = 0, None, 0


class Judge:
    def __init__(self, machine, baseline):
        self.machine, self.baseline = machine, baseline
        self.number = {case: n for n, case in enumerate(baseline.cases)}
        self.kills = Counter(row["verdict"].split()[2].split(".")[0] for row in table(ROWS)
                             if row["verdict"].startswith("killed by pagoda"))
        self.folders = suite_folders()

    def batches(self, mutant, reached):
        """Five lists of cases, of a kernel each: the room's quick ones, first ones of others, the other quick ones, then what
        is slow.
        """
        folder = folder_of(mutant)
        cost = self.baseline.seconds
        cases = sorted((c for c in reached if c in self.number and c not in self.baseline.unsteady),
                       key=lambda c: (-self.kills[c.split(".")[0]] // 5, cost.get(c, 0)))
        own = [c for c in cases if self.folders.get(c.split(".")[0]) == folder]
        quick = [c for c in cases if c not in own and cost.get(c, 0) < SLOW]
        first, spent = [], 0
        while quick and spent < FIRST:
            first.append(quick.pop(0))
            spent += cost.get(first[-1], 0)
        slow = [c for c in cases if c not in own and cost.get(c, 0) >= SLOW]
        return [[c for c in own if cost.get(c, 0) < SLOW], first, quick, [c for c in own if cost.get(c, 0) >= SLOW], slow]

    def begin(self, number, mutant, begun=False):
        """begun: the first stage has been without a verdict."""
        reached = self.baseline.reached.get(str(number), [])
        if "boot" in reached:
            # What boots is the machine's device, which the cases of kunit/uapi use.
            folders = {c: self.folders.get(c.split(".")[0]) for c in self.number}
            others = sorted(self.number, key=lambda c: (folders[c] != folder_of(mutant), self.baseline.seconds.get(c, 0)))
            reached = dict.fromkeys(reached + [c for c in self.number if folders[c] == "uapi"] +
                                    (others[:BOOT_CASES] if set(reached) == {"boot"} else []))
        trial = Trial(number, mutant, self.batches(mutant, reached))
        trial.at = STAGES[0] if begun else 0
        return trial

    def go_on(self, trial):
        """Runs the next stage of a trial. Returns the verdict, or None if that is open."""
        if not any(trial.batches):
            return "survived: no case reaches it"
        start = time.monotonic()
        end = next(stage for stage in STAGES if stage > trial.at)
        verdict = next(filter(None, (self.batch(trial, cases) for cases in trial.batches[trial.at:end])), None)
        trial.at = end
        trial.seconds += time.monotonic() - start
        if verdict or trial.at < len(trial.batches):
            return verdict
        return f"killed by {trial.once} (not every time)" if trial.once else "survived"

    def batch(self, trial, cases):
        while cases:
            done = self.machine.run(trial.number, [self.number[c] for c in cases], self.baseline.seconds)
            if not done.case:
                break
            if not UNSURE.search(done.why) or self.fails_again(trial.number, done.case):
                self.kills[done.case.split(".")[0]] += 1
                return f"killed by {done.case}" + ("" if done.why == "fails" else f" ({done.why})")
            trial.once = trial.once or done.case
            cases = [c for c in cases if c not in done.passed and c != done.case]
        return None

    def fails_again(self, number, case):
        return self.machine.run(number, [self.number[case]], self.baseline.seconds).case is not None


def folder_of(mutant):
    """Folder of kunit/ whose suites test the room: those of the module with the software GPU are uapi's."""
    room = draw.room_of(mutant.file)
    return {"paging/cpu": "paging", "vgpu": "uapi"}.get(room) or os.path.basename(room)


def suite_folders():
    """Folder of kunit/ by the name of the suite."""
    found = {}
    for folder, _, names in os.walk(os.path.join(draw.TOP, "kunit")):
        for name in names:
            if name.endswith(".c"):
                for suite in kernel.re.findall(r'\.name = "(pagoda\w*)"', draw.read(os.path.join(folder, name))):
                    found[suite] = os.path.basename(folder)
    return found


def named(path, what):
    """A table of mutants: column what by file, function and text."""
    return {text_of(row): row[what] for row in table(path)}


def text_of(row):
    return row["file"], row["function"], row["before"], row["after"]


class Rows:
    """out/mutants.tsv."""

    def __init__(self, wanted):
        self.lock, self.start, self.wanted = threading.Lock(), time.monotonic(), wanted
        self.rows = {row["id"]: row for row in table(ROWS)}
        self.ran = 0

    def is_open(self, mutant):
        return mutant.key in self.rows and self.rows[mutant.key]["verdict"] == OPEN

    def has(self, mutant, again):
        row = self.rows.get(mutant.key)
        return row and row["verdict"] != OPEN and not (again and row["verdict"].startswith(again))

    def add(self, mutant, verdict, seconds):
        row = dict(zip(HEADER, (mutant.key, mutant.file, str(mutant.line), mutant.function, mutant.kind, mutant.before,
                                mutant.after, verdict, f"{seconds:.1f}")))
        with self.lock:
            self.ran += 1
            self.rows[mutant.key] = row
            # Whole, by another name first: what was interrupted leaves the old one.
            lines = ["\t".join(HEADER)] + ["\t".join(r[name] for name in HEADER) for r in self.rows.values()]
            draw.write(ROWS + ".new", "\n".join(lines) + "\n")
            os.rename(ROWS + ".new", ROWS)
            done = sum(bool(self.has(m, None)) for m in self.wanted)
            say(f"{done}/{len(self.wanted)} {seconds:5.1f} s  {verdict}  {mutant.file}:{mutant.line} {mutant.kind}: "
                f"{mutant.before[:90]} => {mutant.after[:90]}")


def settle(rows, judge, queue, lock):
    """A lane: goes on with one trial after another until all have their verdicts."""
    proven = named(EQUIVALENT, "proof")
    while True:
        with lock:
            if not queue:
                return
            trial = queue.pop(0)
        mutant = trial.mutant
        equal = (mutant.file, mutant.function, mutant.before, mutant.after) in proven
        verdict = "equivalent" if equal else judge.go_on(trial)
        rows.add(mutant, verdict or OPEN, trial.seconds)
        if not verdict:
            with lock:
                queue.append(trial)


def summary(rows, drawn):
    some = [rows.rows[m.key] for m in drawn if m.key in rows.rows]
    kinds = Counter(row["verdict"].split()[0].rstrip(":") for row in some)
    by_room = defaultdict(Counter)
    for row in some:
        by_room[draw.room_of(row["file"])][row["verdict"].split()[0].rstrip(":")] += 1
    print("\nroom\tkilled\tsurvived\tequivalent\topen")
    for room, counts in sorted(by_room.items()):
        print(f"{room}\t{counts['killed']}\t{counts['survived']}\t{counts['equivalent']}\t{counts[OPEN]}")
    print("\nsurvived:")
    reasons = named(SURVIVORS, "reason")
    for row in some:
        if row["verdict"].startswith("survived"):
            print(f"{row['file']}:{row['line']} {row['function']} {row['kind']}: {row['before']} => {row['after']}"
                  f" [{row['verdict']}] {reasons.get(text_of(row), 'no reason is known')}")
    real = kinds["killed"] + kinds["survived"]
    seconds = sum(float(row["seconds"]) for row in some) / max(len(some), 1)
    print(f"\n{len(some)} mutants, {seconds:.1f} s each: {kinds['killed']} killed, {kinds['survived']} survived, "
          f"{kinds['equivalent']} equivalent, {kinds[OPEN]} open; {100 * kinds['killed'] / max(real, 1):.1f} % of those that aren't "
          "equivalent are killed")


def main():
    env = os.environ.get
    count, seed, files = int(env("N") or 20), env("SEED") or "1", (env("FILES") or "").split()
    os.makedirs(draw.OUT, exist_ok=True)
    found = draw.find(draw.TOP, files)
    if env("LIST"):
        drawn = draw.listed(found, table(env("LIST")))
        count = len(drawn)
    else:
        drawn = draw.draw(found, seed, count + count // 4 + 20)
    built = draw.build(drawn, seed, files)
    wanted = built.numbered()[:count]
    machine = kernel.Kernel(built.kernel)
    try:
        baseline = Baseline(machine, os.path.join(draw.OUT, "baseline.json"))
        judge, rows = Judge(machine, baseline), Rows([m for _, m in wanted])
        queue = [judge.begin(number, mutant, not env("AGAIN") and rows.is_open(mutant))
                 for number, mutant in wanted if not rows.has(mutant, env("AGAIN"))]
        queue.sort(key=lambda trial: trial.at)
        lock = threading.Lock()
        lanes = [threading.Thread(target=settle, args=(rows, judge, queue, lock), daemon=True)
                 for _ in range(int(env("LANES") or 1))]
        for lane in lanes:
            lane.start()
        for lane in lanes:
            lane.join()
    finally:
        machine.close()
    if env("SELFTESTS"):
        programs.try_survivors(rows, wanted)
    summary(rows, rows.wanted)


if __name__ == "__main__":
    main()
