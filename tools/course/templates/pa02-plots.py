#!/usr/bin/env python3
"""Plots of {{roll}}: every value is written below, none is read from a file."""

import math
import os
import textwrap

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

SYSTEM = {{system}} + {{counts}}
NAMES = ["two-copy", "one-copy", "zero-copy"]

# A row a cell of {{roll}}_Part_C_Results.csv; "_low" and "_high" are the ends of a figure's interval.
COLUMNS = {{columns}}
ROWS = [
{{rows}}]

# File, title, what the x axis is, and the columns of which each has a panel where it was measured.
FIGURES = [
    ("Throughput", "Throughput by message size", "message_bytes", ["throughput_gbps"]),
    ("Throughput_by_Threads", "Throughput by thread count", "threads", ["throughput_gbps"]),
    ("Latency", "Latency by thread count", "threads", ["latency_us"]),
    (
        "Cache_Misses",
        "Cache misses by message size",
        "message_bytes",
        [
            "l1_misses_per_message",
            "llc_misses_per_message",
            "cache_misses_per_message",
            "modelled_l1d_misses_per_message",
            "modelled_l1i_misses_per_message",
            "modelled_l2_misses_per_message",
            "modelled_llc_misses_per_message",
        ],
    ),
    ("Cycles_per_Byte", "CPU cycles per byte, by message size", "message_bytes", ["cycles_per_byte", "tsc_cycles_per_byte"]),
]


# What a panel says of columns that no hardware counter made, and what fills them.
MODELLED = "modelled cache, emulated CPU"
HOW = {
    "Cache_Misses": "syscost lab --count cache --out CACHE\nsyscost course pa02 --roll {{roll}} --cache CACHE RUN",
}


def panels(along, columns):
    """A panel for each measured column and value of what is not plotted: column, value, rows."""
    rows = [dict(zip(COLUMNS, row)) for row in ROWS]
    other = "threads" if along == "message_bytes" else "message_bytes"
    for column in columns:
        measured = [row for row in rows if row[column] is not None]
        for value in sorted({row[other] for row in measured}):
            of = f" ({MODELLED})" if column.startswith("modelled_") else ""
            yield column, f"{other} {value}{of}", [row for row in measured if row[other] == value]


def draw(axes, along, column, rows):
    for index, name in enumerate(NAMES):
        line = sorted((row for row in rows if row["name"] == name), key=lambda row: row[along])
        if not line:
            continue
        below = [row[column] - row[column + "_low"] for row in line]
        above = [row[column + "_high"] - row[column] for row in line]
        x, y = [row[along] for row in line], [row[column] for row in line]
        axes.errorbar(x, y, yerr=[below, above], label=name, marker="s^D"[index], markersize=4, capsize=2)
    places = sorted({row[along] for row in rows})
    axes.set_xscale("log", base=2)
    axes.set_xticks(places)
    axes.set_xticklabels([str(place) for place in places])
    axes.minorticks_off()
    if along == "message_bytes":
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(along)
    axes.set_ylabel(column)
    axes.grid(True, alpha=0.3)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    for name, title, along, columns in FIGURES:
        shown = list(panels(along, columns))
        width = 2 if len(shown) > 1 else 1
        height = max(1, math.ceil(len(shown) / width))
        sheet, grid = plt.subplots(height, width, figsize=(9, 3.1 * height + 1.2), squeeze=False)
        everywhere = [axes for row in grid for axes in row]
        for axes in everywhere[max(1, len(shown)):]:
            axes.set_visible(False)
        for axes, (column, part, rows) in zip(everywhere, shown):
            axes.set_title(part, fontsize=10, loc="left")
            draw(axes, along, column, rows)
        if shown:
            everywhere[0].legend(frameon=False)
        else:
            reason = "Not measured: the column not_measured of the table says why."
            if name in HOW:
                reason += " These two commands fill it:\n" + HOW[name]
            everywhere[0].text(0.5, 0.5, reason, ha="center", va="center", fontsize=8)
            everywhere[0].axis("off")
        sheet.suptitle(title)
        sheet.text(0.01, 0.005, "\n".join(textwrap.wrap(SYSTEM, 150)), fontsize=7, va="bottom")
        sheet.tight_layout(rect=(0, 0.06, 1, 1))
        sheet.savefig(os.path.join(here, f"{{roll}}_Part_D_{name}.png"), dpi=150)
        plt.close(sheet)


if __name__ == "__main__":
    main()
