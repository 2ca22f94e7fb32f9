#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests report.py: what counts as proof of a conformance point, and what is asked of it. Prints nothing if all is well.

Each test writes sources with claims and what a run of them left into a folder of its own; the lines of the sources
that were executed are marked in the results as PAGODA_PROVES marks them.
"""
import contextlib
import io
import os
import sys
import tempfile
import textwrap
import unittest
from unittest import mock

sys.dont_write_bytecode = True
import report  # noqa: E402

KUNIT = """
    static void walks(struct kunit *test)
    {
            PAGODA_PROVES(C1);
            if (rare())
                    PAGODA_PROVES(C2);
            PAGODA_PROVES(C3,
                          C4);
    }
"""
PROGRAM = """
    TEST_F(bound, twice)
    {
            for (n = 0; n < 6; n++) {
                    if (gone(n))
                            continue;
                    PAGODA_PROVES(C5);
            }
    }
"""
HELPER = """
    void helper_expect(struct helper *helper)
    {
            PAGODA_PROVES(C6);
    }
"""


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = report.TOP = folder.name
        report.OUT = os.path.join(self.top, "out")
        self.write("kunit/walk_test.c", KUNIT)
        self.write("kunit/helpers.c", HELPER)
        self.write("selftests/bound_test.c", PROGRAM)
        self.points(**{f"C{n}": report.PROVEN for n in range(1, 11)})

    def write(self, path, text):
        path = os.path.join(self.top, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(textwrap.dedent(text).lstrip("\n"))

    def points(self, **states):
        """Writes points.tsv."""
        rows = [("point", *report.Point._fields)]
        rows += [(point, f"Promise {point}.", "Somewhere", "-", state, f"Note {point}.")
                 for point, state in states.items()]
        self.write("selftests/points.tsv", "".join("\t".join(row) + "\n" for row in rows))

    def judge(self, some=False, **runs):
        """Conformance of runs: TAP by the name of its file, with _ for the point between run and file."""
        taps, leaves = [], []
        for name, text in runs.items():
            run, file = name.split("_", 1)
            self.write(f"out/vm/{run}/{file}.tap", text)
            taps.append(report.Tap(run, os.path.join(report.OUT, "vm", run, file + ".tap")))
            leaves += taps[-1].leaves
        return report.Conformance(leaves, taps, some, report.read_points())

    def expect(self, found, **points):
        for point, status in points.items():
            self.assertEqual(found.status[int(point[1:])], status, point)

    def kunit(self, *lines, verdict="ok"):
        return "\n".join(("KTAP version 1", "1..1", "    KTAP version 1", "    # Subtest: pagoda_walk", "    1..1",
                          *lines, f"    {verdict} 1 walks", f"{verdict} 1 pagoda_walk")) + "\n"

    def test_only_what_was_executed_counts(self):
        found = self.judge(uml_kunit=self.kunit("    # walks: proves C1 at walk_test.c:3",
                                                "    # walks: proves C3, C4 at walk_test.c:7"))
        self.expect(found, C1="pass", C2="missing", C3="pass", C4="pass", C5="missing", C6="missing")
        self.assertEqual([str(claim) for claim in found.unproven],
                         ["kunit/helpers.c:3: C6", "kunit/walk_test.c:5 (walks): C2",
                          "selftests/bound_test.c:6 (twice): C5"])
        self.assertEqual(found.claimed(2), ["walk_test.walks"])
        self.assertEqual((found.tests[1], found.rigs[1]), ({"walk_test.walks"}, {"uml"}))

    def test_a_part_of_the_runs_lists_claims_of_tests_that_ran(self):
        found = self.judge(some=True, uml_kunit=self.kunit("    # walks: proves C1 at walk_test.c:3"))
        self.assertEqual([claim.points for claim in found.unproven], [(2,), (3, 4)])

    def test_one_rig_that_executes_it_is_enough(self):
        found = self.judge(uml_kunit=self.kunit(),
                           debug_kunit=self.kunit("    # walks: proves C2 at walk_test.c:5"))
        self.expect(found, C1="missing", C2="pass")
        self.assertEqual(found.rigs[2], {"debug"})

    def test_failed(self):
        found = self.judge(uml_kunit=self.kunit("    # walks: proves C1 at walk_test.c:3"),
                           debug_kunit=self.kunit("    # walks: proves C1 at walk_test.c:3",
                                                  "    # helper: proves C6 at helpers.c:3", verdict="not ok"))
        # C2 to C4 stand in a test that failed before it came there.
        self.expect(found, C1="fail", C2="fail", C3="fail", C4="fail", C6="fail")
        self.assertEqual({point for claim in found.unproven for point in claim.points}, {2, 3, 4, 5, 6})

    def test_failed_in_one_rig(self):
        mark = "    # helper: proves C6 at helpers.c:3"
        self.expect(self.judge(uml_kunit=self.kunit(mark, verdict="not ok"), debug_kunit=self.kunit(mark)), C6="fail")

    def test_skipped(self):
        found = self.judge(uml_kunit=self.kunit("    # walks: proves C1 at walk_test.c:3").replace(
            "ok 1 walks", "ok 1 walks # SKIP no walks here"))
        self.expect(found, C1="missing")

    def test_without_result(self):
        found = self.judge(uml_kunit=self.kunit("    # walks: proves C1 at walk_test.c:3").split("    ok")[0])
        self.expect(found, C1="missing")

    def test_parameters_are_judged_each(self):
        def lines(third):
            return ("    KTAP version 1", "        # Subtest: walks",
                    "    # walks: proves C1 at walk_test.c:3", "        ok 1 two levels",
                    "        ok 2 three levels", "    # walks: proves C6 at helpers.c:3", f"        {third}")

        self.expect(self.judge(uml_kunit=self.kunit(*lines("ok 3 four levels # SKIP none"))), C1="pass", C6="missing")
        self.expect(self.judge(uml_kunit=self.kunit(*lines("ok 3 four levels"))), C1="pass", C6="pass")
        self.expect(self.judge(uml_kunit=self.kunit(*lines("not ok 3 four levels"), verdict="not ok")),
                    C1="fail", C2="fail", C6="fail")

    def test_behind_all_parameters(self):
        found = self.judge(uml_kunit=self.kunit("        # Subtest: walks", "        ok 1 two levels",
                                                "    # walks: proves C1 at walk_test.c:3"))
        self.expect(found, C1="missing")
        self.assertEqual(found.stray, ["uml: kunit: walk_test.c:3 outside a test"])

    def test_on_the_console(self):
        found = self.judge(uml_kunit=self.kunit("[    4.100000][   T77]     # walks: proves C1 at walk_test.c:3"))
        self.expect(found, C1="pass")

    def test_in_a_program(self):
        def tap(mark, first="ok", second="ok"):
            return "\n".join(("TAP version 13", "1..2", "#  RUN           bound.twice ...", mark,
                              "#            OK  bound.twice", f"{first} 1 bound.twice",
                              "#  RUN           bound.once ...", f"{second} 2 bound.once")) + "\n"

        mark = "# proves C5 at bound_test.c:6"
        found = self.judge(stock_bound_test=tap(mark, second="not ok"))
        self.expect(found, C5="pass")
        self.assertNotIn((5,), [claim.points for claim in found.unproven])
        self.expect(self.judge(stock_bound_test=tap(mark, first="not ok")), C5="fail")
        self.expect(self.judge(stock_bound32_test=tap("#", first="not ok"), new_bound_test=tap(mark)), C5="fail")
        # What continue, or a loop that wasn't entered, went past.
        self.expect(self.judge(stock_bound_test=tap("#")), C5="missing")

    def test_of_the_same_name_in_a_program(self):
        self.write("selftests/walk_test.c", "TEST(walks)\n{\n        PAGODA_PROVES(C9);\n}\n")
        mark = "    # walks: proves C1 at walk_test.c:3"
        found = self.judge(some=True, uml_kunit=self.kunit(mark, verdict="not ok"), debug_kunit=self.kunit(mark))
        self.expect(found, C1="fail", C9="missing")
        self.assertNotIn((9,), [claim.points for claim in found.unproven])

    def test_of_a_script(self):
        found = self.judge(fuzz_fuzz="1..1\n# proves C7: ok\n# proves C8: not ok, 3 differ\nok 1 fuzz\n")
        self.expect(found, C7="pass", C8="fail")

    def fails(self, found):
        return [(leaf.path[0], leaf.text[0]) for leaf in report.required_failures(found)]

    def test_required(self):
        self.points(C1=report.PROVEN, C2=report.PROVEN, C9=report.PROVEN, C10=report.BY_DESIGN, C11="prooven")
        found = self.judge(uml_kunit=self.kunit("    # walks: proves C1 at walk_test.c:3"))
        self.assertEqual(self.fails(found),
                         [("C2", "missing: claimed by walk_test.walks, but by nothing that passed"),
                          ("C9", "missing: no test claims it"),
                          # A state that is none asks for as much as can be asked for.
                          ("C11", "missing: no test claims it")])

    def test_required_and_failed(self):
        self.points(C7=report.PROVEN, C8=report.BY_DESIGN, C9=report.OPEN)
        found = self.judge(fuzz_fuzz="1..1\n# proves C7, C8, C9: not ok\nok 1 fuzz\n")
        self.assertEqual(self.fails(found), [("C7", "fail: fuzz.fuzz"), ("C8", "fail: fuzz.fuzz")])

    def test_different_by_design_and_proven(self):
        self.points(C7=report.BY_DESIGN)
        found = self.judge(fuzz_fuzz="1..1\n# proves C7: ok\nok 1 fuzz\n")
        self.assertEqual(self.fails(found), [("C7", "passes, but is different by design: change its state in "
                                              "selftests/points.tsv")])

    def test_without_a_row(self):
        self.points(C7=report.PROVEN)
        found = self.judge(fuzz_fuzz="1..1\n# proves C7, C8: ok\nok 1 fuzz\n")
        self.assertEqual(self.fails(found), [("C8", "is claimed, but has no row in selftests/points.tsv")])

    def run_all(self, *options):
        """Exit status and output of a run of the fuzzer that claims C7 and C8."""
        self.write("out/vm/fuzz/fuzz.tap", "1..1\n# proves C7, C8: ok\nok 1 fuzz\n")
        out = io.StringIO()
        with mock.patch.object(sys, "argv", ["report.py", *options, "fuzz"]), contextlib.redirect_stdout(out):
            status = report.main()
        return status, out.getvalue().split("\n")

    def test_all_of_it(self):
        self.points(C7=report.PROVEN, C8=report.OPEN, C9=report.BY_DESIGN, C10=report.OPEN)
        status, out = self.run_all()
        self.assertEqual(status, 0)
        self.assertIn("open, but passes: C8: fuzz.fuzz", out)
        self.assertIn("waived: C9: Note C9.", out)
        self.assertIn("conformance: 2 pass, 0 fail, 2 missing of 4; 1 of the 2 required now, 1 waived "
                      "(out/conformance.tsv)", out)
        with open(os.path.join(report.OUT, "conformance.tsv")) as f:
            self.assertEqual(f.read().split("\n"), [
                "point\tstatus\tpromise\trigs\ttests\treason",
                "C7\tpass\tPromise C7.\tfuzz\tfuzz.fuzz\t-",
                "C8\tpass\tPromise C8.\tfuzz\tfuzz.fuzz\tNote C8.",
                "C9\twaived\tPromise C9.\t-\t-\tNote C9.",
                "C10\topen\tPromise C10.\t-\t-\tNote C10.", ""])

    def test_a_proven_point_that_nothing_proves(self):
        self.points(C7=report.PROVEN, C8=report.PROVEN, C9=report.PROVEN)
        status, out = self.run_all()
        self.assertEqual(status, 1)
        self.assertIn("FAILED conformance: required: C9 (missing: no test claims it)", out)
        self.assertEqual(self.run_all("--some")[0], 0)


if __name__ == "__main__":
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(Report)
    done = unittest.TestResult()
    suite.run(done)
    for test, trace in done.failures + done.errors:
        print(f"{test}:\n{trace}")
    sys.exit(not done.wasSuccessful())
