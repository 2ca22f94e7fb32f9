# SPDX-License-Identifier: GPL-2.0
"""Runs test cases in a User-Mode Linux kernel with mutants, one processor, and sees the first that fails.

A kernel is ended as soon as a case fails or the kernel complains, or when nothing happens any more: the case sleeps for
much longer, or computes for very much longer, than it did without a mutant. That the host is busy isn't taken for that:
a process that waits for a processor doesn't sleep.
"""
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import vm  # noqa: E402

CASE = re.compile(r"pagoda-case: (\S+)")
REACHED = re.compile(r"pagoda-reached: (\S+)((?: \d+-\d+)+)")
FAILED = re.compile(r"^\s*not ok \d+ ")
LISTED = re.compile(r"^(pagoda\w*\.\w+)$")
END = "reboot: System halted"
# Seconds: asleep, and at work, without a line; and how many times what a case took without a mutant.
ASLEEP, AT_WORK, TIMES = 15, 60, 4


class Outcome(NamedTuple):
    """case: that which failed, or None; why: how; passed: cases that ended before."""
    case: str
    why: str
    passed: list
    seconds: float


def hexadecimal(numbers):
    """Which bits are set, four in a digit, the lowest digit first."""
    digits = [0] * (max(numbers) // 4 + 1)
    for n in numbers:
        digits[n // 4] |= 1 << n % 4
    return "".join(f"{d:x}" for d in digits)


class Kernel:
    def __init__(self, folder):
        self.folder = folder
        self.sockets = tempfile.mkdtemp(prefix="mutate.")

    def close(self):
        shutil.rmtree(self.sockets, ignore_errors=True)

    def start(self, *args):
        return subprocess.Popen(
            [os.path.join(self.folder, "linux"), "mem=1500M", "ncpus=1", "seccomp=on", "kunit.filter_glob=pagoda*",
             "kunit_shutdown=halt", "panic=-1", f"uml_dir={self.sockets}/", *args],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)

    def cases(self):
        """Names of all cases in the order of their numbers."""
        machine = self.start("kunit.action=list")
        text = machine.communicate()[0].decode(errors="replace")
        return [m[1] for m in map(LISTED.match, text.split("\n")) if m]

    def run(self, mutant, numbers, usual, watch=lambda line: None):
        """Runs cases with a mutant. usual: seconds of a case by name; watch: is called with each line."""
        machine = self.start(f"pagoda_mutant={mutant}", f"pagoda_cases={hexadecimal(numbers)}")
        try:
            return Follow(machine, usual, watch).run()
        finally:
            # The kernel may be several processes.
            try:
                os.killpg(machine.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            machine.stdout.close()
            machine.wait()


class Follow:
    """Reads what one kernel prints."""

    def __init__(self, machine, usual, watch):
        self.machine, self.usual, self.watch = machine, usual, watch
        self.case, self.passed, self.ended = "boot", [], False
        self.start = self.line = self.awake = time.monotonic()

    def run(self):
        why, partial = None, ""
        while not why:
            ready, _, _ = select.select([self.machine.stdout], [], [], 0.5)
            if not ready:
                why = self.hangs()
                continue
            data = os.read(self.machine.stdout.fileno(), 65536)
            if not data:
                why = None if self.ended else "dies"
                break
            self.line = self.awake = time.monotonic()
            *lines, partial = (partial + data.decode(errors="replace")).split("\n")
            why = next(filter(None, map(self.look, lines)), None)
        if not why and self.case != "boot":
            self.passed.append(self.case)
        return Outcome(self.case if why else None, why, self.passed, time.monotonic() - self.start)

    def look(self, line):
        self.watch(line)
        if case := CASE.search(line):
            if self.case != "boot":
                self.passed.append(self.case)
            self.case = case[1]
        elif FAILED.match(line):
            return "fails"
        elif self.case != "boot" and (complaint := vm.COMPLAINTS.search(line)):
            return complaint[0].strip(" :")
        elif "Kernel panic" in line:
            return "dies"
        self.ended = self.ended or END in line
        return None

    def hangs(self):
        now, usual = time.monotonic(), self.usual.get(self.case, 0)
        try:
            with open(f"/proc/{self.machine.pid}/stat") as f:
                sleeps = f.read().rsplit(")", 1)[1].split()[0] == "S"
        except FileNotFoundError:
            sleeps = True
        if not sleeps:
            self.awake = now
        if now - self.awake > ASLEEP + TIMES * usual or now - self.line > AT_WORK + 2 * TIMES * usual:
            return "hangs"
        return None
