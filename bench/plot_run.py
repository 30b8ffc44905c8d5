#!/usr/bin/env python3
"""Draws what the page of a run (bench/run.py) shows, by gnuplot.

    bench/plot_run.py RESULTS/run.jsonl [--out DIR] [--gnuplot PROGRAM]

GPU-speed-up.svg: how many times as fast as on the CPU calls are from host to host, by their order.  GPU-roofline.svg: operations a second over
operations for each byte that the bus moves, below what the bus and the GPU allow.  A routine is in it from three orders on; a picture without routines
is not made.  GPU-timeline.svg: when the bus and the GPU were busy with a call (bench/call_timeline.py).  Prints the files' names.  Status 77 without
gnuplot.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import run_records
from common import Store
from figures import COLOURS, Curve, Figure, Points, draw_all, drawing_options, plot, read_drawing_options, records_of

DRAWN = ("gemm", "potrf", "getrf", "geqrf", "syevd", "gesdd")
OPERATIONS = {"gemm": 2, "potrf": 1 / 3, "getrf": 2 / 3, "geqrf": 4 / 3}
"""Of routines that everybody counts alike; times the order's third power."""
LEAST = 3
"""Points of a curve."""


def curves(store: Store, value) -> dict[str, Points]:
    """By routine, of the orders for which `value(routine, order, records by way)` is a point."""
    found = {}
    for name, sizes in run_records.calls(store).items():
        if name in DRAWN:
            points = [point for size, records in sizes.items() if (point := value(name, int(size), records))]
            if len(points) >= LEAST:
                found[name] = points
    return {name: found[name] for name in DRAWN if name in found}


def style(name: str) -> str:
    return f'linespoints lw 2 pt 7 ps 0.6 lc rgb "{COLOURS[1 + DRAWN.index(name)]}"'


def speed_up(store: Store) -> Figure | None:
    def value(_name: str, n: int, records: dict[str, dict]):
        if "cpu" in records and "host" in records:
            return n, records["cpu"]["median"] / records["host"]["median"]

    found = curves(store, value)
    if not found:
        return None
    title = "Double precision, matrices in the host's memory, everything moves in every call"
    return Figure(f"{run_records.short_name(store)}-speed-up", title, [Curve(name, points, style(name)) for name, points in found.items()],
                  settings=["set logscale y 2"], ylabel="times as fast as on the CPU")


@dataclass
class Roofline:
    curves: dict[str, Points]
    bus: float
    """Bytes a second one way, from and to pinned memory."""
    peak: float
    """Operations a second of the fastest gemm in device memory."""


def roofline(store: Store) -> Roofline | None:
    def value(name: str, n: int, records: dict[str, dict]):
        host = records.get("host", {})
        moved = max(host.get("bytes_in", 0), host.get("bytes_out", 0))  # both ways at once
        if moved and name in OPERATIONS:
            operations = OPERATIONS[name] * n**3
            return operations / moved, operations / host["median"]

    found, bus = curves(store, value), store.get("bus/pinned")
    rates = [OPERATIONS["gemm"] * int(size) ** 3 / records[way]["median"]
             for size, records in run_records.calls(store).get("gemm", {}).items() for way in ("device", "vendor") if way in records]
    return Roofline(found, max(bus["in"], bus["out"]), max(rates)) if found and bus and rates else None


def roofline_script(x: Roofline, origin: tuple[str, str], out: Path) -> str:
    """A whole gnuplot program, data included."""
    knee = x.peak / x.bus
    least = min(p[0] for points in x.curves.values() for p in points) / 1.5
    most = max(knee, *(p[0] for points in x.curves.values() for p in points)) * 1.5
    slowest = min(p[1] for points in x.curves.values() for p in points)
    lines = [
        'set terminal svg size 860,520 dynamic font "sans-serif,13" background rgb "white"',
        f'set output "{out}"',
        'set title "Double precision, from host to host, below what the bus and the GPU allow' + "".join(f"\\n{{/*0.7 {part}}}" for part in origin) + '"',
        "set logscale x 2",
        "set logscale y",
        f"set xrange [{least:g}:{most:g}]",
        f"set yrange [{slowest / 2:g}:{2 * x.peak:g}]",
        'set format y "%.0s %cflop/s"',
        'set xlabel "operations for each byte over the bus, in its busier direction"',
        "set grid lt 1 lw 1 lc rgb '#dddddd'",
        "set border 3",
        "set tics nomirror",
        "set key top left Left reverse noenhanced",
        "$roof << END", f"{least:g} {least * x.bus:g}", f"{knee:g} {x.peak:g}", f"{most:g} {x.peak:g}", "END",
    ]
    plots = [f'$roof using 1:2 with lines lw 2 lc rgb "black" title "bus {x.bus / 1e9:.1f} GB/s, gemm {x.peak / 1e12:.1f} Tflop/s"']
    for name, points in x.curves.items():
        lines += [f"${name} << END", *(f"{a:g} {b:g}" for a, b in points), "END"]
        plots.append(f'${name} using 1:2 with {style(name)} title "{name}"')
    return "\n".join([*lines, "plot " + ", \\\n  ".join(plots)]) + "\n"


ROWS = {"in": "to the GPU", "products": "products", "others": "other kernels", "out": "from the GPU"}
"""Of a timeline, from above."""


def timeline(store: Store) -> dict | None:
    """The first that there is."""
    return next((record for key in store.records if key.startswith("timeline/") and (record := store.get(key))), None)


def timeline_script(record: dict, origin: tuple[str, str], out: Path) -> str:
    """A whole gnuplot program, data included."""
    end = max(bar[1] for row in record["bars"].values() for bar in row)
    title = f"d{record['routine']} of order {record['order']:,} from the host's memory to the host's memory, one call"
    labels = ", ".join(f'"{label}" {len(ROWS) - 1 - i}' for i, label in enumerate(ROWS.values()))
    lines = [
        'set terminal svg size 860,300 dynamic font "sans-serif,13" background rgb "white"',
        f'set output "{out}"',
        f'set title "{title}' + "".join(f"\\n{{/*0.7 {part}}}" for part in origin) + '"',
        'set xlabel "milliseconds"',
        f"set xrange [0:{end:g}]",
        f"set yrange [-0.7:{len(ROWS) - 0.3:g}]",
        f"set ytics ({labels}) nomirror",
        "set xtics nomirror",
        "set border 3",
        "unset key",
        "set style fill solid 1.0 noborder",
    ]
    plots = []
    for i, kind in enumerate(ROWS):
        if bars := record["bars"].get(kind):
            y = len(ROWS) - 1 - i
            lines += [f"${kind} << END", *(f"{(a + b) / 2:g} {y} {a:g} {b:g} {y - 0.35:g} {y + 0.35:g}" for a, b in bars), "END"]
            plots.append(f'${kind} using 1:2:3:4:5:6 with boxxyerror lc rgb "{COLOURS[1 + i]}"')
    return "\n".join([*lines, "plot " + ", \\\n  ".join(plots)]) + "\n"


def pictures(store: Store) -> dict[str, str]:
    """What there is to draw: the file's name without its ending, by speed-up, roofline and timeline."""
    name = run_records.short_name(store)
    return {what: f"{name}-{what}" for what, found in (("speed-up", speed_up(store)), ("roofline", roofline(store)), ("timeline", timeline(store))) if found}


def main() -> None:
    parser = drawing_options(__doc__)
    parser.add_argument("results", type=Path)
    arguments = read_drawing_options(parser)
    store = records_of([arguments.results])
    there = pictures(store)
    if figure := speed_up(store):
        draw_all(arguments, [figure], store)
    if found := roofline(store):
        out = arguments.out / f"{there['roofline']}.svg"
        plot(arguments, roofline_script(found, store.origin(), out), out)
    if record := timeline(store):
        out = arguments.out / f"{there['timeline']}.svg"
        plot(arguments, timeline_script(record, store.origin(), out), out)


if __name__ == "__main__":
    main()
