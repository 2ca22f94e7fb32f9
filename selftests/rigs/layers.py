#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Holds the driver to its rooms: layers.py FOLDER, where FOLDER has the objects of a build.

Kbuild lists the rooms bottom to top. A room calls and includes only rooms before it, and the internal.h of no other
room. Files of a room don't call each other in a circle. No function has the name of another file's, and the prefix
of the driver stands only before names that other files use.

Prints file or object and the objection, and at the end what was counted. Exits with 1 if there is an objection.
"""
import glob
import os
import re
import subprocess
import sys
from collections import defaultdict

TOP = os.environ.get("PAGODA_TOP") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DRIVER = os.path.join("drivers", "pagoda")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
# The definition of a function, as kernel style writes it: parameters may have parameters.
FUNCTION = re.compile(r"^(?!#|static inline)((?:[A-Za-z_][\w \t*]*?[ *])?)(\w+)\([^;{}()]*(?:\([^;{}()]*\)[^;{}()]*)*\)\n\{", re.M)
# The table of ioctls makes the names of their functions.
PREFIX = re.compile(r"^pagoda_(?!ioctl_)")


def rooms_of(kbuild):
    """The rooms, bottom to top. What is in the driver's own folder is above them all."""
    words = re.search(r"^rooms := ((?:.*\\\n)*.*)", kbuild, re.M)[1]
    return words.replace("\\\n", " ").split() + [""]


class Driver:
    def __init__(self, top):
        self.top = os.path.join(top, DRIVER)
        with open(os.path.join(top, "Kbuild")) as f:
            self.rooms = rooms_of(f.read())
        self.place = {room: n for n, room in enumerate(self.rooms)}
        self.objections = []

    def room(self, path):
        """Of a path below the driver's folder."""
        return os.path.dirname(path)

    def name(self, room):
        return room or "the top"

    def sources(self, *kinds):
        for room in self.rooms:
            for kind in kinds:
                for path in sorted(glob.glob(os.path.join(self.top, room, "*." + kind))):
                    yield os.path.relpath(path, self.top)

    def object_to(self, path, what):
        self.objections.append(f"{DRIVER}/{path}: {what}")


def read(*path):
    with open(os.path.join(*path)) as f:
        return f.read()


def included(driver, path, name):
    """The header that a quoted name means, below the driver's folder, or None if it isn't the driver's."""
    for base in (driver.room(path), ""):
        found = os.path.normpath(os.path.join(base, name))
        if os.path.exists(os.path.join(driver.top, found)):
            return found
    return None


def check_includes(driver):
    down = 0
    for path in driver.sources("c", "h"):
        room = driver.room(path)
        for name in INCLUDE.findall(read(driver.top, path)):
            header = included(driver, path, name)
            if not header or driver.room(header) == room:
                continue
            down += 1
            if driver.place[driver.room(header)] > driver.place[room]:
                driver.object_to(path, f"includes {header}, which is above {driver.name(room)}")
            elif os.path.basename(header) == "internal.h":
                driver.object_to(path, f"includes {header}, which is another room's own")
    return down


def symbols(path):
    """What an object defines for others, and what it needs."""
    defined, needed = set(), set()
    for line in subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout.splitlines():
        words = line.split()
        kind, name = words[-2], words[-1]
        if kind == "U":
            needed.add(name)
        elif kind in "TDBRVW":
            defined.add(name)
    return defined, needed


def check_objects(driver, folder):
    objects = {}
    for path in driver.sources("c"):
        made = os.path.join(folder, DRIVER, path[:-2] + ".o")
        if os.path.exists(made):
            objects[path] = symbols(made)
        elif driver.room(path) != "bench":
            driver.object_to(path, "was not built")
    owner, users = {}, defaultdict(set)
    for path, (defined, _) in objects.items():
        owner.update(dict.fromkeys(defined, path))
    down, up = 0, 0
    for path, (_, needed) in objects.items():
        for name in sorted(needed & owner.keys()):
            there = owner[name]
            users[path].add(there)
            if driver.room(there) == driver.room(path):
                continue
            if driver.place[driver.room(there)] > driver.place[driver.room(path)]:
                driver.object_to(path, f"uses {name} of {there}, which is above {driver.name(driver.room(path))}")
                up += 1
            else:
                down += 1
    return len(objects), down, up, check_circles(driver, users)


def check_names(driver):
    places = defaultdict(list)
    for path in driver.sources("c"):
        for kind, name in FUNCTION.findall(read(driver.top, path)):
            places[name].append(path)
            if "static" in kind.split() and PREFIX.match(name):
                driver.object_to(path, f"{name} is static and has the prefix of names that others use")
    for name, paths in sorted(places.items()):
        if len(paths) > 1:
            driver.object_to(paths[0], f"{name} is also in {', '.join(paths[1:])}")


def check_circles(driver, users):
    """Tarjan's algorithm, in each room."""
    index, low, stack, circles = {}, {}, [], []

    def visit(path):
        index[path] = low[path] = len(index)
        stack.append(path)
        for other in sorted(users[path]):
            if driver.room(other) != driver.room(path) or other == path:
                continue
            if other not in index:
                visit(other)
                low[path] = min(low[path], low[other])
            elif other in stack:
                low[path] = min(low[path], index[other])
        if low[path] == index[path]:
            circle = []
            while not circle or circle[-1] != path:
                circle.append(stack.pop())
            if len(circle) > 1:
                circles.append(sorted(circle))

    for path in sorted(users):
        if path not in index:
            visit(path)
    for circle in circles:
        driver.object_to(circle[0], f"is in a circle with {', '.join(circle[1:])}")
    return circles


def check_all(driver, folder):
    """Returns what was counted."""
    includes = check_includes(driver)
    check_names(driver)
    objects, down, up, circles = check_objects(driver, folder)
    return (f"{len(driver.rooms)} rooms, {objects} objects: {down} references and {includes} includes down, "
            f"{up} references up, {len(circles)} circles of files")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    driver = Driver(TOP)
    counted = check_all(driver, sys.argv[1])
    for objection in driver.objections:
        print(objection)
    print(counted, file=sys.stderr)
    return 1 if driver.objections else 0


if __name__ == "__main__":
    sys.exit(main())
