#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests what makes mutants and judges them. Prints nothing if all is well.

A program with all its mutants in it is compiled, and each does what is said. Shell scripts are kernels whose cases pass,
fail, complain and hang.
"""
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import draw  # noqa: E402
import kernel  # noqa: E402
import mutants  # noqa: E402
import mutate  # noqa: E402

SOURCE = r"""// SPDX-License-Identifier: GPL-2.0
enum shape { SHAPE_ROUND = 1, SHAPE_FLAT = 8, };
#define PART_ONE 2
#define PART_TWO 4

struct pair { int a, b; };

static const int sizes[] = { 1, 2, 3 };
static char text[64];

static void lock(int *where) { strcat(text, "l"); }
static void unlock(int *where) { strcat(text, "u"); }
static void flush(void) { strcat(text, "f"); }
static void note(const char *what) { strcat(text, what); }

/* if (this) isn't code */
static int work(int n, int flags)
{
	struct pair pair = { .a = n, .b = PART_ONE | PART_TWO };
	int sum = 0, i;
	int where;

	lock(&where);
	note("a");
	unlock(&where);
	if (n > 3 && (flags & SHAPE_FLAT || !n))
		note("b");
	else
		note("c");
	for (i = 0; i < n; i++)
		sum += sizes[i % 3];
	switch (n) {
	case 1:
		note("d");
		break;
	default:
		break;
	}
	flush();
	sum = sum ?: 0;
	return flags ? sum + pair.b : -sum;
}
"""
MAIN = r"""
int main(int argc, char **argv)
{
	chosen = atoi(argv[1]);
	printf("%d", work(1, 0));
	printf(",%d", work(4, 8));
	printf(",%s", text);
	return 0;
}
"""
HEAD = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <stdbool.h>\nstatic int chosen;\n" \
    "#define PAGODA_MUTANT(n) (chosen == (n))\n"
UNCHANGED = "-1,13,laucdflaubf"
# What is shown of a mutant, and what the program prints then.
WANTED = {
    "if (n > (3 + 1) && (flags & SHAPE_FLAT || !n))": "-1,13,laucdflaucf",
    "if (n > 3 && (flags & 0 || !n))": "-1,13,laucdflaucf",
    "if (n > 3 && (flags & SHAPE_ROUND || !n))": "-1,13,laucdflaucf",
    "if (!(n > 3) && (flags & SHAPE_FLAT || !n))": "-1,13,laucdflaucf",
    "if (true && (flags & SHAPE_FLAT || !n))": UNCHANGED,
    "if (n > 3 && (false || !n))": "-1,13,laucdflaucf",
    "for (i = (0 + 1); i < n; i++)": "0,12,laucdflaubf",
    "for (i = 0; i < n + 1; i++)": "-3,15,laucdflaubf",
    "sum += sizes[i % 3 + 1];": None,
    "return !(flags) ? sum + pair.b : -sum;": "7,-7,laucdflaubf",
    "note(\"a\"); lock(&where);": "-1,13,alucdfalubf",
    "struct pair pair = { .a = n, .b = 0 | PART_TWO };": "-1,11,laucdflaubf",
    "struct pair pair = { .a = n, .b = PART_TWO | PART_TWO };": "-1,11,laucdflaubf",
}


class Mutants(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.found = mutants.Finder("work.c", SOURCE, mutants.Constants([SOURCE])).run()
        cls.numbered = []
        for mutant in sorted(cls.found, key=lambda m: m.before):
            if not any(mutants.crosses(mutant, other) for _, other in cls.numbered):
                cls.numbered.append((len(cls.numbered) + 1, mutant))
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        source = os.path.join(cls.folder.name, "work.c")
        cls.program = source[:-2]
        draw.write(os.path.join(cls.folder.name, "mutant.h"), "")
        draw.write(source, HEAD + mutants.write(SOURCE, cls.numbered) + MAIN)
        subprocess.run(["cc", "-w", "-o", cls.program, source], check=True)

    def output(self, number):
        done = subprocess.run([self.program, str(number)], capture_output=True, text=True, timeout=20, check=False)
        return done.stdout

    def test_none_is_active(self):
        self.assertEqual(self.output(0), UNCHANGED)

    def test_each_does_what_is_shown(self):
        shown = {m.after: number for number, m in self.numbered}
        for after, output in WANTED.items():
            self.assertIn(after, shown)
            if output:
                self.assertEqual(self.output(shown[after]), output, after)

    def test_dropped_statements(self):
        dropped = {m.before: self.output(n) for n, m in self.numbered if m.kind in ("drop", "flush")}
        self.assertEqual(dropped["note(\"c\");"], "-1,13,laudflaubf")
        self.assertEqual(dropped["sum += sizes[i % 3];"], "0,6,laucdflaubf")
        self.assertEqual(dropped["flush();"], "-1,13,laucdlaub")
        self.assertNotIn("return flags ? sum + pair.b : -sum;", dropped)

    def test_kinds(self):
        self.assertEqual({m.kind for m in self.found}, set(mutants.KINDS))
        self.assertEqual({m.kind for m in self.found if "?: 0" in m.before}, {"drop", "off_by_one"})
        self.assertEqual([m.before for m in self.found if m.kind == "flush"], ["flush();"])
        self.assertEqual({m.function for m in self.found}, {"work"})

    def test_guards_stay(self):
        """A guard is a declaration, which can't be left out or moved."""
        text = "static void f(void)\n{\n\tguard(mutex)(&lock);\n\twork();\n}\n"
        self.assertEqual([m.before for m in mutants.Finder("guard.c", text, mutants.Constants([text])).run()], ["work();"])

    def test_lines_stay(self):
        written = mutants.write(SOURCE, self.numbered)
        self.assertEqual(written.count("\n"), SOURCE.count("\n"))
        self.assertEqual(written.split("\n")[0], '#include "mutant.h"')
        for m in self.found:
            self.assertEqual(SOURCE.count("\n", 0, m.start) + 1, m.line)

    def test_neighbours(self):
        """What ends at a byte comes before what begins there, and the inner one ends first."""
        text = "//\nabcd"
        some = [self.found[0]._replace(start=start, end=end, front=front + "%d(", back=")")
                for start, end, front in ((3, 5, "x"), (5, 7, "y"), (3, 7, "z"), (4, 5, "v"))]
        self.assertEqual(mutants.write(text, list(enumerate(some, 1))).split("\n")[1], "z3(x1(av4(b))y2(cd))")

    def test_keys(self):
        self.assertEqual(len({m.key for m in self.found}), len(self.found))
        moved = mutants.Finder("work.c", "// new\n\n" + SOURCE, mutants.Constants([SOURCE])).run()
        self.assertEqual([m.key for m in moved], [m.key for m in self.found])

    def test_crossing(self):
        drop = next(m for m in self.found if m.kind == "drop" and m.before == "note(\"a\");")
        swaps = [m for m in self.found if m.kind == "order"]
        self.assertEqual(len(swaps), 2)
        self.assertTrue(mutants.crosses(*swaps))
        self.assertFalse(mutants.crosses(drop, swaps[0]))

    def test_draw(self):
        found = {"one": self.found, "two": [m._replace(file="b.c") for m in self.found]}
        some = draw.draw(found, "7", 20)
        self.assertEqual(some[:12], draw.draw(found, "7", 12))
        self.assertNotEqual(some, draw.draw(found, "8", 20))
        self.assertEqual(sum(m.file == "b.c" for m in some), 10)

    def test_listed(self):
        drop = next(m for m in self.found if m.kind == "drop" and m.before == "note(\"a\");")
        swap = next(m for m in self.found if m.kind == "order")
        rows = [m._asdict() for m in (drop, swap)]
        self.assertEqual(set(draw.listed({"one": self.found}, rows)), {drop, swap})
        self.assertEqual(draw.listed({"one": self.found}, [{**rows[0], "after": "other();"}]), [])

    def test_whole_driver(self):
        """Brackets of all files still match with every mutant that can be together."""
        found = draw.find(draw.TOP, ["residency/*.c", "engine/*.c"])
        some = list(enumerate(draw.draw(found, "1", 3000), 1))
        self.assertGreater(len(some), 1000)
        for path in sorted({m.file for _, m in some}):
            text = mutants.write(draw.read(os.path.join(draw.TOP, path)), [(n, m) for n, m in some if m.file == path])
            brackets = [t.text for t in mutants.tokens(text) if t.text in "()[]{}"]
            self.assertEqual(len(mutants.partners(mutants.tokens(text))), len(brackets), path)

    def test_what_does_not_compile(self):
        one, two = self.found[0], next(m for m in self.found if m.function == "work" and m.line > self.found[0].line + 3)
        built = draw.Built([one, two], (), None)
        self.assertEqual(draw.suspects(built, {("work.c", two.line)}), {two.key})
        self.assertEqual(draw.suspects(built, {("work.c", two.line - 1)}), {one.key})
        self.assertEqual(draw.suspects(built, {("work.c", two.last_line + 1)}), {one.key, two.key})
        self.assertEqual(draw.suspects(built, {("other.c", one.line)}), set())
        log = "../drivers/gpu/drm/pagoda/drivers/vgpu/ring.c:12:3: error: x\nlinux/minmax.h:1:2: error: y\n" \
            "../drivers/gpu/drm/pagoda/drivers/vgpu/vram.c:7:1: note: in expansion of macro 'min'\n"
        self.assertEqual(draw.PLACE.findall(log), [("drivers/vgpu/ring.c", "12", "error"),
                                                   ("drivers/vgpu/vram.c", "7", "note: in expansion")])


class Kernels(unittest.TestCase):
    """What a kernel prints, and what is made of it."""

    def outcome(self, script):
        machine = subprocess.Popen(["bash", "-c", script], stdout=subprocess.PIPE)
        try:
            return kernel.Follow(machine, {}, lambda line: None).run()
        finally:
            machine.kill()
            machine.wait()
            machine.stdout.close()

    def printed(self, *lines, after=""):
        return self.outcome("cat <<'END'\n" + "\n".join(lines) + "\nEND\n" + after)

    def test_passes(self):
        done = self.printed("WARNING: of the boot", "pagoda-case: pagoda_a.one", "    ok 1 one", "pagoda-case: pagoda_a.two",
                            "    ok 2 two", "ok 1 pagoda_a", kernel.END)
        self.assertEqual((done.case, done.why, done.passed), (None, None, ["pagoda_a.one", "pagoda_a.two"]))

    def test_fails(self):
        done = self.printed("pagoda-case: pagoda_a.one", "pagoda-case: pagoda_a.two", "        not ok 3 gpu_virtual",
                            "pagoda-case: pagoda_a.three", kernel.END)
        self.assertEqual((done.case, done.why, done.passed), ("pagoda_a.two", "fails", ["pagoda_a.one"]))

    def test_complains(self):
        done = self.printed("pagoda-case: pagoda_a.one", "WARNING: CPU: 0", "    ok 1 one", kernel.END)
        self.assertEqual((done.case, done.why), ("pagoda_a.one", "WARNING"))

    def test_dies(self):
        self.assertEqual(self.printed("pagoda-case: pagoda_a.one").why, "dies")
        self.assertEqual(self.printed("starting").case, "boot")

    def test_hangs(self):
        asleep, kernel.ASLEEP = kernel.ASLEEP, 1
        try:
            done = self.printed("pagoda-case: pagoda_a.one", after="exec sleep 30\n")
        finally:
            kernel.ASLEEP = asleep
        self.assertEqual((done.case, done.why), ("pagoda_a.one", "hangs"))

    def test_works(self):
        """A case that computes for longer than it may sleep isn't hung."""
        asleep, kernel.ASLEEP = kernel.ASLEEP, 1
        try:
            done = self.printed("pagoda-case: pagoda_a.one", after="while ((SECONDS < 4)); do :; done\n")
        finally:
            kernel.ASLEEP = asleep
        self.assertEqual(done.why, "dies")

    def test_chosen_cases(self):
        self.assertEqual(kernel.hexadecimal([0, 2, 7]), "58")


class FakeMachine:
    """Cases that fail with a mutant, and how often. ran: the names of what ran, a list for each kernel."""

    def __init__(self, cases, fails):
        self.cases, self.fails, self.ran, self.why = cases, dict(fails), [], "hangs"

    def run(self, _, numbers, usual, watch=None):
        names = [self.cases[n] for n in sorted(numbers)]
        self.ran.append(names)
        for n, name in enumerate(names):
            if self.fails.get(name):
                self.fails[name] -= 1
                return kernel.Outcome(name, self.why if name.endswith("hang") else "fails", names[:n], 1.0)
        return kernel.Outcome(None, None, names, 1.0)


class Baseline:
    """Case four is slow, five never reaches the mutant."""

    cases = ["pagoda_far.one", "pagoda_far.hang", "pagoda_near.three", "pagoda_near.four", "pagoda_far.five"]
    seconds = dict(zip(cases, (1, 2, 0.1, 9, 0.1)))
    reached = {"1": ["boot"] + cases[:4]}
    unsteady = []


class Judging(unittest.TestCase):
    def judge(self, why="hangs", **fails):
        cases = {case.split(".")[1]: case for case in Baseline.cases}
        machine = FakeMachine(Baseline.cases, {cases[name]: times for name, times in fails.items()})
        machine.why = why
        mutate.ROWS, rows = os.devnull, mutate.ROWS
        try:
            judge = mutate.Judge(machine, Baseline)
        finally:
            mutate.ROWS = rows
        judge.folders = {"pagoda_near": "vm", "pagoda_far": "bo"}
        mutant = mutants.Mutant("drivers/pagoda/vidmm/vm/vm.c", 1, 1, "f", "drop", 0, 1, "", "", "", "", "k")
        trial, verdict = judge.begin(1, mutant), None
        while not verdict:
            verdict = judge.go_on(trial)
        return verdict, machine.ran

    def test_survives(self):
        verdict, ran = self.judge()
        self.assertEqual(verdict, "survived")
        self.assertEqual(ran, [["pagoda_near.three"], ["pagoda_far.one"], ["pagoda_near.four"], ["pagoda_far.hang"]])

    def test_first_failure_ends_it(self):
        verdict, ran = self.judge(one=9, hang=9)
        self.assertEqual(verdict, "killed by pagoda_far.one")
        self.assertEqual(ran, [["pagoda_near.three"], ["pagoda_far.one"], ["pagoda_far.one"]])

    def test_hang_needs_no_second_look(self):
        verdict, ran = self.judge(hang=1)
        self.assertEqual(verdict, "killed by pagoda_far.hang (hangs)")
        self.assertEqual(len(ran), 4)

    def test_complaint_about_time_needs_one(self):
        self.assertEqual(self.judge(hang=1, why="WARNING")[0], "killed by pagoda_far.hang (WARNING)")
        self.assertEqual(self.judge(hang=1, why="rcu: stall")[0], "killed by pagoda_far.hang (not every time)")

    def test_once(self):
        verdict, ran = self.judge(three=1)
        self.assertEqual(verdict, "killed by pagoda_near.three (not every time)")
        self.assertEqual(ran[:3], [["pagoda_near.three"], ["pagoda_near.three"], ["pagoda_far.one"]])
        self.assertEqual(self.judge(three=1, four=2)[0], "killed by pagoda_near.four")

    def test_not_reached(self):
        Baseline.reached, reached = {}, Baseline.reached
        try:
            self.assertEqual(self.judge(three=1), ("survived: no case reaches it", []))
        finally:
            Baseline.reached = reached


if __name__ == "__main__":
    load = unittest.defaultTestLoader.loadTestsFromTestCase
    suite = unittest.TestSuite((load(Mutants), load(Kernels), load(Judging)))
    done = unittest.TestResult()
    suite.run(done)
    for test, trace in done.failures + done.errors:
        print(f"{test}:\n{trace}")
    sys.exit(not done.wasSuccessful())
