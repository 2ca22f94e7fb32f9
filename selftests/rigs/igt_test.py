#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests igt.py with logs as igt-gpu-tools writes them. Prints nothing if all is well."""
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import igt  # noqa: E402
from igt import Row  # noqa: E402

LOG = """IGT-Version: 2.5-debian (x86_64) (Linux: 6.12.1 x86_64)
Opened device: /dev/dri/card0
Starting subtest: good
Subtest good: SUCCESS (0.010s)
Starting subtest: lacks
Test requirement not met in function lacks, file ../a.c:1:
Test requirement: has_it(fd)
Last errno: 2, No such file or directory
Subtest lacks: SKIP (0.000s)
Starting subtest: bad
(t:1) CRITICAL: Test assertion failure function bad, file ../a.c:2:
(t:1) CRITICAL: Failed assertion: a == b
Subtest bad failed.
Failed assertion: a == b
Failed assertion: another
Subtest bad: FAIL (0.001s)
"""
FIXTURE = """Test requirement not met in function setup, file ../a.c:1:
Test requirement: is_pci
Subtest one: SKIP
Subtest two: SKIP
"""


class Igt(unittest.TestCase):
    def rows(self, log, status):
        return [row[1:] for row in igt.rows_of("t", log.splitlines(), status)]

    def test_subtests(self):
        self.assertEqual(self.rows(LOG, 98), [("good", "pass", ""), ("lacks", "skip", "has_it(fd)"), ("bad", "fail", "a == b")])

    def test_a_skip_in_other_words(self):
        log = "Starting subtest: one\nno attribute\nOpened device: /dev/dri/card0\nSubtest one: SKIP (0.000s)\n"
        self.assertEqual(self.rows(log, 77), [("one", "skip", "no attribute")])

    def test_a_fixture_skips_all(self):
        self.assertEqual(self.rows(FIXTURE, 77), [("one", "skip", "is_pci"), ("two", "skip", "is_pci")])

    def test_a_reason_is_of_one_subtest(self):
        log = LOG[:LOG.index("Starting subtest: bad")] + "Starting subtest: last\nSubtest last: SKIP (0.000s)\n"
        self.assertEqual(self.rows(log, 0)[-1], ("last", "skip", ""))

    def test_programs_without_subtests(self):
        self.assertEqual(self.rows("SUCCESS (0.011s)\n", 0), [("-", "pass", "")])
        self.assertEqual(self.rows("Test requirement: root\nSKIP (0.000s)\n", 77), [("-", "skip", "root")])

    def test_programs_that_end_early(self):
        self.assertEqual(self.rows("Starting subtest: one\n", 139), [("one", "fail", "ended the program, status 139")])
        self.assertEqual(self.rows("", 127), [("-", "fail", "status 127")])
        self.assertEqual(self.rows("Subtest one: SUCCESS (0.000s)\n", 1)[-1], ("-", "fail", "status 1"))

    def test_the_last_try_counts(self):
        again = "Starting subtest: bad\nSubtest bad: SUCCESS (0.001s)\n"
        self.assertEqual(self.rows(LOG + again, 98), [("good", "pass", ""), ("lacks", "skip", "has_it(fd)"), ("bad", "pass", igt.AGAIN)])

    def test_gputop(self):
        busy = ["DRM minor 128", "   12 64M |\u2588\u2588  | soak "]
        self.assertEqual(igt.gputop_rows(busy, 0)[0].result, "pass")
        self.assertEqual(igt.gputop_rows(busy, 1)[0].reason, "status 1")
        self.assertEqual(igt.gputop_rows(busy[1:], 0)[0].reason, "no GPU")
        self.assertEqual(igt.gputop_rows(["DRM minor 128", "   12 64M |    | soak "], 0)[0].reason, "no client with a busy engine")

    def objections(self, expected, got, same=True):
        return [wrong for _, wrong, _ in igt.verdicts(expected, got, same) if wrong]

    def test_what_differs_is_told(self):
        a, b, c = Row("t", "a", "pass", ""), Row("t", "b", "skip", "x"), Row("t", "c", "pass", "")
        self.assertEqual(self.objections([a, b], [a, b]), [])
        self.assertEqual(self.objections([a, b], [a._replace(reason=igt.AGAIN), b]), [])
        self.assertEqual(self.objections([a, b], [a._replace(result="skip", reason="y"), b]),
                         ["pass is expected, not skip: y"])
        self.assertEqual(self.objections([a, b], [a, b._replace(reason="y")]), ["skips because of y, not of x"])
        self.assertEqual(self.objections([a, b], [a, b._replace(result="pass", reason="")]), ["skip is expected, not pass"])
        self.assertEqual(self.objections([a, b], [a]), ["is gone"])
        self.assertEqual(self.objections([a], [a, c]), ["isn't expected: pass"])

    def test_another_version(self):
        a, b, c = Row("t", "a", "pass", ""), Row("t", "b", "skip", "x"), Row("t", "c", "pass", "")
        self.assertEqual(self.objections([a, b], [a, b._replace(reason="y"), c], False), [])
        self.assertEqual(self.objections([a, b], [a], False), [])
        self.assertEqual(self.objections([a], [a, c._replace(result="fail")], False), ["isn't expected: fail"])
        self.assertEqual(self.objections([a], [a._replace(result="fail")], False), ["pass is expected, not fail"])
        # A program that isn't run any more is no other version's.
        self.assertEqual(self.objections([a, Row("u", "a", "pass", "")], [a], False), ["is gone"])

    def test_tap(self):
        a, b = Row("t", "a", "pass", ""), Row("t", "b", "skip", "x")
        self.assertEqual(list(igt.tap(list(igt.verdicts([a, b], [a._replace(result="fail", reason="z"), b], True)))),
                         ["1..2", "# t a: pass is expected, not fail: z", "not ok 1 t a", "ok 2 t b # SKIP x"])

    def test_tables(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "igt.tsv")
            rows = [Row("t", "a", "pass", ""), Row("t", "b", "skip", "x y")]
            igt.write_table(path, "2.5-1", rows)
            self.assertEqual(igt.read_table(path), ("2.5-1", rows))


if __name__ == "__main__":
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(Igt)
    done = unittest.TestResult()
    suite.run(done)
    for test, trace in done.failures + done.errors:
        print(f"{test}:\n{trace}")
    sys.exit(not done.wasSuccessful())
