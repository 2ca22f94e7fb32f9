#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Draws what a run moved: residency.py --trace TRACE.txt [--log REPLAY.log] [--columns N] -o OUT.svg

TRACE.txt is what tracefs or trace-cmd report gives of the events pagoda_bo_move, pagoda_bo_free, pagoda_op, pagoda_budget
and pagoda_trim, of the marks "frame N" that replay writes and, if they are there, of drm_sched's events and gpu_mem_total.
REPLAY.log, if there is one, is replay's output: its name, numbers and VRAM size.

Above: bytes resident by segment over time; the budget for VRAM of the program that wrote the marks, and what it and
others use of it; gpu_mem_total of all processes. Between: when it was told to trim, evictions by reason, and when each of
drm_sched's rings had a job. Below: bytes a second into and out of VRAM.

With --columns time is divided into N columns for a smaller file, and each column shows the average of its part of
the run, of the lines, too. The numbers in the texts stay those of the whole trace.
"""
import argparse
import re
import sys
from collections import Counter, defaultdict
from xml.sax.saxutils import escape

LINE = re.compile(r"-(\d+)\s.*?\s(\d+\.\d+): (\w+): (.*)$")
FIELD = re.compile(r"(\w+)=(\S+)")
FRAME = re.compile(r"(?:^|: )frame (\d+)")
SEGMENTS = ("vram", "aperture", "system")
MIB = 1024 * 1024

WIDTH, LEFT, RIGHT = 1280, 84, 28
PLOT = WIDTH - LEFT - RIGHT
AREA_TOP, AREA_HEIGHT = 152, 300
TRIMS_TOP, TRIMS_HEIGHT = 486, 18
TICKS_TOP, TICKS_HEIGHT = 534, 16
# Without a row of drm_sched's.
FLOW_TOP, FLOW_HEIGHT = 660, 220
HEIGHT, ROW = 950, TICKS_HEIGHT + 22

INK, SOFT, GRID = "#1f2933", "#616e7c", "#e4e7eb"
COLOURS = {"vram": "#2f6db3", "aperture": "#e9a93a", "system": "#c3ccd6", "in": "#1f9e89", "out": "#d1495b",
           "evict": "#6b2fa0", "budget": "#c2185b", "usage": "#ffd23f", "others": "#8df7a8", "job": "#3d5a80", "total": "#0b132b"}
NAMES = {"vram": "VRAM", "aperture": "aperture (system memory the GPU uses)", "system": "system memory (evicted, or not used yet)"}

# drm_sched's events that begin and end a job, by the names of older and newer kernels.
JOB_BEGINS, JOB_ENDS = ("drm_run_job", "drm_sched_job_run"), ("drm_sched_process_job", "drm_sched_job_done")
# Rows of evictions: what a move out of VRAM was for, by the driver's reasons.
REASONS = {"evict": "to make room for others", "request": "on request", None: "for anything else"}


class Run:
    """What the trace says, as lists of (time, ...); budgets: of (time, pid, budget, usage), trims: of (time, pid).

    rings: lists of (time, (whether a job is in flight,)) by the ring's name.
    """

    def __init__(self, path, columns=None):
        self.columns, self.thin = columns or PLOT, columns is not None
        self.levels, self.flows, self.evictions, self.frames = [], [], [], []
        self.budgets, self.trims, self.pid = [], [], None
        self.where, self.bytes = {}, dict.fromkeys(SEGMENTS, 0)
        self.rings, self.flying, self.totals = {}, {}, []
        self.built = defaultdict(Counter)
        self.moves, built = [], False
        self.first = self.last = None
        with open(path, errors="replace") as f:
            for line in f:
                m = LINE.search(line)
                if not m:
                    continue
                pid, time, event, text = int(m[1]), float(m[2]), m[3], m[4]
                if event.startswith("pagoda_"):
                    self.first = time if self.first is None else self.first
                    self.last = time
                fields = dict(FIELD.findall(text))
                if event == "pagoda_bo_move":
                    self.move(time, fields)
                elif event == "pagoda_bo_free":
                    self.place(time, fields["bo"], 0, "none")
                elif event == "pagoda_budget" and fields["group"] == "local":
                    self.budgets.append((time, int(fields["pid"]), int(fields["budget"]), int(fields["usage"])))
                elif event == "pagoda_trim" and fields["group"] == "local":
                    self.trims.append((time, int(fields["pid"]), int(fields["excess"])))
                elif event == "pagoda_op":
                    built = True
                    self.operation(fields)
                elif event == "pagoda_complete":
                    self.complete(time, fields)
                elif event in JOB_BEGINS or event in JOB_ENDS:
                    self.job(time, fields["fence"].rstrip(","), fields.get("ring", "").rstrip(","))
                elif event == "gpu_mem_total" and fields["pid"] == "0":
                    self.totals.append((time, int(fields["size"]) / MIB))
                elif event in ("tracing_mark_write", "0", "print") or "mark_write" in event:
                    if m := FRAME.search(text.strip()):
                        self.frames.append((time, int(m[1])))
                        self.pid = pid
        if not built:
            self.flows = self.moves
        if self.first is None:
            sys.exit(f"residency.py: no events of the driver in {path}")
        self.last = max(self.last, self.first + 1e-3)

    def place(self, time, bo, size, segment):
        old_size, old = self.where.pop(bo, (0, "none"))
        if old in self.bytes:
            self.bytes[old] -= old_size
        if segment in self.bytes:
            self.where[bo] = (size, segment)
            self.bytes[segment] += size
        self.levels.append((time, tuple(self.bytes[s] for s in SEGMENTS)))

    def move(self, time, fields):
        size, source, target = int(fields["size"]), fields["from"], fields["to"]
        self.place(time, fields["bo"], size, target)
        if source == "vram" and target in ("system", "aperture"):
            reason = fields.get("reason")
            self.evictions.append((time, reason if reason in REASONS else None))
            self.moves.append((time, "out", size))
        elif target == "vram" and source in ("system", "aperture"):
            self.moves.append((time, "in", size))

    def job(self, time, fence, ring):
        """A job begins on a ring, or ends: its fence says of which ring the job is."""
        if ring:
            self.flying[fence] = ring
        else:
            ring = self.flying.pop(fence, None)
        if ring:
            busy = ring in self.flying.values()
            self.rings.setdefault(ring, []).append((time, (float(busy),)))

    def operation(self, fields):
        # An operation that takes several passes is shown once for each.
        if fields.get("op") != "TRANSFER" or fields.get("pass", "0") != "0":
            return
        source, target = fields["src"], fields["dst"]
        if source != target and "vram" in (source, target):
            way = "in" if target == "vram" else "out"
            self.built[fields["id"]][way] += int(fields["bytes"])

    def complete(self, time, fields):
        """A paging buffer's bytes have moved, but for those that didn't leave VRAM because they weren't written."""
        moved = self.built.pop(fields["id"], None)
        if moved and fields["error"] == "0":
            moved["out"] -= int(fields.get("skipped", 0))
            self.flows += [(time, way, moved[way]) for way in ("in", "out")]


def averages(run, levels, width):
    """For each column the averages of (time, tuple of width numbers), weighted by time."""
    span = (run.last - run.first) / run.columns
    sums = [[0.0] * width for _ in range(run.columns)]
    now, at = (0,) * width, 0.0
    for time, level in levels + [(run.last, None)]:
        end = min(max(time - run.first, 0) / span, run.columns)
        for column in range(int(at), min(int(end) + 1, run.columns)):
            part = min(end, column + 1) - max(at, column)
            if part > 0:
                for n, value in enumerate(now):
                    sums[column][n] += value * part
        now, at = level, end
    return sums


def nice_step(highest, most):
    """A round distance between ticks, so that there are at most so many."""
    step = 10.0 ** -6
    while True:
        for factor in (1, 2, 5):
            if highest / (step * factor) <= most:
                return step * factor
        step *= 10


def ticks(highest, most):
    step = nice_step(highest, most)
    return [n * step for n in range(int(highest / step + 1e-9) + 1)]


def number(value):
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.3g}"


def size(value):
    return f"{value / 1024 / MIB:.2f} GiB" if value >= 1024 * MIB else f"{value / MIB:.1f} MiB"


class Svg:
    def __init__(self, rows):
        """rows: how many of drm_sched's rings have one."""
        self.flow_top, height = FLOW_TOP + rows * ROW, HEIGHT + rows * ROW
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            'font-family="Inter, Helvetica, Arial, sans-serif" font-size="13">',
            f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>']

    def text(self, x, y, text, anchor="start", fill=INK, extra=""):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}" {extra}>{escape(text)}</text>')

    def line(self, x1, y1, x2, y2, stroke=GRID, extra=""):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}" {extra}/>')

    @staticmethod
    def corners(points):
        """Without points that lie on a horizontal line between their neighbours."""
        rows = [f"{y:.1f}" for _, y in points]
        return [p for n, p in enumerate(points)
                if not 0 < n < len(points) - 1 or not rows[n - 1] == rows[n] == rows[n + 1]]

    def area(self, lower, upper, fill):
        lower, upper = self.corners(lower), self.corners(upper)
        points = [f"{LEFT + x:.1f},{y:.1f}" for x, y in upper] + [f"{LEFT + x:.1f},{y:.1f}" for x, y in reversed(lower)]
        self.parts.append(f'<polygon points="{" ".join(points)}" fill="{fill}"/>')

    def polyline(self, points, stroke, extra=""):
        text = " ".join(f"{LEFT + x:.1f},{y:.1f}" for x, y in self.corners(points))
        self.parts.append(f'<polyline points="{text}" fill="none" stroke="{stroke}" {extra}/>')

    def rect(self, x, y, width, height, fill, extra=""):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.2f}" fill="{fill}" {extra}/>')

    def legend(self, x, y, entries):
        """entries: (colour, text, dashed). Widths are estimated from the text's length."""
        for colour, text, dashed in entries:
            if dashed:
                self.line(x, y - 4, x + 22, y - 4, colour, 'stroke-width="2" stroke-dasharray="6 4"')
            else:
                self.rect(x, y - 11, 14, 14, colour, 'rx="2"')
            self.text(x + (28 if dashed else 20), y, text, fill=SOFT)
            x += (28 if dashed else 20) + 6.9 * len(text) + 22

    def axis_name(self, y, text):
        self.text(0, 0, text, "middle", SOFT, f'transform="translate(22 {y:.0f}) rotate(-90)"')

    def write(self, path):
        with open(path, "w") as f:
            f.write("\n".join(self.parts) + "\n</svg>\n")


def step_points(values, y_of):
    """The outline of columns: flat over each column."""
    width = PLOT / len(values)
    return [(n * width + dx, y_of(v)) for n, v in enumerate(values) for dx in (0, width)]


def line_points(run, values, y_of):
    """The outline of (time, value): each holds until the next, or is averaged over the columns from the first on."""
    if run.thin:
        before = int((values[0][0] - run.first) / (run.last - run.first) * run.columns)
        # The column that begins before the first value has no average of its own.
        means = averages(run, [(time, (value,)) for time, value in values], 1)[max(before + 1, 0):]
        left = PLOT * (run.columns - len(means)) / run.columns
        return [(left + x * len(means) / run.columns, y) for x, y in step_points([m[0] for m in means], y_of)]
    points, x_of = [], lambda time: PLOT * (time - run.first) / (run.last - run.first)
    for n, (time, value) in enumerate(values):
        end = values[n + 1][0] if n + 1 < len(values) else run.last
        points += [(x_of(max(time, run.first)), y_of(value)), (x_of(max(end, run.first)), y_of(value))]
    return points


def usage_of_others(run):
    """(time, bytes): the sum over the programs that don't write the marks."""
    now, found = {}, []
    for time, pid, _, usage in run.budgets:
        if pid != run.pid:
            now[pid] = usage
            found.append((time, sum(now.values())))
    return found


def draw_budgets(svg, run, y_of):
    """Returns what the legend needs."""
    mine = [b for b in run.budgets if b[1] == run.pid and b[2]]
    lines = [("usage", [(t, usage / MIB) for t, _, _, usage in mine], "VRAM it uses", "1.5"),
             ("others", [(t, usage / MIB) for t, usage in usage_of_others(run)], "VRAM others use", "1.5"),
             ("budget", [(t, budget / MIB) for t, _, budget, _ in mine], "its VRAM budget", "2.5")]
    entries = []
    for name, values, text, width in lines:
        if values:
            svg.polyline(line_points(run, values, y_of), COLOURS[name], f'stroke-width="{width}"')
            entries.append((COLOURS[name], text, False))
    return entries


def draw_residency(svg, run, vram):
    columns = averages(run, run.levels, len(SEGMENTS))
    highest = max([sum(c) for c in columns] + [vram or 0, MIB]) / MIB
    grid = ticks(highest * 1.02, 6)
    top = max(highest * 1.04, grid[-1])

    def y_of(mib):
        return AREA_TOP + AREA_HEIGHT * (1 - mib / top)

    for value in grid:
        svg.line(LEFT, y_of(value), LEFT + PLOT, y_of(value))
        svg.text(LEFT - 10, y_of(value) + 4.5, number(value), "end", SOFT)
    below = [0.0] * run.columns
    for n, segment in enumerate(SEGMENTS):
        above = [b + c[n] / MIB for b, c in zip(below, columns)]
        if max(a - b for a, b in zip(above, below)) > 0:
            svg.area(step_points(below, y_of), step_points(above, y_of), COLOURS[segment])
        below = above
    entries = [(COLOURS[s], NAMES[s], False) for n, s in enumerate(SEGMENTS) if max(c[n] for c in columns) > 0]
    if vram:
        svg.line(LEFT, y_of(vram / MIB), LEFT + PLOT, y_of(vram / MIB), INK, 'stroke-width="2" stroke-dasharray="6 4"')
        entries.append((INK, f"size of VRAM: {number(vram / MIB)} MiB", True))
    svg.legend(LEFT, AREA_TOP - 54, entries)
    lines = draw_budgets(svg, run, y_of)
    if run.totals:
        svg.polyline(line_points(run, run.totals, y_of), COLOURS["total"], 'stroke-width="1.5"')
        lines.append((COLOURS["total"], "gpu_mem_total of all processes", False))
    svg.legend(LEFT, AREA_TOP - 34, lines)
    svg.axis_name(AREA_TOP + AREA_HEIGHT / 2, "resident (MiB)")
    svg.line(LEFT, AREA_TOP + AREA_HEIGHT, LEFT + PLOT, AREA_TOP + AREA_HEIGHT, SOFT)


def column_of(run, time):
    return min(int((time - run.first) / (run.last - run.first) * run.columns), run.columns - 1)


def draw_strip(svg, run, top, height, times, colour):
    """A tick for each time; the darker, the more. Returns the most in one column."""
    counts, width = [0] * run.columns, PLOT / run.columns
    for time in times:
        counts[column_of(run, time)] += 1
    most = max(counts + [1])
    svg.rect(LEFT, top, PLOT, height, "#f5f3f8")
    for n, count in enumerate(counts):
        if count:
            shade = 0.25 + 0.75 * count / most
            svg.rect(LEFT + n * width, top, width, height, colour, f'fill-opacity="{shade:.2f}"')
    return most


def draw_trims(svg, run):
    mine = [(time, excess) for time, pid, excess in run.trims if pid == run.pid]
    draw_strip(svg, run, TRIMS_TOP, TRIMS_HEIGHT, [time for time, _ in mine], COLOURS["budget"])
    most = f", at most {size(max(excess for _, excess in mine))} over its budget" if mine else ""
    svg.text(LEFT, TRIMS_TOP - 6, f"told to trim: {len(mine):,} times{most}", fill=SOFT)


def draw_evictions(svg, run):
    for n, (reason, text) in enumerate(REASONS.items()):
        top = TICKS_TOP + n * ROW
        times = [time for time, why in run.evictions if why == reason]
        most = draw_strip(svg, run, top, TICKS_HEIGHT, times, COLOURS["evict"])
        width = (run.last - run.first) / run.columns * 1000
        scale = f", each a tick; the darker, the more (up to {most:,} in {width:.0f} ms)" if times else ""
        svg.text(LEFT, top - 5, f"evictions {text}: {len(times):,}{scale}", fill=SOFT)


def draw_jobs(svg, run):
    """A row for each ring; the darker, the larger the part of the time in which the ring had a job."""
    width, span = PLOT / run.columns, run.last - run.first
    for n, (ring, levels) in enumerate(sorted(run.rings.items())):
        top = TICKS_TOP + (len(REASONS) + n) * ROW
        shares = [share for share, in averages(run, levels, 1)]
        svg.rect(LEFT, top, PLOT, TICKS_HEIGHT, "#f3f5f8")
        for column, share in enumerate(shares):
            if share > 0.005:
                svg.rect(LEFT + column * width, top, width, TICKS_HEIGHT, COLOURS["job"], f'fill-opacity="{share:.2f}"')
        busy = sum(shares) / len(shares)
        svg.text(LEFT, top - 5, f"jobs of {ring}: in flight for {busy * span:.1f} s of {span:.1f}", fill=SOFT)


def draw_flow(svg, run):
    buckets = min(320, run.columns)
    seconds = (run.last - run.first) / buckets
    rates = {"in": [0.0] * buckets, "out": [0.0] * buckets}
    for time, way, amount in run.flows:
        rates[way][min(int((time - run.first) / seconds), buckets - 1)] += amount / MIB / seconds
    high, low = max(rates["in"] + [1e-3]), max(rates["out"] + [1e-3])
    step = nice_step(high + low, 8)
    # Each side gets the room it needs, on one scale.
    high, low = (max(step, step * int(v / step + 0.999)) for v in (high, low))
    scale = FLOW_HEIGHT / (high + low)
    zero = svg.flow_top + high * scale
    for n in range(-int(low / step + 1e-9), int(high / step + 1e-9) + 1):
        y = zero - n * step * scale
        svg.line(LEFT, y, LEFT + PLOT, y)
        svg.text(LEFT - 10, y + 4.5, number(abs(n * step)), "end", SOFT)
    base = [(0, zero), (PLOT, zero)]
    svg.area(base, step_points(rates["in"], lambda v: zero - v * scale), COLOURS["in"])
    svg.area(base, step_points(rates["out"], lambda v: zero + v * scale), COLOURS["out"])
    svg.line(LEFT, zero, LEFT + PLOT, zero, SOFT)
    totals = {way: sum(a for _, w, a in run.flows if w == way) for way in ("in", "out")}
    svg.legend(LEFT, svg.flow_top - 14, [(COLOURS["in"], f"paged in, upwards: {size(totals['in'])}", False),
                                     (COLOURS["out"], f"paged out, downwards: {size(totals['out'])}", False)])
    svg.axis_name(svg.flow_top + FLOW_HEIGHT / 2, "paging traffic (MiB/s)")


def draw_time(svg, run):
    span = run.last - run.first
    bottom = svg.flow_top + FLOW_HEIGHT
    for value in ticks(span, 14):
        x = LEFT + PLOT * value / span
        svg.line(x, bottom, x, bottom + 6, SOFT)
        svg.text(x, bottom + 22, number(value), "middle", SOFT)
    svg.text(LEFT + PLOT / 2, bottom + 46, "time (s)", "middle", SOFT)
    if not run.frames:
        return
    step = max(1, round(nice_step(run.frames[-1][1], 12)))
    right = -100.0
    for time, frame in run.frames:
        x = LEFT + PLOT * (time - run.first) / span
        # Frames can be uneven: a mark that would touch the one before is left out.
        if frame % step or x < right + 56 or x > LEFT + PLOT:
            continue
        svg.line(x, AREA_TOP - 8, x, bottom, "#9aa5b1", 'stroke-dasharray="1 4" stroke-opacity="0.7"')
        svg.text(x, AREA_TOP - 13, f"frame {frame:,}", "middle", SOFT, 'font-size="11"')
        right = x


def log_facts(path):
    """Name, VRAM and the last line's numbers, as far as replay said them."""
    facts = {}
    if not path:
        return facts
    with open(path, errors="replace") as f:
        text = f.read()
    if m := re.search(r"^trace (\S+): .*?VRAM (\d+) MiB.*?$", text, re.M):
        facts["name"], facts["vram"] = m[1], int(m[2]) * MIB
        facts["plan"] = m[0].split(": ", 1)[1]
    if m := re.findall(r"^replay (\S+): (.*mismatches=\d+)$", text, re.M):
        facts["name"] = m[-1][0]
        facts.update((k, int(v)) for k, v in FIELD.findall(m[-1][1]))
    return facts


def check(run, facts):
    """What the trace says was copied is what the replay says."""
    for way in ("in", "out"):
        traced, told = sum(amount for _, w, amount in run.flows if w == way), facts.get("paged_" + way)
        if told is not None and abs(traced - told) > told / 100 + MIB:
            sys.exit(f"residency.py: paged {way}: {traced} bytes by the trace, {told} by the replay")


def draw_title(svg, run, facts):
    svg.text(LEFT, 38, f"{facts.get('name', 'replay')}: what was resident where, and what moved",
             extra='font-size="22" font-weight="600"')
    parts = [facts["plan"]] if "plan" in facts else []
    if "frames" in facts:
        parts.append(f"{facts['frames']:,} frames in {run.last - run.first:.1f} s")
        parts.append(f"{facts['mismatches']:,} mismatches")
    svg.text(LEFT, 64, "; ".join(parts) or f"{run.last - run.first:.1f} s", fill=SOFT, extra='font-size="14"')


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--trace", required=True)
    p.add_argument("--log")
    p.add_argument("-o", "--output", required=True)
    p.add_argument("--columns", type=int, help="columns of time (default: one a point of the picture's width)")
    args = p.parse_args()
    run, facts = Run(args.trace, args.columns), log_facts(args.log)
    check(run, facts)
    svg = Svg(len(run.rings))
    draw_title(svg, run, facts)
    draw_residency(svg, run, facts.get("vram"))
    draw_trims(svg, run)
    draw_evictions(svg, run)
    draw_jobs(svg, run)
    draw_flow(svg, run)
    draw_time(svg, run)
    svg.write(args.output)


if __name__ == "__main__":
    main()
