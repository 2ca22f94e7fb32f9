# SPDX-License-Identifier: GPL-2.0
"""Finds where a C file in kernel style can be made wrong, and writes the file with many such mutants in it.

All mutants are in the file at once, each behind PAGODA_MUTANT(number), which is true for the one that was chosen when
the kernel booted. So a mutant is text inserted around an expression or a statement; no line is added, and the
compiler's line numbers are those of the original. What can't be said so (labels, static initializers, declarations)
isn't mutated.

Kinds: negate (a condition), ignore (a part of a condition), off_by_one, constant (another one of its kind), flag (left
out), drop (a statement), flush (a statement that flushes, orders or waits is dropped), order (lock or unlock changes
places with its neighbour).
"""
import hashlib
import re
from collections import defaultdict
from typing import NamedTuple

KINDS = ("negate", "ignore", "off_by_one", "constant", "flag", "drop", "flush", "order")
TOKEN = re.compile(r"""
    (?P<comment>/\*.*?\*/|//[^\n]*)
  | (?P<directive>^[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*)
  | (?P<string>L?"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
  | (?P<word>[A-Za-z_]\w*)
  | (?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
  | (?P<sign><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[^\s\w])
""", re.X | re.S | re.M)
CLOSES = {"(": ")", "[": "]", "{": "}"}
# Weakest first; what a row has binds equally.
LEVELS = (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"), ("+", "-"),
          ("*", "/", "%"))
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
ATTRIBUTES = {"__acquires", "__releases", "__must_hold"}
# Nothing that depends on these can be seen from outside: they check, print for a developer, or yield.
SILENT = re.compile(r"lockdep_|dma_resv_assert_held$|might_|cond_resched$|pagoda_shim_yield$|drm_dbg|drm_info|pr_|dev_|"
                    r"drm_(err|warn|notice)|BUILD_BUG|static_assert|WARN|guard$|scoped_guard$|CLASS$|LIST_HEAD$|DEFINE_|"
                    r"DECLARE_|XA_STATE|trace_|MODULE_|EXPORT_|kfree$|kvfree$|PAGODA_(PROVES|CHECK)")
ORDERING = re.compile(r"flush|fence|mb$|barrier|sync|wait|signal|invalidate|kick|tlb|drain", re.I)
LOCK = re.compile(r"(^|_)(?<!un)(lock|down_read|down_write|enter)(_irq|_irqsave|_bh|_nested)?$")
UNLOCK = re.compile(r"(^|_)(unlock|up_read|up_write|leave)(_irq|_irqrestore|_bh)?$")
CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$")
ERRNO = re.compile(r"E[A-Z0-9]+$")
ERRNOS = ("EINVAL", "EBUSY", "ENOMEM", "ENOENT", "EIO", "EFAULT", "ENODEV", "EAGAIN", "ENOSPC", "ESTALE", "ECANCELED")
TYPE_WORDS = {"struct", "union", "enum", "const", "static", "unsigned", "signed", "volatile", "register", "typeof",
              "__auto_type", "void", "char", "short", "int", "long", "bool", "size_t", "ssize_t", "loff_t", "gfp_t"}
TYPE = re.compile(r"_*[usb](8|16|32|64)$|(__)?[bl]e(16|32|64)$|\w+_t$|__virtio\d+$")
JUMPS = {"return", "break", "continue", "goto"}


class Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


class Mutant(NamedTuple):
    """front and back go around bytes start to end; shown is the plain C that the mutant is instead of them."""
    file: str
    line: int
    last_line: int
    function: str
    kind: str
    start: int
    end: int
    front: str
    back: str
    before: str
    after: str
    key: str


def tokens(text):
    found = [Token(m.lastgroup, m[0], m.start(), m.end()) for m in TOKEN.finditer(text)]
    return [t for t in found if t.kind != "comment"]


def partners(toks):
    """Index of the other bracket for each bracket."""
    pairs, stack = {}, []
    for n, token in enumerate(toks):
        if token.kind != "sign":
            continue
        if token.text in CLOSES:
            stack.append(n)
        elif stack and token.text == CLOSES[toks[stack[-1]].text]:
            pairs[n] = stack.pop()
            pairs[pairs[n]] = n
    return pairs


class Constants:
    """Which constants may stand for each other: those of an enum, and macros of a file with a common beginning."""

    def __init__(self, texts):
        self.groups = {}
        for text in texts:
            for body in re.findall(r"\benum\b[^;{}()]*\{([^{}]*)\}", re.sub(r"/\*.*?\*/", "", text, flags=re.S)):
                self.add(re.findall(r"(?:^|,)\s*([A-Z]\w*)", body))
            beginnings = defaultdict(list)
            for name in re.findall(r"^#define[ \t]+([A-Z]\w*)[ \t]+\S", text, re.M):
                beginnings[name.rsplit("_", 1)[0]].append(name)
            for names in beginnings.values():
                self.add(names)
        self.add(["DMA_RESV_USAGE_KERNEL", "DMA_RESV_USAGE_WRITE", "DMA_RESV_USAGE_READ", "DMA_RESV_USAGE_BOOKKEEP"])
        self.add(["DMA_TO_DEVICE", "DMA_FROM_DEVICE", "DMA_BIDIRECTIONAL"])

    def add(self, names):
        names = sorted(set(names))
        if len(names) > 1:
            for name in names:
                self.groups.setdefault(name, names)

    def other(self, name):
        """The neighbour of a constant, or None."""
        if ERRNO.match(name) and name in ERRNOS:
            return ERRNOS[(ERRNOS.index(name) + 1) % len(ERRNOS)]
        group = self.groups.get(name)
        return group[(group.index(name) + 1) % len(group)] if group else None


class Finder:
    """All mutants of one file."""

    def __init__(self, path, text, constants):
        self.path, self.text, self.constants = path, text, constants
        self.toks = tokens(text)
        self.pairs = partners(self.toks)
        self.found, self.function, self.seen = [], "", defaultdict(int)
        self.lines = [0] + [m.end() for m in re.finditer("\n", text)]

    def run(self):
        toks = self.toks
        n = 0
        while n < len(toks):
            token = toks[n]
            if token.text == "{" and n in self.pairs:
                if self.is_function(n):
                    self.block(n)
                n = self.pairs[n]
            n += 1
        return self.found

    # ---- What is where ----

    def is_function(self, n):
        """Whether the brace at the begin of a line follows the parameters of a function; notes its name."""
        start = self.toks[n].start
        if start and self.text[start - 1] != "\n" or self.toks[n - 1].text != ")":
            return False
        opening = self.pairs.get(n - 1, 0)
        while opening > 1 and self.toks[opening - 1].text in ATTRIBUTES:
            opening = self.pairs.get(opening - 2, 0)
        self.function = self.toks[opening - 1].text
        return self.toks[opening - 1].kind == "word"

    def line(self, position):
        low, high = 0, len(self.lines)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.lines[middle] <= position else (low, middle)
        return low + 1

    def source(self, first, last):
        return self.text[self.toks[first].start:self.toks[last].end]

    def add(self, kind, first, last, front, back, shown):
        """Tokens first to last, both included."""
        start, end = self.toks[first].start, self.toks[last].end
        line, last_line = self.line(start), self.line(end - 1)
        head = self.text[self.lines[line - 1]:start]
        tail = self.text[end:(self.lines + [len(self.text)])[last_line]]
        before = " ".join((head + self.text[start:end] + tail).split())
        after = " ".join((head + shown + tail).split())
        number = self.seen[kind, self.function, before, after]
        self.seen[kind, self.function, before, after] += 1
        name = "\t".join((self.path, self.function, kind, before, after, str(number)))
        key = hashlib.sha1(name.encode()).hexdigest()[:10]
        self.found.append(Mutant(self.path, line, last_line, self.function, kind, start, end, front, back, before, after, key))

    # ---- Statements ----

    def block(self, n):
        end, previous = self.pairs[n], None
        n += 1
        while n < end:
            first, last, call = self.statement(n)
            if previous and call:
                self.order(previous, (first, last, call))
            previous = (first, last, call) if call else None
            n = max(last, n) + 1

    def statement(self, n):
        """Looks at the statement at token n. Returns its first and last token, and what it calls if it only does so."""
        toks, pairs = self.toks, self.pairs
        first, token = n, toks[n]
        if token.kind == "directive" or token.text == ";":
            return first, n, None
        if token.text == "{":
            self.block(n)
            return first, pairs[n], None
        if token.text in ("case", "default"):
            while toks[n].text != ":":
                n += 1
            return first, n, None
        if token.kind == "word" and toks[n + 1].text == ":":
            return first, n + 1, None
        if token.text == "else":
            return first, self.statement(n + 1)[1], None
        if token.text == "do":
            last = self.statement(n + 1)[1]
            self.condition(last + 3, pairs[last + 2] - 1)
            return first, pairs[last + 2] + 1, None
        if token.kind == "word" and toks[n + 1].text == "(":
            close = pairs[n + 1]
            if token.text in ("if", "while"):
                self.condition(n + 2, close - 1)
                return first, self.statement(close + 1)[1], None
            if token.text == "for":
                self.loop(n + 2, close - 1)
                return first, self.statement(close + 1)[1], None
            # A macro that is a loop, or switch.
            if toks[close + 1].text == "{" or (toks[close + 1].kind == "word" and token.text != "return"):
                self.expression(n + 2, close - 1)
                return first, self.statement(close + 1)[1], None
        return self.simple(n)

    def simple(self, n):
        first, toks = n, self.toks
        last = self.find(n, len(toks) - 1, (";",))
        if last is None:
            return first, len(toks) - 1, None
        if toks[n].text in JUMPS:
            if last > n + 1 and toks[n].text == "return":
                self.expression(n + 1, last - 1, value=True)
            # The compiler refuses a function that ends without its value.
            if self.text[toks[last + 1].start - 1] != "\n":
                self.drop("drop", first, last)
            return first, last, None
        if self.is_declaration(n, last):
            if toks[n].text != "static":
                for begin, end in self.split(n, last - 1, (",",)):
                    assign = self.find(begin, end, ("=",))
                    if assign is not None:
                        self.expression(assign + 1, end, value=True)
            return first, last, None
        self.expression(n, last - 1)
        call = toks[n].text if toks[n].kind == "word" and toks[n + 1].text == "(" and self.pairs[n + 1] == last - 1 else None
        callee = call or next((t.text for t, u in zip(toks[n:last], toks[n + 1:last])
                               if t.kind == "word" and u.text == "("), "")
        if not SILENT.match(callee if call else ""):
            self.drop("flush" if ORDERING.search(callee) else "drop", first, last)
        return first, last, call or "="

    def drop(self, kind, first, last):
        self.add(kind, first, last, "{ if (!PAGODA_MUTANT(%d)) ", " }", ";")

    def is_declaration(self, n, last):
        toks = self.toks
        if toks[n].kind != "word":
            return False
        # guard(mutex)(&lock) declares a variable.
        if toks[n].text == "guard":
            return True
        if toks[n].text in TYPE_WORDS or TYPE.match(toks[n].text):
            return toks[n + 1].text != "("
        after = n + 1
        while after < last and toks[after].text == "*":
            after += 1
        return toks[after].kind == "word" and toks[after + 1].text in ("=", ";", ",", "[")

    def order(self, one, two):
        """A lock moves behind its follower, an unlock in front of what is before it."""
        if not (LOCK.search(one[2]) or UNLOCK.search(two[2]) or (LOCK.search(two[2]) and LOCK.search(one[2]))):
            return
        if LOCK.search(one[2]) and UNLOCK.search(two[2]):
            return
        if any(t.kind == "directive" for t in self.toks[one[0]:two[1]]):
            return
        swapped = f"{self.source(*two[:2])} {self.source(*one[:2])}"
        plain = " ".join(re.sub(r"/\*.*?\*/", "", swapped, flags=re.S).split())
        self.add("order", one[0], two[1], "{ if (PAGODA_MUTANT(%d)) { " + plain + " } else { ", " } }", plain)

    def loop(self, first, last):
        parts = [n for n in range(first, last + 1) if self.toks[n].text == ";" and not self.inside(first, n)]
        if len(parts) != 2:
            return
        if first < parts[0]:
            begin = self.find(first, parts[0] - 1, ("=",))
            self.expression(first if begin is None else begin + 1, parts[0] - 1)
        if parts[0] + 1 < parts[1]:
            self.condition(parts[0] + 1, parts[1] - 1)
        if parts[1] < last:
            self.expression(parts[1] + 1, last)

    # ---- Expressions ----

    def inside(self, first, n):
        """Whether token n is in brackets that begin at token first or later."""
        m = first
        while m < n:
            m = self.pairs[m] if self.toks[m].text in CLOSES and m in self.pairs else m
            if m >= n:
                return True
            m += 1
        return False

    def top(self, first, last):
        """Tokens that are in no brackets."""
        n = first
        while n <= last:
            yield n
            n = self.pairs.get(n, n) + 1 if self.toks[n].text in CLOSES else n + 1

    def find(self, first, last, texts):
        return next((n for n in self.top(first, last) if self.toks[n].text in texts), None)

    def is_binary(self, first, n):
        """Whether an operator stands behind an operand."""
        if n == first:
            return False
        before = self.toks[n - 1]
        if before.text == ")":
            return not self.is_type(self.pairs[n - 1] + 1, n - 2) or self.is_call(first, self.pairs[n - 1])
        return before.kind in ("number", "string") or before.text in ("]", "}", "++", "--") or \
            (before.kind == "word" and before.text not in ("return", "sizeof"))

    def is_call(self, first, opening):
        return opening > first and (self.toks[opening - 1].kind == "word" or self.toks[opening - 1].text in (")", "]"))

    def is_type(self, first, last):
        return first <= last and (self.toks[first].text in TYPE_WORDS or bool(TYPE.match(self.toks[first].text)))

    def split(self, first, last, signs):
        parts, begin = [], first
        for n in self.top(first, last):
            if self.toks[n].text in signs and (self.toks[n].text in (",", "?", ":") or self.is_binary(first, n)):
                parts.append((begin, n - 1))
                begin = n + 1
        return parts + [(begin, last)]

    def condition(self, first, last):
        """What is tested: each part of && and || for itself."""
        for sign, (front, back, shown) in {"||": ("(!PAGODA_MUTANT(%d) && (", "))", "false"),
                                           "&&": ("(PAGODA_MUTANT(%d) || (", "))", "true")}.items():
            parts = self.split(first, last, (sign,))
            if len(parts) > 1:
                for part in parts:
                    self.add("ignore", *part, front, back, shown)
                    self.condition(*part)
                return
        if self.toks[first].text == "(" and self.pairs[first] == last:
            self.condition(first + 1, last - 1)
            return
        if first <= last:
            self.add("negate", first, last, "(PAGODA_MUTANT(%d) ^ !!(", "))", f"!({self.source(first, last)})")
            self.expression(first, last)

    def expression(self, first, last, value=False):
        """value: what a function returns or a variable is set to, which is negated where it is a condition."""
        if first > last:
            return
        toks = self.toks
        parts = self.split(first, last, (",",))
        if len(parts) > 1:
            for part in parts:
                self.expression(*part)
            return
        assign = next((n for n in self.top(first, last) if toks[n].text in ASSIGNMENTS), None)
        if assign is not None:
            self.brackets(first, assign - 1)
            self.expression(assign + 1, last, value=True)
            return
        question = self.find(first, last, ("?",))
        if question is not None:
            colon = [n for n in self.top(question, last) if toks[n].text == ":"]
            # Of a ?: b the condition is a value, too.
            if question + 1 in colon:
                self.expression(first, question - 1)
            else:
                self.condition(first, question - 1)
            if colon:
                self.expression(question + 1, colon[-1] - 1)
                self.expression(colon[-1] + 1, last)
            return
        for level in LEVELS:
            parts = self.split(first, last, level)
            if len(parts) > 1:
                self.operands(level, parts, value)
                return
        if value and toks[first].text == "!":
            self.condition(first, last)
            return
        self.operand(first, last)

    def operands(self, level, parts, value):
        whole = (parts[0][0], parts[-1][1])
        if level[0] in ("||", "&&") or (value and level[0] in ("==", "<")):
            if level[0] in ("||", "&&"):
                self.condition(*whole)
                return
            self.add("negate", *whole, "(PAGODA_MUTANT(%d) ^ !!(", "))", f"!({self.source(*whole)})")
        if level[0] == "<":
            self.off_by_one(*parts[-1])
        for n, part in enumerate(parts):
            if level[0] in ("|", "&") and self.is_flag(*part) and (level[0] == "|" or n):
                self.add("flag", *part, "(PAGODA_MUTANT(%d) ? 0 : (", "))", "0")
            self.expression(*part)

    def off_by_one(self, first, last):
        # What a number is on its own is seen to by leaf().
        if first == last and self.is_small(first):
            return
        self.add("off_by_one", first, last, "((", ") + PAGODA_MUTANT(%d))", f"{self.source(first, last)} + 1")

    def is_flag(self, first, last):
        word = self.toks[first].text
        return self.toks[first].kind == "word" and ((first == last and word.isupper()) or
                                                    (word in ("BIT", "BIT_ULL") and self.pairs[first + 1] == last))

    def operand(self, first, last):
        toks = self.toks
        while first < last and toks[first].text in ("!", "~", "-", "+", "*", "&", "++", "--"):
            first += 1
        if first == last:
            self.leaf(first)
            return
        if toks[first].text == "sizeof":
            return
        if toks[first].text == "(" and self.is_type(first + 1, self.pairs[first] - 1):
            close = self.pairs[first]
            if close < last:
                self.expression(close + 1, last)
            return
        if toks[first].text == "{":
            self.initializer(first, last)
            return
        self.brackets(first, last)

    def brackets(self, first, last):
        """Arguments, indices and what is in parentheses."""
        n = first
        while n <= last:
            token = self.toks[n]
            if token.text in CLOSES and n in self.pairs:
                close, name = self.pairs[n], self.toks[n - 1].text if n > first else ""
                if token.text == "{":
                    self.initializer(n, close)
                elif name not in ("sizeof", "offsetof", "container_of", "struct_size", "typeof", "READ_ONCE") and \
                        not (self.toks[n - 1].kind == "word" and SILENT.match(name)) and n + 1 < close:
                    self.expression(n + 1, close - 1)
                    if token.text == "[" and close - n > 1:
                        self.off_by_one(n + 1, close - 1)
                n = close
            n += 1

    def initializer(self, first, last):
        for begin, end in self.split(first + 1, last - 1, (",",)):
            assign = self.find(begin, end, ("=",))
            if begin <= end:
                self.expression(begin if assign is None else assign + 1, end)

    def is_small(self, n):
        token = self.toks[n]
        return token.kind == "number" and token.text[:2].lower() != "0x" and "." not in token.text

    def leaf(self, n):
        token = self.toks[n]
        if self.is_small(n):
            self.add("off_by_one", n, n, "(", " + PAGODA_MUTANT(%d))", f"({token.text} + 1)")
        elif token.text in ("true", "false"):
            self.add("constant", n, n, "(PAGODA_MUTANT(%d) ^ ", ")", "false" if token.text == "true" else "true")
        elif token.kind == "word" and (CONSTANT.match(token.text) or ERRNO.match(token.text)):
            other = self.constants.other(token.text)
            if other:
                self.add("constant", n, n, "(PAGODA_MUTANT(%d) ? " + other + " : ", ")", other)


def crosses(one, two):
    """Whether two mutants of a file can't both be in it: one begins in the other and ends behind it, or is the other."""
    if (one.start, one.end, one.kind) == (two.start, two.end, two.kind):
        return True
    first, second = sorted((one, two), key=lambda m: (m.start, -m.end))
    return second.start < first.end < second.end


def write(text, chosen):
    """The file's text with mutants in it; chosen: pairs of number and mutant. Its first line is a comment."""
    inserts = []
    for number, m in chosen:
        # At one place what ends comes before what begins, the inner one first; what begins, the outer one first.
        inserts.append((m.start, 1, -m.end, number, m.front))
        inserts.append((m.end, 0, -m.start, -number, m.back))
    parts, at = [], text.index("\n")
    for position, _, _, number, insert in sorted(inserts):
        parts += [text[at:position], insert.replace("%d", str(abs(number)))]
        at = position
    return "".join(['#include "mutant.h"'] + parts + [text[at:]])
