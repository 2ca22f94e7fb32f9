#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Decodes the journal of the driver: debugfs journal_raw, or the data of a device coredump.

    journal.py FILE [--allocation N] [--operation NAME] [--json]
    journal.py FILE --state

One line an entry, oldest first: when, in which submission at which byte, what, with what result. Names and layout
come from the headers in include/, so that they are written down once. --state prints the text that follows the
entries in a coredump instead: what failed, and what the device and its queues were doing.
"""
import argparse
import json
import os
import re
import struct
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SIZES = {"__u8": "B", "__le16": "H", "__le32": "I", "__le64": "Q"}


def header(name):
    with open(os.path.join(TOP, "include", name)) as f:
        return f.read()


def layout(text, name):
    """Fields and struct format of a struct of plain little-endian members."""
    body = re.search(r"struct %s \{(.*?)\n\};" % name, text, re.S)[1]
    fields = re.findall(r"(__\w+) (\w+);", body)
    return [f for _, f in fields], struct.Struct("<" + "".join(SIZES[t] for t, _ in fields))


def operations():
    ops = re.search(r"#define VIRTIO_PAGODA_OPS\(X\)(.*?)\n\n", header("uapi/linux/virtio_pagoda.h"), re.S)[1]
    return {int(n): name for name, n in re.findall(r"X\((\w+), \w+, (\d+)", ops)}


def parse(data):
    """The entries, and the bytes behind them."""
    text = header("pagoda/journal.h")
    magic = int(re.search(r"PAGODA_JOURNAL_MAGIC\s+(0x[0-9a-f]+)", text)[1], 16)
    names, form = layout(text, "pagoda_journal_head")
    if len(data) < form.size:
        sys.exit("journal.py: shorter than a journal's head")
    head = dict(zip(names, form.unpack_from(data)))
    if head["magic"] != magic:
        sys.exit("journal.py: not a journal")
    names, one = layout(text, "pagoda_journal_entry")
    if head["entry_bytes"] < one.size or len(data) < form.size + head["count"] * head["entry_bytes"]:
        sys.exit("journal.py: entries are missing or too short")
    at = [form.size + i * head["entry_bytes"] for i in range(head["count"] + 1)]
    return [dict(zip(names, one.unpack_from(data, offset))) for offset in at[:-1]], data[at[-1]:]


def result(entry):
    value = entry["result"]
    if value == 1:
        return "pending"
    return str(value - (1 << 32) if value >> 31 else value)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--allocation", type=int)
    parser.add_argument("--operation")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--state", action="store_true")
    args = parser.parse_args()
    segments = {0: "system", 1: "vram", 2: "aperture"}
    ops = operations()
    with open(args.file, "rb") as f:
        entries, state = parse(f.read())
    if args.state:
        sys.stdout.write(state.decode(errors="replace"))
        return
    for e in entries:
        e["operation"] = ops.get(e["operation"], str(e["operation"]))
        if args.allocation is not None and e["allocation"] != args.allocation:
            continue
        if args.operation and e["operation"] != args.operation:
            continue
        e["result"] = result(e)
        if args.json:
            print(json.dumps(e))
            continue
        print(f"{e['number']} {e['time_ns'] / 1e9:.6f} seqno {e['seqno']}+{e['offset']:#x} {e['operation']} "
              f"alloc {e['allocation']} {segments.get(e['src_segment'], '-')}:{e['source']:#x} -> "
              f"{segments.get(e['dst_segment'], '-')}:{e['address']:#x} size {e['size']:#x} "
              f"bytes {e['encoded']} pass {e['pass']} {e['result']}")


if __name__ == "__main__":
    main()
