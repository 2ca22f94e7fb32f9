#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests layers.py: each rule is broken and has to be seen. Prints nothing if all is well."""
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import layers  # noqa: E402

KBUILD = "rooms := low mid \\\n\thigh\n"
SOURCES = {
    "low/low.h": "int pagoda_low(void);\n",
    "low/internal.h": "int pagoda_low_part(void);\n",
    "low/low.c": '#include "internal.h"\n#include "low.h"\nint pagoda_low(void)\n{\n\treturn pagoda_low_part();\n}\n',
    "low/part.c": '#include "internal.h"\nint pagoda_low_part(void)\n{\n\treturn 1;\n}\n',
    "mid/mid.h": "int pagoda_mid(void);\n",
    "mid/mid.c": '#include "low/low.h"\n#include "mid.h"\nint pagoda_mid(void)\n{\n\treturn pagoda_low();\n}\n',
    "high/high.c": '#include "mid/mid.h"\nint pagoda_high(void);\nint pagoda_high(void)\n{\n\treturn pagoda_mid();\n}\n',
}


class Layers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = folder.name
        self.write("Kbuild", KBUILD)
        for path, text in SOURCES.items():
            self.write(os.path.join(layers.DRIVER, path), text)

    def write(self, path, text):
        path = os.path.join(self.top, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)

    def change(self, path, old, new):
        path = os.path.join(layers.DRIVER, path)
        with open(os.path.join(self.top, path)) as f:
            text = f.read()
        self.assertIn(old, text)
        self.write(path, text.replace(old, new))

    def objections(self, skip=()):
        driver = layers.Driver(self.top)
        for path in driver.sources("c"):
            source = os.path.join(self.top, layers.DRIVER, path)
            if path not in skip:
                subprocess.run(["cc", "-I" + os.path.join(self.top, layers.DRIVER), "-c", source, "-o", source[:-2] + ".o"],
                               check=True)
        layers.check_all(driver, self.top)
        return [objection.removeprefix(layers.DRIVER + "/") for objection in driver.objections]

    def test_nothing_is_wrong(self):
        self.assertEqual(self.objections(), [])

    def test_include_up(self):
        self.change("low/low.c", '#include "low.h"', '#include "low.h"\n#include "mid/mid.h"')
        self.assertEqual(self.objections(), ["low/low.c: includes mid/mid.h, which is above low"])

    def test_include_of_another_rooms_own(self):
        self.change("mid/mid.c", "low/low.h", "low/internal.h")
        self.change("mid/mid.c", "pagoda_low()", "pagoda_low_part()")
        self.assertEqual(self.objections(), ["mid/mid.c: includes low/internal.h, which is another room's own"])

    def test_call_up(self):
        self.change("mid/mid.c", "int pagoda_mid(", "int pagoda_high(void);\nint pagoda_mid(")
        self.change("mid/mid.c", "pagoda_low()", "pagoda_high()")
        self.assertEqual(self.objections(), ["mid/mid.c: uses pagoda_high of high/high.c, which is above mid"])

    def test_circle(self):
        self.change("low/part.c", "return 1", "return pagoda_low()")
        self.change("low/part.c", '"internal.h"', '"internal.h"\n#include "low.h"')
        self.assertEqual(self.objections(), ["low/low.c: is in a circle with low/part.c"])

    def test_name_used_twice(self):
        half = "static int half(int (*way)(int), int n)\n{\n\treturn way(n);\n}\nint %s(void);\nint %s(void)\n{\n\treturn half(0, 0);\n}\n"
        for path in "mid/half.c", "low/half.c":
            name = "pagoda_half_" + path[:3]
            self.write(os.path.join(layers.DRIVER, path), half % (name, name))
        self.assertEqual(self.objections(), ["low/half.c: half is also in mid/half.c"])

    def test_prefix_of_a_static(self):
        self.change("low/part.c", "int pagoda_low_part", "static int pagoda_one(void)\n{\n\treturn 1;\n}\n\nint pagoda_low_part")
        self.change("low/part.c", "return 1;\n}\n\nint", "return 1;\n}\n\nint")
        self.assertEqual(self.objections(), ["low/part.c: pagoda_one is static and has the prefix of names that others use"])

    def test_file_that_isnt_built(self):
        self.assertEqual(self.objections(skip=["high/high.c"]), ["high/high.c: was not built"])


if __name__ == "__main__":
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(Layers)
    done = unittest.TestResult()
    suite.run(done)
    for test, trace in done.failures + done.errors:
        print(f"{test}:\n{trace}")
    sys.exit(not done.wasSuccessful())
