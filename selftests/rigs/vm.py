#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Boots a kernel with an initramfs made for the occasion, runs one script in it, judges the kernel's log.

  vm.py --rig stock|new|debug|uml --name NAME [--module KO]... [--file HOST:GUEST]... [--env K=V]... SCRIPT [ARG]...

SCRIPT runs in the guest under busybox sh with guest/lib.sh at hand (RIG and --env are set); what it writes
below /out appears on the host in out/vm/NAME. Its output is out/logs/NAME.log, the kernel's is
out/logs/NAME.console.log. Fails if the script failed, if the machine hung, or if the kernel complained about
anything after the guest's own start-up. With --kunit a UML kernel runs these suites before the script; then the console
is looked at from the first of them on, and their results are NAME's kunit.tap.

A machine hangs when nothing has happened for a while, however long the run has taken: no line of the kernel's or a
program's for --quiet seconds, or not even the sign of life that the guest gives every few seconds for DEAD_SECONDS.

  vm.py --judge CONSOLE-LOG        only the last of these, for a log that something else recorded
"""
import argparse
import gzip
import lzma
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
OUT = os.path.join(TOP, "out")
# What the guest's /init says when everything is there and the script begins.
START = "pagoda-vm: start"
# The guest's sign of life, which says that its kernel schedules, and nothing about the work.
ALIVE = "pagoda-vm: alive"
DEAD_SECONDS = 240
# An emulated machine that prints nothing for so many seconds before the script begins is started again, so many
# times in all: nothing of ours is in it yet.
BOOT_SECONDS = 120
BOOTS = 3
# So is one whose kernel ran into a breakpoint: it puts them into its own code while it patches it, and QEMU was seen
# to let a processor run into one that was no longer there. Nothing else makes them, so no fault of ours looks so.
STUMBLE = "Oops: int3"

# What no run may print. The list is by kind of complaint; what a kernel prints while it boots, before the
# guest says that it starts, is its own affair.
COMPLAINTS = re.compile("|".join((
    r"WARNING: ", r"\bBUG[: ]", r"\bOops\b", r"Kernel panic", r"general protection fault",
    r"invalid opcode", r"double fault", r"stack segment", r"divide error",
    r"KASAN:", r"UBSAN:", r"KFENCE:", r"KCSAN:", r"ODEBUG:", r"refcount_t:",
    r"possible (circular|recursive) locking", r"inconsistent lock state", r"suspicious RCU usage",
    r"possible irq lock inversion", r"held lock freed", r"bad unlock balance", r"INVALID_",
    r"lock held when returning", r"still has locks held", r"sleeping function called",
    r"scheduling while atomic", r"DEBUG_LOCKS_WARN_ON",
    r"list_(add|del) corruption", r"page allocation failure", r"Out of memory:", r"Bad page state",
    # That there are new suspects is no complaint yet: guest/lib.sh says which of them count.
    r"unreferenced object", r"kmemleak: .*disabled",
    r"blocked for more than", r"soft lockup", r"hard LOCKUP", r"rcu.*(stall|detected)",
    r"Call Trace:", r"DMA-API:", r"Objects remaining in", r"segfault at", r"workqueue: .*hogged",
    r"Memory manager not clean", r"virtio\d.*paging takes more than it should",
)))

# The result of a whole KUnit suite.
SUITE = re.compile(r"(\[ *\d+\.\d+\](\[ *[TC]\d+\])? )?(not )?ok \d+ ")


def say(text):
    print(time.strftime("%T"), "", text, file=sys.stderr, flush=True)


class Cpio:
    """An initramfs in the newc format: a dozen numbers in hexadecimal, the name, the bytes."""

    def __init__(self, path):
        self.file = open(path, "wb")
        self.dirs = set()
        self.inode = 0

    def _entry(self, name, mode, data=b"", rdev=(0, 0)):
        self.inode += 1
        fields = (self.inode, mode, 0, 0, 1, 0, len(data), 0, 0, *rdev, len(name) + 1, 0)
        head = b"070701" + b"".join(b"%08X" % f for f in fields) + name.encode() + b"\0"
        self.file.write(head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4))

    def parents(self, name):
        parts = name.split("/")[:-1]
        for n in range(1, len(parts) + 1):
            path = "/".join(parts[:n])
            if path not in self.dirs:
                self.dirs.add(path)
                self._entry(path, stat.S_IFDIR | 0o755)

    def add(self, name, data, mode=0o755):
        name = name.lstrip("/")
        self.parents(name)
        self._entry(name, stat.S_IFREG | mode, data)

    def add_file(self, name, path):
        with open(path, "rb") as f:
            data = f.read()
        if path.endswith(".xz"):
            data = lzma.decompress(data)
        elif path.endswith(".gz"):
            data = gzip.decompress(data)
        self.add(name, data, 0o755 if os.access(path, os.X_OK) else 0o644)

    def console(self):
        self.parents("dev/console")
        self._entry("dev/console", stat.S_IFCHR | 0o600, rdev=(5, 1))

    def close(self):
        self._entry("TRAILER!!!", 0)
        self.file.close()


class StockModules:
    """Which of the stock kernel's modules must be loaded, in which order."""

    def __init__(self, root, release):
        self.base = os.path.join(root, "lib/modules", release)
        self.paths, self.needs = {}, {}
        with open(os.path.join(self.base, "modules.dep")) as f:
            for line in f:
                path, _, deps = line.strip().partition(":")
                name = self.name(path)
                self.paths[name] = path
                self.needs[name] = [self.name(d) for d in deps.split()]
        with open(os.path.join(self.base, "modules.builtin")) as f:
            self.builtin = {self.name(line.strip()) for line in f}

    @staticmethod
    def name(path):
        return os.path.basename(path).split(".ko")[0].replace("-", "_")

    def closure(self, names):
        order = []

        def visit(name):
            if name in order or name in self.builtin:
                return
            if name not in self.paths:
                sys.exit(f"vm.py: the stock kernel has no module {name}")
            for need in self.needs[name]:
                visit(need)
            order.append(name)

        for name in names:
            visit(name)
        return order


def rig_env():
    with open(os.path.join(OUT, "rig.env")) as f:
        return dict(line.strip().split("=", 1) for line in f if "=" in line)


def module_needs(path):
    out = subprocess.run(["/sbin/modinfo", "-F", "depends", path], check=True, capture_output=True, text=True)
    return [n.replace("-", "_") for n in out.stdout.strip().split(",") if n]


def built_modules(kernel):
    """Modules of a kernel that was built: names and files."""
    with open(os.path.join(kernel, "modules.order")) as f:
        paths = [os.path.join(kernel, os.path.splitext(line.strip())[0] + ".ko") for line in f]
    return {StockModules.name(p): p for p in paths}


def built_closure(modules, name):
    needs = [n for m in module_needs(modules[name]) for n in built_closure(modules, m)]
    return list(dict.fromkeys(needs + [name]))


def put_extra_built(cpio, args):
    modules = built_modules(args.kernel) if args.extra else {}
    for extra in args.extra:
        order = built_closure(modules, extra)
        for name in order:
            cpio.add_file(f"modules/{name}.ko", modules[name])
        cpio.add(f"modules/{extra}.list", "".join(f"/modules/{n}.ko\n" for n in order).encode(), 0o644)


def put_modules(cpio, args):
    ours = {StockModules.name(m) for m in args.module}
    for path in args.module:
        cpio.add_file("modules/" + os.path.basename(path), path)
    if args.rig != "stock":
        put_extra_built(cpio, args)
        return
    env = rig_env()
    stock = StockModules(env["STOCK_DIR"], env["STOCK_RELEASE"])
    needs = [n for m in args.module for n in module_needs(m) if n not in ours]
    done = set()
    lists = [("boot.list", ["9pnet_virtio", "9p"]), ("deps.list", needs)]
    for listing, names in lists + [(e + ".list", [e]) for e in args.extra]:
        order = stock.closure(names)
        for name in order:
            if name not in done:
                done.add(name)
                cpio.add_file(f"modules/stock/{name}.ko", os.path.join(stock.base, stock.paths[name]))
        cpio.add("modules/" + listing, "".join(f"/modules/stock/{n}.ko\n" for n in order).encode(), 0o644)


def build_initramfs(args, path, share):
    cpio = Cpio(path)
    cpio.console()
    cpio.add_file("bin/busybox", shutil.which("busybox") or "/bin/busybox")
    cpio.add_file("init", os.path.join(HERE, "guest/init"))
    for name in ("lib.sh", "reload.sh"):
        cpio.add_file("guest/" + name, os.path.join(HERE, "guest", name))
    cpio.add_file("guest/script", args.script)
    settings = {"RIG": args.rig, "SHARE": share, "ARGS": " ".join(args.args)}
    settings.update(e.split("=", 1) for e in args.env)
    cpio.add("guest/env", "".join(f"{k}='{v}'\n" for k, v in settings.items()).encode())
    put_modules(cpio, args)
    for spec in args.file:
        host, _, guest = spec.partition(":")
        cpio.add_file(guest, host)
    cpio.close()


def kvm_usable():
    """A /dev/kvm on a CPU that doesn't show vmx or svm exists on some machines and runs no ordinary kernel."""
    with open("/proc/cpuinfo") as f:
        flags = set(f.read().split())
    return bool(flags & {"vmx", "svm"}) and os.access("/dev/kvm", os.R_OK | os.W_OK)


def swap_file(args):
    return os.path.join(OUT, "vm", args.name + ".swap")


def swap_disk(args):
    return ["-drive", f"file={swap_file(args)},format=raw,if=virtio,cache=unsafe"] if args.swap else []


def command(args, initramfs, share, console):
    if args.rig == "uml":
        # Two processors need the way of running programs that has no ptrace in it.
        smp = [f"ncpus={args.smp}", "seccomp=on"] if args.smp > 1 else []
        suites = ["kunit.enable=1", f"kunit.filter_glob={args.kunit}"] if args.kunit else ["kunit.enable=0"]
        return [os.path.join(args.kernel, "linux"), f"mem={args.memory}", f"initrd={initramfs}", "con=none",
                "con0=fd:0,fd:1", "console=tty0", "root=/dev/ram0", "panic=-1", *smp, *suites, *args.append.split()]
    if args.rig == "stock":
        kernel = os.path.join(rig_env()["STOCK_DIR"], "boot/vmlinuz-" + rig_env()["STOCK_RELEASE"])
    else:
        kernel = os.path.join(args.kernel, "arch/x86/boot/bzImage")
    # q35 because interpreting the other machine's interrupt routing takes a KASAN kernel half a minute.
    # Nehalem under TCG: without ERMS and FSRM the kernel copies memory ten times faster there.
    accel = ["-accel", "kvm", "-cpu", "host"] if kvm_usable() else \
        ["-accel", "tcg,thread=multi", "-cpu", "Nehalem"]
    # On a busy machine the emulated timer may miss the few ticks by which the kernel checks it.
    # There is no secret in there: a page table of its own for the kernel, and indirect calls that go through a
    # return, cost an emulated processor a good part of its time. Grace periods are not what is tested either.
    append = "console=ttyS0 panic=-1 oops=panic no_timer_check mitigations=off rcupdate.rcu_expedited=1 " \
        f"kunit.enable=1 {args.append}"
    return ["qemu-system-x86_64", *accel, "-machine", "q35", "-smp", str(args.smp), "-m", args.memory, "-nodefaults",
            "-no-reboot", "-display", "none", "-serial", f"file:{console}", "-kernel", kernel, "-initrd", initramfs,
            "-append", append, *swap_disk(args),
            "-virtfs", f"local,path={share},mount_tag=out,security_model=none,multidevs=remap"]


class Follower:
    """Shows the lines of a growing file that are worth showing while the machine runs."""

    def __init__(self, path, keep):
        self.path, self.keep, self.offset, self.partial = path, keep, 0, ""

    def poll(self, name):
        try:
            with open(self.path, errors="replace") as f:
                f.seek(self.offset)
                text = self.partial + f.read()
                self.offset = f.tell()
        except FileNotFoundError:
            return
        *lines, self.partial = text.split("\n")
        for line in lines:
            if self.keep(line):
                say(f"[{name}] {line.strip()}")


def keep_priority(pid):
    """A session of its own is scheduled as one group, which has a priority of its own, too."""
    try:
        with open(f"/proc/{pid}/autogroup", "w") as f:
            f.write(str(os.nice(0)))
    except OSError:
        pass


def has_line(console, text):
    with open(console, errors="replace") as f:
        return any(text in line for line in f)


class Progress:
    """When a machine last did something: its console and the files that its programs write say so."""

    def __init__(self, console, share):
        self.console, self.share = console, share
        self.offset, self.partial, self.files = 0, "", None
        self.started = False
        self.line = self.alive = time.monotonic()

    def look(self):
        now = time.monotonic()
        with open(self.console, errors="replace") as f:
            f.seek(self.offset)
            text = self.partial + f.read()
            self.offset = f.tell()
        *lines, self.partial = text.split("\n")
        if lines:
            self.alive = now
        if any(ALIVE not in line for line in lines):
            self.line = now
        self.started = self.started or any(START in line for line in lines)
        files = sum(entry.stat().st_size for entry in os.scandir(self.share))
        if files != self.files:
            self.files, self.line, self.alive = files, now, now

    def hangs(self, args):
        """Why the machine has to be ended, or None."""
        now = time.monotonic()
        if not self.started and not args.kunit and now - self.line > BOOT_SECONDS:
            return f"nothing printed for {BOOT_SECONDS} s while it came up"
        if self.started and now - self.alive > DEAD_SECONDS:
            return f"no sign of life for {DEAD_SECONDS} s"
        if now - self.line > args.quiet:
            return f"nothing happened for {args.quiet} s"
        return None


def run(args, cmd, console, share):
    """Starts the machine, follows its logs, ends it when nothing happens any more. Says why, or None."""
    followers = [Follower(console, lambda l: ("pagoda-vm:" in l and ALIVE not in l) or COMPLAINTS.search(l)
                          or SUITE.match(l)),
                 Follower(os.path.join(share, "output.log"), lambda l: True)]
    with open(console if args.rig == "uml" else os.devnull, "wb") as out:
        machine = subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stdout=out, start_new_session=True,
                                   stderr=None if args.rig != "uml" else out)
    keep_priority(machine.pid)
    progress, why = Progress(console, share), None
    try:
        while machine.poll() is None:
            progress.look()
            why = progress.hangs(args)
            if why:
                break
            time.sleep(0.2)
            for f in followers:
                f.poll(args.name)
    finally:
        # UML is several processes.
        try:
            os.killpg(machine.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        machine.wait()
    for f in followers:
        f.poll(args.name)
    return why


def run_started(args, cmd, console, share):
    """As run(), of a machine that came up, if one of some does. UML has the driver built in: one start is all."""
    boots = 1 if args.rig == "uml" else BOOTS
    for attempt in range(1, boots + 1):
        why = run(args, cmd, console, share)
        stumbled = has_line(console, STUMBLE)
        if (has_line(console, START) and not stumbled) or attempt == boots:
            return why
        shutil.copy(console, f"{console}.{attempt}")
        # What the programs had said by then is no result, but a failure among it shouldn't be lost.
        shutil.copytree(share, f"{console}.{attempt}.results", dirs_exist_ok=True)
        say(f"[{args.name}] the {'emulator stumbled' if stumbled else 'kernel did not come up'}, "
            f"see {console}.{attempt}; once more")
        for name in os.listdir(share):
            os.unlink(os.path.join(share, name))


def complaints(lines):
    bad = [n for n, line in enumerate(lines) if COMPLAINTS.search(line)]
    if not bad:
        return []
    return [f"the kernel complained ({len(bad)} lines); the first, with what follows:"] + lines[bad[0]:bad[0] + 40]


def read_lines(path):
    with open(path, errors="replace") as f:
        return [line.rstrip() for line in f]


def judge(console, hung, whole):
    """Everything wrong with a run, as a list of lines; empty if nothing is."""
    lines = read_lines(console)
    start = next((n for n, l in enumerate(lines) if START in l), None)
    wrong = ["killed: " + hung] if hung else []
    if start is None:
        return wrong + ["the guest did not start"] + (complaints(lines) if whole else []) + lines[-20:]
    end = next((l for l in lines if "pagoda-vm: end" in l), None)
    if end is None:
        wrong += ["the guest did not reach its end; the console's last lines:"] + lines[-25:]
    elif not end.endswith("end 0"):
        wrong.append("the script failed: status " + end.split()[-1])
    if whole:
        start = next((n for n, l in enumerate(lines) if "KTAP version" in l), start)
    return wrong + complaints(lines[start:])


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rig", choices=("stock", "new", "debug", "uml"), default="stock")
    p.add_argument("--kernel", help="build folder of a kernel that is not Debian's")
    p.add_argument("--name", required=True)
    p.add_argument("--module", action="append", default=[])
    p.add_argument("--extra", action="append", default=[], metavar="NAME",
                   help="a module of the kernel's own, in /modules/NAME.list with what it needs")
    p.add_argument("--file", action="append", default=[], metavar="HOST:GUEST")
    p.add_argument("--env", action="append", default=[], metavar="K=V")
    p.add_argument("--append", default="", help="more for the kernel's command line")
    p.add_argument("--quiet", type=int, default=700, metavar="SECONDS", help="without a line: the machine hangs")
    p.add_argument("--kunit", default="", metavar="GLOB", help="suites that a UML kernel runs first")
    p.add_argument("--memory", default="3G")
    p.add_argument("--swap", type=int, default=0, metavar="MIB", help="size of a disk to swap to")
    p.add_argument("--smp", type=int, default=2)
    p.add_argument("script")
    p.add_argument("args", nargs="*")
    return p.parse_args()


def main():
    if sys.argv[1:2] == ["--judge"]:
        found = complaints(read_lines(sys.argv[2]))
        print("\n".join(found), end="\n" if found else "")
        return 1 if found else 0
    args = parse_arguments()
    # Whatever ends this ends the machine, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    share = os.path.join(OUT, "vm", args.name)
    logs = os.path.join(OUT, "logs")
    shutil.rmtree(share, ignore_errors=True)
    os.makedirs(share)
    os.makedirs(logs, exist_ok=True)
    console = os.path.join(logs, args.name + ".console.log")
    initramfs = os.path.join(OUT, "vm", args.name + ".cpio")
    open(console, "w").close()
    build_initramfs(args, initramfs, share)
    if args.swap:
        with open(swap_file(args), "wb") as f:
            f.truncate(args.swap << 20)

    say(f"[{args.name}] starting ({args.rig})")
    start = time.monotonic()
    output = os.path.join(share, "output.log")
    hung = run_started(args, command(args, initramfs, share, console), console, share)
    os.unlink(initramfs)
    if args.swap:
        os.unlink(swap_file(args))
    if os.path.exists(output):
        shutil.copy(output, os.path.join(logs, args.name + ".log"))
    if args.kunit:
        shutil.copy(console, os.path.join(share, "kunit.tap"))
    wrong = judge(console, hung, bool(args.kunit))
    # report.py takes this file's absence, or anything in it, for a failure of the machine itself.
    with open(os.path.join(share, "machine"), "w") as f:
        f.write("\n".join(wrong))
    for line in wrong:
        say(f"[{args.name}] {line}")
    say(f"[{args.name}] {'FAILED' if wrong else 'ok'} after {time.monotonic() - start:.1f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
