#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests coverage.py, with a program that gcc counts. Prints nothing if all is well."""
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.dont_write_bytecode = True
import coverage  # noqa: E402

PROGRAM = """static int taken(int n)
{
	if (n > 5)
		return 1;
	return 0;
}

int main(int argc, char **argv)
{
	return taken(argc);
}
"""
FILE = "drivers/pagoda/mmu/walk.c"


def document(path, counts, folder="/build"):
    return {"current_working_directory": folder, "files": [{"file": path, "lines": [
        {"line_number": n, "count": count, "function_name": "walk"} for n, count in counts.items()]}]}


def lines(path, counts):
    found = coverage.Lines()
    found.add(document("/tree/" + path, counts))
    return found


class Places(unittest.TestCase):
    def place(self, path, folder="/build"):
        found = coverage.Lines()
        found.add(document(path, {1: 1}, folder))
        return list(found.executed)

    def test_ours_in_a_tree_and_outside(self):
        for path in ("/tree/drivers/gpu/drm/pagoda/drivers/pagoda/mmu/walk.c", "/stage/drivers/pagoda/mmu/walk.c",
                     "../tree/drivers/gpu/drm/pagoda/kunit/../drivers/pagoda/mmu/walk.c"):
            self.assertEqual(self.place(path), [FILE])

    def test_below_us(self):
        self.assertEqual(self.place("drivers/gpu/drm/ttm/ttm_bo.c"), ["ttm/ttm_bo.c"])
        self.assertEqual(self.place("../drivers/gpu/drm/drm_exec.c", "/tree/build"), ["drm_exec.c"])

    def test_others(self):
        for path in ("drivers/gpu/drm/ttm/tests/ttm_bo_test.c", "drivers/gpu/drm/drm_gem.c", "include/linux/list.h",
                     "drivers/gpu/drm/pagoda/kunit/mmu/mmu_test.c", "/stage/drivers/pagoda/core/trace.h"):
            self.assertEqual(self.place(path), [])


class Sums(unittest.TestCase):
    def test_a_line_is_executed_if_one_copy_was(self):
        found = lines(FILE, {1: 0, 2: 3, 3: 0})
        found.add(document("/stage/" + FILE, {1: 7, 2: 0, 4: 0}))
        self.assertEqual(found.executed[FILE], {1: True, 2: True, 3: False, 4: False})

    def test_runs_are_merged(self):
        every = coverage.Lines(lines(FILE, {1: 0, 2: 1}), lines(FILE, {1: 1, 3: 0}))
        self.assertEqual(every.count(FILE), (3, 2))

    def test_rows(self):
        kunit, own = lines(FILE, {1: 0, 2: 1}), lines("drivers/gpu/drm/ttm/ttm_bo.c", {1: 0, 2: 0, 3: 1})
        every = coverage.Lines(kunit, lines(FILE, {3: 1, 4: 1}), lines("drivers/gpu/drm/ttm/ttm_bo.c", {1: 1, 2: 0}))
        self.assertEqual(list(coverage.rows(every, kunit, own)),
                         [(FILE, "4", "75.0", "50.0", "-"), ("ttm/ttm_bo.c", "2", "50.0", "-", "33.3")])

    def test_missing_ranges(self):
        found = lines(FILE, {1: 0, 4: 0, 6: 1, 7: 0, 9: 1, 12: 0})
        self.assertEqual(list(coverage.missing(found)), [f"{FILE}:{span}: walk" for span in ("1-4", "7-7", "12-12")])

    def test_summary(self):
        every = coverage.Lines(lines(FILE, {1: 0, 2: 1}), lines("drivers/pagoda/mmu/top.c", {1: 1, 2: 1}),
                               lines("drivers/gpu/drm/drm_exec.c", {1: 1}))
        text = "\n".join(coverage.summary(every, coverage.Lines(), every))
        self.assertIn("| `pagoda/mmu/` | 4 | 75.0 |\n| all | 4 | 75.0 |", text)
        self.assertIn("| `drm_exec.c` | 1 | 100.0 | - | 100.0 |", text)


class Objections(unittest.TestCase):
    def objections(self, executed, reasons=(), sources=()):
        found = lines(FILE, {n: n <= executed for n in range(1, 101)})
        return list(coverage.objections(found, dict.fromkeys(reasons, "A reason."), sources))

    def test_enough(self):
        self.assertEqual(self.objections(92, sources=[FILE]), [])

    def test_too_little(self):
        self.assertEqual(self.objections(91), ["tests execute 91.0 % of our lines, 92 are wanted"])

    def test_a_file_without_a_reason(self):
        self.assertEqual(self.objections(84)[1:],
                         [f"{FILE}: 84.0 % of its lines are executed, and no reason says why"])
        self.assertEqual(self.objections(84, [FILE])[1:], [])

    def test_a_file_that_is_not_compiled(self):
        bench = "drivers/pagoda/bench/lib.c"
        self.assertEqual(self.objections(95, sources=[bench]),
                         [f"{bench}: no line of it is counted, and no reason says why"])
        self.assertEqual(self.objections(95, [bench], [bench]), [])

    def test_reasons_out_of_date(self):
        self.assertEqual(self.objections(95, [FILE, "drivers/pagoda/gone.c"]),
                         [f"{FILE}: 95.0 % of its lines are executed, its reason is out of date",
                          "drivers/pagoda/gone.c: has a reason, and is gone"])

    def test_every_row_has_a_file_and_a_reason(self):
        for path, reason in coverage.read_reasons(coverage.REASONS).items():
            self.assertTrue(os.path.exists(os.path.join(coverage.TOP, path)), path)
            self.assertTrue(reason.strip(), path)


class Counters(unittest.TestCase):
    """gcc and gcov themselves."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = os.path.join(os.path.realpath(folder.name), ".cache")
        self.source = os.path.join(self.top, FILE)
        os.makedirs(os.path.dirname(self.source))
        self.build()
        subprocess.run((os.path.join(self.top, "program"),), check=True)
        counters = os.path.join(self.top, "walk.gcda")
        with tarfile.open(os.path.join(self.top, "gcov.tar.gz"), "w:gz") as tar:
            tar.add(counters)
        os.unlink(counters)

    def build(self, text=PROGRAM):
        with open(self.source, "w") as f:
            f.write(text)
        for command in (("gcc", "--coverage", "-c", "-o", "walk.o", FILE),
                        ("gcc", "--coverage", "-o", "program", "walk.o")):
            subprocess.run(command, cwd=self.top, check=True)

    def test_lines(self):
        found = coverage.read_run(self.top)
        self.assertEqual({n for n, executed in found.executed[FILE].items() if not executed}, {4})
        self.assertEqual(found.count(FILE), (6, 5))
        self.assertEqual(found.functions[FILE, 4], "taken")

    def test_built_again_since(self):
        self.build(PROGRAM.replace("return 0;", "return n ? 0 : 2;"))
        with self.assertRaisesRegex(SystemExit, "doesn't fit"):
            coverage.read_run(self.top)

    def test_notes_are_gone(self):
        os.unlink(os.path.join(self.top, "walk.gcno"))
        with self.assertRaisesRegex(SystemExit, "doesn't fit"):
            coverage.read_run(self.top)

    def test_nothing_was_counted(self):
        with tarfile.open(os.path.join(self.top, "gcov.tar.gz"), "w:gz") as tar:
            tar.add(self.source)
        with self.assertRaisesRegex(SystemExit, "no counters"):
            coverage.read_run(self.top)


if __name__ == "__main__":
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    done = unittest.TestResult()
    suite.run(done)
    for test, trace in done.failures + done.errors:
        print(f"{test}:\n{trace}")
    sys.exit(not done.wasSuccessful())
