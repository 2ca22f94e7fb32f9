#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Compares dev_pagoda.txt, the description of the user ABI for syzkaller, with the header.

  syzlang.py [description [header]]

Looks at names, order and size of the fields of each struct, and at which of them are answers; at the ioctls; at enumerators
and flags; at strides; whether resources are made and used. Prints what differs; nothing if all is well.
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
DESCRIPTION = os.path.join(HERE, "dev_pagoda.txt")
HEADER = os.path.join(os.path.dirname(os.path.dirname(HERE)), "include/uapi/drm/pagoda_drm.h")

SIZES = {"__u32": 4, "__s32": 4, "__u64": 8, "__s64": 8, "int32": 4, "int64": 8, "bool32": 4, "fd": 4, "fd_event": 4,
         "struct drm_pagoda_array": 16}
PREFIX = "drm_pagoda_"
ARRAY = PREFIX + "array"


class Header:
    """Structs with their fields (name, size, nested type, whether it is an answer), ioctls, and names of values."""

    def __init__(self, text):
        self.values = dict(re.findall(r"^#define (DRM_PAGODA_\w+)\s+(\d+)\s*$", text, re.M))
        self.structs = {}
        docs = {name: doc for doc, name in re.findall(r"/\*\*((?:(?!\*/).)*?)\*/\s*struct (\w+) \{", text, re.S)}
        code = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        for name, body in re.findall(r"^struct (\w+) \{(.*?)^\};", code, re.S | re.M):
            self.structs[name] = [self.field(docs.get(name, ""), *f) for f in
                                  re.findall(r"((?:struct )?\w+)\s+(\w+)(?:\[(\w+)\])?;", body)]
        self.ioctls = dict(re.findall(r"define (DRM_IOCTL_PAGODA_\w+)[\s\\]+DRM_IOCTL_PAGODA\(\w+, (\w+)\)", code))
        ids = re.search(r"enum drm_pagoda_ioctl_id \{(.*?)\}", code, re.S)[1]
        self.names = set(re.findall(r"\bDRM_PAGODA_\w+(?=\s*(?:=|,))", code.replace(ids, "")))
        self.names |= set(re.findall(r"^#define (DRM_PAGODA_\w+)\s+(?:\(1u << \d+\)|0x\w+u)", code, re.M))
        self.ids = re.findall(r"DRM_PAGODA_(\w+)", ids)

    def field(self, docs, kind, name, count):
        text = re.search(r"@" + name + r":(.*?)(?=\n \* @|\n \*\s*\n|\Z)", docs, re.S)
        said = re.sub(r"\s*\n \*\s*", " ", text[1] if text else "")
        into, out = re.search(r"\b[Ii]n:", said), re.search(r"\b[Oo]ut(?::| on)", said)
        size = SIZES[kind] * int(self.values.get(count, count) or 1)
        return name, size, "inout" if into and out else "out" if out else "in"

    def size(self, name):
        return sum(size for _, size, _ in self.structs[name])


class Description:
    """The same of the description."""

    def __init__(self, text, values):
        self.text, self.values, self.wrong = text, values, []
        code = re.sub(r"^#.*$", "", text, flags=re.M)
        self.resources = dict(re.findall(r"^resource (\w+)\[(\w+)\]", code, re.M))
        self.flags = {name: re.split(r",\s*", value) for name, value in re.findall(r"^(\w+) = (.*)$", code, re.M)}
        self.unions = dict(re.findall(r"^(\w+) \[\n(.*?)^\]", code, re.S | re.M))
        self.calls = re.findall(r"^(\w+)\$(\w+)\((.*)\)(?: (\w+))?$", code, re.M)
        self.code, self.structs = code, {}
        bodies = re.findall(r"^(?:type )?(\w+)(?:\[[\w, ]*\])? \{\n(.*?)^\}", code, re.S | re.M)
        for name, body in bodies:
            lines = [re.match(r"\t(\w+)\t+(.*?)(?:\t+\((\w+)\))?$", line) for line in body.splitlines()]
            self.structs[name] = [(m[1], m[2], m[3] or "in") for m in lines if m]
            if None in lines:
                self.wrong.append(f"{name}: a line that isn't understood")

    def size(self, kind):
        name, _, rest = kind.partition("[")
        options = [o.strip() for o in re.split(r",(?![^\[]*\])", rest[:-1])] if rest else []
        if name in SIZES:
            return SIZES[name]
        if name == "ptr64":
            return 8
        if name == ARRAY:
            return SIZES["struct " + ARRAY]
        if name in self.resources:
            return self.size(self.resources[name])
        if name in self.unions:
            return max(self.size(line.split("\t")[-1]) for line in self.unions[name].splitlines())
        if name == "array" and len(options) == 2:
            return self.size(options[0]) * int(self.values.get(options[1], options[1]))
        if name in ("const", "flags", "len", "bytesize"):
            return self.size(options[-1])
        self.wrong.append(f"{kind}: a type that isn't known")
        return 0


def compare_structs(header, text):
    for name, fields in header.structs.items():
        there = text.structs.get(name)
        if there is None:
            yield f"{name}: not described"
            continue
        # The entries of an array go where the template says, and answers to QUERY are answers as a whole.
        whole = name in text.unions.get(PREFIX + "answer", "") or name in (ARRAY, PREFIX + "event")
        mine = [(field, size, "in" if whole else way) for field, size, way in fields]
        theirs = [(field, text.size(kind) if name != ARRAY else 8 if field == "array" else 4, way)
                  for field, kind, way in there]
        for a, b in zip(mine, theirs):
            if a != b:
                yield "{}: the header has {} of {} bytes ({}), the description {} of {} ({})".format(name, *a, *b)
        if len(mine) != len(theirs):
            yield f"{name}: the header has {len(mine)} fields, the description {len(theirs)}"
    for name in text.structs:
        if name.startswith(PREFIX) and name not in header.structs:
            yield f"{name}: not in the header"


def compare_ioctls(header, text):
    described = {name: args for call, name, args, _ in text.calls if call == "ioctl"}
    for name, kind in header.ioctls.items():
        args = f"fd fd_pagoda, cmd const[{name}], arg ptr[inout, {PREFIX}{kind}]"
        if described.get(name) != args:
            yield f"{name}: not described as ({args})"
    for name in header.ids:
        if "DRM_IOCTL_PAGODA_" + name not in header.ioctls:
            yield f"DRM_PAGODA_{name}: no ioctl"
    for name in described:
        if name.startswith("DRM_IOCTL_PAGODA") and name not in header.ioctls:
            yield f"{name}: not in the header"


def compare_values(header, text):
    words = set(re.findall(r"\bDRM_PAGODA_\w+", text.text))
    known = header.names | set(header.values) | {"DRM_PAGODA_" + name for name in header.ids}
    yield from (f"{name}: not described" for name in sorted(header.names - words))
    yield from (f"{name}: not in the header" for name in sorted(words - known))
    for entry, size in re.findall(ARRAY + r"\[\w+, (\w+), (\d+)\]", text.code):
        if entry in header.structs and header.size(entry) != int(size):
            yield f"{entry}: stride {size}, but {header.size(entry)} bytes"


def check_resources(text):
    fields = [(kind, way) for struct in text.structs.values() for _, kind, way in struct]
    made = {kind for kind, way in fields if way != "in"} | {result for *_, result in text.calls}
    used = " ".join(kind for kind, way in fields if way != "out") + " ".join(args for _, _, args, _ in text.calls)
    used += " ".join(text.unions.values())
    for name in text.resources:
        if name not in made:
            yield f"{name}: no call makes one"
        if not re.search(rf"\b{name}\b", used):
            yield f"{name}: no call uses one"
    for name in set(re.findall(r"flags\[((?:drm_)?pagoda_\w+)", text.code)) ^ \
            {name for name in text.flags if "pagoda_" in name}:
        yield f"{name}: flags that aren't defined, or aren't used"


def main():
    paths = sys.argv[1:] + [DESCRIPTION, HEADER][len(sys.argv) - 1:]
    with open(paths[1]) as f:
        header = Header(f.read())
    with open(paths[0]) as f:
        text = Description(f.read(), header.values)
    found = [*compare_structs(header, text), *compare_ioctls(header, text), *compare_values(header, text),
             *check_resources(text)]
    for line in text.wrong + found:
        print(f"dev_pagoda.txt: {line}")
    sys.exit(1 if text.wrong or found else 0)


if __name__ == "__main__":
    main()
