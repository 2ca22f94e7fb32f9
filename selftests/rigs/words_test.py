#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests words.py: each rule is broken and has to be seen. Prints nothing if all is well."""
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import report  # noqa: E402
import words  # noqa: E402

DRIVER = """/* Kept until it is idle (C1, C2). */
static const char *text = "/* C77: who? */";	// C3
int c11 = 0xC12; /* C11E and 0xC13 are no points */
"""
KUNIT = """static void walks(struct kunit *test)
{
	PAGODA_PROVES(C1,
		      C2);
}
"""
TABLE = (words.HEADER,
         ("C1", "A.", "There", "kunit", report.PROVEN, "-"),
         ("C2", "B.", "There", "both", report.PROVEN, "Not all of it."),
         ("C3", "C.", "There", "-", report.OPEN, "Nothing is there."))


class Words(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        report.TOP = folder.name
        self.write("drivers/pagoda/bo.c", DRIVER)
        self.write("kunit/walk_test.c", KUNIT)
        self.write("selftests/walk_test.c", "TEST(walks)\n{\n\tPAGODA_PROVES(C2);\n}\n")
        self.table(*TABLE)

    def write(self, path, text):
        path = os.path.join(report.TOP, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)

    def table(self, *rows):
        self.write("selftests/points.tsv", "".join("\t".join(row) + "\n" for row in rows))

    def expect(self, rule, *objections):
        self.assertEqual(list(rule()), list(objections))

    def test_nothing_is_wrong(self):
        self.expect(words.points)
        self.expect(words.language)

    def test_points_without_a_row(self):
        self.write("include/a.h", "/*\n * See C4.\n */\nint a; // C9\n")
        self.write("kunit/b_test.c", "static void b(struct kunit *test)\n{\n\tPAGODA_PROVES(C1,\n\t\t\tC5);\n}\n")
        self.write("selftests/rigs/c.sh", "echo # C6 - C1\n")
        self.write("selftests/d.md", "what C7 says\n")
        self.write("README.md", "C1 - C8\n")
        lacks = "has no row in selftests/points.tsv"
        self.expect(words.points, f"README.md:1: C8 {lacks}", f"include/a.h:2: C4 {lacks}",
                    f"include/a.h:4: C9 {lacks}", f"kunit/b_test.c:4: C5 {lacks}", f"selftests/rigs/c.sh:1: C6 {lacks}",
                    f"selftests/d.md:1: C7 {lacks}")

    def test_rows(self):
        header, one, two, three = TABLE
        fields = "6 fields, none of them empty, are wanted"
        for at, row, objection in (
                (1, one[:5], fields), (1, one + ("more",), fields), (1, one[:1] + ("",) + one[2:], fields),
                (2, ("C3",) + two[1:], "C2 is wanted here"), (2, ("c2",) + two[1:], "C2 is wanted here"),
                (1, one[:4] + ("prooven", "-"), "the state is none of proven, different by design, open"),
                (3, three[:5] + ("-",), "a note has to say why it isn't proven"),
                (1, one[:3] + ("both",) + one[4:], "by PAGODA_PROVES the test is kunit"),
                (2, two[:3] + ("fuzz",) + two[4:], "by PAGODA_PROVES the test is both"),
                (3, three[:4] + (report.PROVEN, "-"), "is proven, but by nothing")):
            rows = list(TABLE)
            rows[at] = row
            self.table(*rows)
            with self.subTest(row):
                self.assertIn(f"selftests/points.tsv:{at + 1}: {row[0]}: {objection}", list(words.points()))
        self.table(header, one, two, three[:3] + ("fuzz", report.PROVEN, "-"))
        self.expect(words.points)
        # A row that is missing is said once.
        self.table(header, two, three)
        self.expect(words.points, "selftests/points.tsv:2: C2: C1 is wanted here",
                    *(f"{path}: C1 has no row in selftests/points.tsv" for path in (
                        "drivers/pagoda/bo.c:1", "kunit/walk_test.c:3")))
        self.table(one, two, three)
        self.assertIn("selftests/points.tsv:1: the header is wanted: " + " ".join(header), list(words.points()))

    def test_persons(self):
        self.write("drivers/pagoda/bo.c", DRIVER + "/*\n * Whoever comes\n * late, waits.\n */\nint who; /* his */\n")
        self.write("selftests/rigs/c.sh", "# somebody\n")
        self.expect(words.language, "drivers/pagoda/bo.c:5: * Whoever comes", "drivers/pagoda/bo.c:8: /* his */")


if __name__ == "__main__":
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(Words)
    done = unittest.TestResult()
    suite.run(done)
    for test, trace in done.failures + done.errors:
        print(f"{test}:\n{trace}")
    sys.exit(not done.wasSuccessful())
