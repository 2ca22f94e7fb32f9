#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Renders kernel-doc as HTML: git ls-files | docs.py KERNEL-DOC FOLDER

The input names files. Each folder of them that has kernel-doc becomes a page of FOLDER, and index.html orders the
pages: interfaces first, then the folders in the order in which Kbuild lists them. Prints what kernel-doc or docutils
object to, and fails if there is anything.
"""
import html
import os
import re
import subprocess
import sys
from collections import defaultdict

from docutils import nodes
from docutils.core import publish_string
from docutils.parsers.rst import Directive, directives, roles

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Interfaces: user ABI, device ABI, what the driver's layers show each other.
FIRST = ("include/uapi/drm", "include/uapi/linux", "drivers/pagoda/core")
KERNEL_DOC = re.compile(r"^\s*/\*\*(?!\*|/)", re.M)
OPENING = re.compile(r"\A(?:(?://|/\* SPDX)[^\n]*\n)*/\*\n(.*?)\*/", re.S)
DECLARATIONS = ("function", "struct", "union", "enum", "macro", "type", "member", "enumerator")
CSS = """body { font: 15px/1.5 sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1em; color: #1f2933 }
pre, code, tt { font-family: monospace; font-size: 13px } pre { background: #f5f7fa; padding: 0.7em; overflow-x: auto }
.declaration { background: #e8eef5; padding: 0.3em 0.7em; font-family: monospace; margin-top: 2em }
.kernelindent { margin-left: 1.5em } dt { font-weight: 600 } table { border-collapse: collapse } td, th { padding: 0 1em 0 0 }
h2 { border-bottom: 1px solid #c3ccd6; margin-top: 3em }
"""


class Declaration(Directive):
    """Sphinx's c:function and its like: a line, and the description indented below it."""
    has_content = True
    final_argument_whitespace = True
    required_arguments = 1

    def run(self):
        line = nodes.paragraph("", " ".join(self.arguments[0].split()), classes=["declaration"])
        below = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, below)
        return [line, below]


def reference(_role, raw, text, _lineno, _inliner, options=None, content=None):
    return [nodes.literal(raw, re.sub(r"\s*<[^>]*>$", "", text))], []


def register():
    for name in DECLARATIONS:
        directives.register_directive(f"c:{name}", Declaration)
    for name in DECLARATIONS + ("func", "data", "expr"):
        roles.register_local_role(f"c:{name}", reference)


def objections(text):
    """Lines of a message stream that say something is wrong."""
    return [line for line in text.splitlines() if line.strip()]


def kernel_doc(program, path):
    """reStructuredText of a file, and what kernel-doc objected to."""
    done = subprocess.run(["perl", program, "-rst", "-Wall", "-sphinx-version", "3.0.0", path],
                          capture_output=True, text=True, check=False)
    found = objections(done.stderr)
    if done.returncode and not found:
        found = [f"{path}: kernel-doc failed"]
    return done.stdout, found


def body(path, text):
    """HTML of reStructuredText, and what docutils objected to."""
    class Messages:
        lines = []

        def write(self, text):
            Messages.lines.append(text)

    settings = {"warning_stream": Messages(), "report_level": 2, "halt_level": 5, "output_encoding": "unicode",
                "file_insertion_enabled": False, "raw_enabled": False, "stylesheet_path": None, "doctitle_xform": False}
    page = publish_string(text, source_path=path, writer_name="html5", settings_overrides=settings)
    inner = page[page.index("<body"):page.rindex("</body>")]
    return inner[inner.index(">") + 1:], objections("".join(Messages.lines))


def opening(source):
    """The comment that a file opens with, behind the licence, as it stands."""
    match = OPENING.match(source)
    return re.sub(r"^ \* ?", "", match[1], flags=re.M).strip("\n") if match else ""


def section(program, path, source):
    rst, wrong = kernel_doc(program, path)
    text, more = body(path, rst)
    top = opening(source)
    words = f"<h2 id=\"{html.escape(os.path.basename(path))}\">{html.escape(os.path.basename(path))}</h2>\n"
    if top:
        words += f"<pre>{html.escape(top)}</pre>\n"
    return words + text, wrong + more


def write(folder, name, title, content):
    with open(os.path.join(folder, name), "w") as f:
        f.write(f"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{html.escape(title)}</title>"
                f"<style>{CSS}</style></head><body>\n<h1>{html.escape(title)}</h1>\n{content}\n</body></html>\n")


def kbuild():
    """The Kbuild files as one text, in which folders are looked for: those of rooms first, in the order of the top's."""
    with open(os.path.join(TOP, "Kbuild")) as f:
        top = f.read()
    rooms = re.search(r"^rooms := ((?:.*\\\n)*.*)", top, re.M)[1].replace("\\\n", " ").split()
    text = ""
    for room in rooms:
        with open(os.path.join(TOP, "drivers/pagoda", room, "Kbuild")) as f:
            text += f.read()
    return text + top


def ordered(folders):
    build = kbuild()

    def key(folder):
        if folder in FIRST:
            return 0, FIRST.index(folder), folder
        place = re.search(rf"\b{re.escape(folder)}/\w+\.o", build)
        # The drivers' own folders are listed among those below them: from the top down they come first.
        return (1 if folder.startswith("drivers/pagoda") else 2, place.start() if place else len(build), folder)

    return sorted(folders, key=key)


def summary(source):
    """The first sentence of a file's opening comment."""
    text = re.sub(r"\s+", " ", opening(source))
    return re.split(r"(?<=[.:])\s", text, maxsplit=1)[0].rstrip(":")


def main():
    program, out = sys.argv[1:]
    rooms, wrong = defaultdict(dict), []
    for path in sys.stdin.read().split():
        if path.endswith((".c", ".h")) and os.path.exists(os.path.join(TOP, path)):
            with open(os.path.join(TOP, path)) as f:
                source = f.read()
            if KERNEL_DOC.search(source):
                rooms[os.path.dirname(path)][path] = source
    if not rooms:
        sys.exit("docs.py: no file with kernel-doc")
    register()
    os.chdir(TOP)
    os.makedirs(out, exist_ok=True)
    index = ["<ol>"]
    for folder in ordered(rooms):
        page, content = folder.replace("/", "-") + ".html", ["<p><a href=\"index.html\">all folders</a></p>"]
        index.append(f"<li><a href=\"{page}\">{folder}</a><ul>")
        # Headers are doors: they come first.
        for path in sorted(rooms[folder], key=lambda path: (path.endswith(".c"), path)):
            text, found = section(program, path, rooms[folder][path])
            content.append(text)
            wrong += found
            name = html.escape(os.path.basename(path))
            index.append(f"<li><a href=\"{page}#{name}\">{name}</a> {html.escape(summary(rooms[folder][path]))}</li>")
        index.append("</ul></li>")
        write(out, page, folder, "\n".join(content))
    write(out, "index.html", "Pagoda", "\n".join(index + ["</ol>"]))
    print("".join(line + "\n" for line in wrong), end="")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
