#!/usr/bin/env python3
"""Plots of MT25999: every value is written below, none is read from a file.

Made by syscost 0.1.0 from the run 20261121-synthetic."""

import math
import os
import textwrap

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

COLOURS = ["#0072b2", "#b84a00", "#007a59"]
MARKERS = ["s", "^", "D", "v", "o", "P", "X", "*"]

# One entry a file. "low" and "high" are the ends of the interval of "value".
FIGURES = [
    {
        "file": "MT25999_Part_D_Throughput",
        "title": "Throughput by message size",
        "caption": ["MT25999. System: AMD EPYC 9R14, Linux 6.18.5, hypervisor KVM.", "Points: medians over fresh processes; bars and bands: their intervals, of 95 % where there are runs enough (the table says). Run 20261121-synthetic by syscost 0.1.0.", "Held constant: receiver recv, connections per thread 1, path veth, TCP_NODELAY on, congestion control cubic, socket buffer autotuned, field alignment heap, CPU placement different, MTU 1500 B, offloads on, read size buffer."],
        "panels": [
            {
                "title": "1 thread",
                "x": "message size, bytes", "bytes": True,
                "y": "throughput, Gbit/s", "log_y": True,
                "missing": None,
                "series": [
                    {"name": "two-copy", "style": 0,
                     "x": [64, 4096, 262144],
                     "value": [0.151675, 8.10418, 44.8791],
                     "low": [0.149135, 7.97573, 44.4596],
                     "high": [0.15489, 8.23919, 45.8018]},
                    {"name": "one-copy", "style": 1,
                     "x": [64, 4096, 262144],
                     "value": [0.14678, 8.21953, 62.6629],
                     "low": [0.144691, 8.11074, 61.7402],
                     "high": [0.148214, 8.62323, 63.7534]},
                    {"name": "zero-copy", "style": 2,
                     "x": [64, 4096, 262144],
                     "value": [0.0514458, 3.20864, 73.7359],
                     "low": [0.0504218, 3.1549, 72.8131],
                     "high": [0.0517734, 3.24272, 75.078]},
                ],
            },
            {
                "title": "2 threads",
                "x": "message size, bytes", "bytes": True,
                "y": "throughput, Gbit/s", "log_y": True,
                "missing": None,
                "series": [
                    {"name": "two-copy", "style": 0,
                     "x": [64, 4096, 262144],
                     "value": [0.142684, 7.6297, 42.9497],
                     "low": [0.140452, 7.54844, 42.1108],
                     "high": [0.146555, 7.88529, 43.3691]},
                    {"name": "one-copy", "style": 1,
                     "x": [64, 4096, 262144],
                     "value": [0.138691, 7.74504, 59.4752],
                     "low": [0.135291, 7.61922, 58.4686],
                     "high": [0.139858, 7.97049, 60.0624]},
                    {"name": "zero-copy", "style": 2,
                     "x": [64, 4096, 262144],
                     "value": [0.0488653, 3.02645, 70.2126],
                     "low": [0.0484147, 2.98451, 68.9544],
                     "high": [0.0498483, 3.04087, 70.7999]},
                ],
            },
        ],
    },
    {
        "file": "MT25999_Part_D_Latency",
        "title": "Latency by thread count",
        "caption": ["MT25999. System: AMD EPYC 9R14, Linux 6.18.5, hypervisor KVM.", "Points: medians over fresh processes; bars and bands: their intervals, of 95 % where there are runs enough (the table says). Run 20261121-synthetic by syscost 0.1.0.", "Held constant: receiver recv, connections per thread 1, path veth, TCP_NODELAY on, congestion control cubic, socket buffer autotuned, field alignment heap, CPU placement different, MTU 1500 B, offloads on, read size buffer."],
        "panels": [
            {
                "title": "Median round trip",
                "x": "threads", "bytes": False,
                "y": "median round trip, us", "log_y": False,
                "missing": "Not measured: the run has no closed-loop round trips here, and latency is not threads over throughput; `syscost run pa02-60` has them.",
                "series": [
                ],
            },
        ],
    },
    {
        "file": "MT25999_Part_D_Cache_Misses",
        "title": "Cache misses by message size",
        "caption": ["MT25999. System: AMD EPYC 9R14, Linux 6.18.5, hypervisor KVM.", "Points: medians over fresh processes; bars and bands: their intervals, of 95 % where there are runs enough (the table says). Run 20261121-synthetic by syscost 0.1.0.", "Held constant: receiver recv, connections per thread 1, path veth, TCP_NODELAY on, congestion control cubic, socket buffer autotuned, field alignment heap, CPU placement different, MTU 1500 B, offloads on, read size buffer."],
        "panels": [
            {
                "title": "L1d misses per message",
                "x": "message size, bytes", "bytes": True,
                "y": "L1d misses per message", "log_y": False,
                "missing": "Not measured: no usable sample has it.",
                "series": [
                ],
            },
            {
                "title": "LLC misses per message",
                "x": "message size, bytes", "bytes": True,
                "y": "LLC misses per message", "log_y": False,
                "missing": "Not measured: no usable sample has it.",
                "series": [
                ],
            },
        ],
    },
    {
        "file": "MT25999_Part_D_Cycles_per_Byte",
        "title": "TSC reference cycles per byte transferred, by message size",
        "caption": ["MT25999. System: AMD EPYC 9R14, Linux 6.18.5, hypervisor KVM.", "Points: medians over fresh processes; bars and bands: their intervals, of 95 % where there are runs enough (the table says). Run 20261121-synthetic by syscost 0.1.0.", "Held constant: receiver recv, connections per thread 1, path veth, TCP_NODELAY on, congestion control cubic, socket buffer autotuned, field alignment heap, CPU placement different, MTU 1500 B, offloads on, read size buffer."],
        "panels": [
            {
                "title": "1 thread",
                "x": "message size, bytes", "bytes": True,
                "y": "TSC reference cycles per byte", "log_y": True,
                "missing": None,
                "series": [
                    {"name": "two-copy", "style": 0,
                     "x": [64, 4096, 262144],
                     "value": [137.796, 2.68075, 0.56701],
                     "low": [134.877, 2.6367, 0.556901],
                     "high": [140.217, 2.72482, 0.573942]},
                    {"name": "one-copy", "style": 1,
                     "x": [64, 4096, 262144],
                     "value": [142.072, 2.64556, 0.443376],
                     "low": [140.681, 2.5243, 0.435458],
                     "high": [144.236, 2.68226, 0.450796]},
                    {"name": "zero-copy", "style": 2,
                     "x": [64, 4096, 262144],
                     "value": [389.724, 6.37376, 0.395],
                     "low": [387.18, 6.29928, 0.389011],
                     "high": [397.501, 6.47658, 0.399327]},
                ],
            },
            {
                "title": "2 threads",
                "x": "message size, bytes", "bytes": True,
                "y": "TSC reference cycles per byte", "log_y": True,
                "missing": None,
                "series": [
                    {"name": "two-copy", "style": 0,
                     "x": [64, 4096, 262144],
                     "value": [138.195, 2.67985, 0.560201],
                     "low": [134.542, 2.59717, 0.554951],
                     "high": [140.438, 2.71405, 0.568888]},
                    {"name": "one-copy", "style": 1,
                     "x": [64, 4096, 262144],
                     "value": [141.802, 2.6487, 0.441138],
                     "low": [140.597, 2.57505, 0.436634],
                     "high": [145.454, 2.69464, 0.449216]},
                    {"name": "zero-copy", "style": 2,
                     "x": [64, 4096, 262144],
                     "value": [386.996, 6.37091, 0.392194],
                     "low": [379.419, 6.33837, 0.388293],
                     "high": [390.384, 6.45702, 0.398444]},
                ],
            },
        ],
    },
]


def size_label(count):
    """65536 -> 64K"""
    for step, name in ((1 << 20, "M"), (1 << 10, "K")):
        if count >= step and count % step == 0:
            return f"{count // step}{name}"
    return str(count)


def extent(panels, y):
    """The lowest and highest end of every panel with this y axis: they share it."""
    alike = [series for panel in panels if panel["y"] == y for series in panel["series"]]
    return min(x for series in alike for x in series["low"]), max(x for series in alike for x in series["high"])


def draw(axes, panel, panels):
    axes.set_title(panel["title"], fontsize=10, loc="left")
    axes.set_xlabel(panel["x"])
    axes.set_ylabel(panel["y"])
    if panel["missing"] is not None:
        reason = "\n".join(textwrap.wrap(panel["missing"], 60))
        axes.text(0.5, 0.5, reason, ha="center", va="center", transform=axes.transAxes, fontsize=8)
        axes.set_xticks([])
        axes.set_yticks([])
        return
    places = sorted({x for series in panel["series"] for x in series["x"]})
    for series in panel["series"]:
        colour = COLOURS[series["style"] % len(COLOURS)]
        below = [value - low for value, low in zip(series["value"], series["low"])]
        above = [high - value for value, high in zip(series["value"], series["high"])]
        axes.errorbar(
            series["x"],
            series["value"],
            yerr=[below, above],
            label=series["name"],
            color=colour,
            marker=MARKERS[series["style"] % len(MARKERS)],
            markersize=4,
            capsize=2,
        )
    axes.set_xscale("log", base=2)
    axes.set_xticks(places)
    axes.set_xticklabels([size_label(x) if panel["bytes"] else str(x) for x in places])
    axes.minorticks_off()
    low, high = extent(panels, panel["y"])
    if panel["log_y"] and low > 0:
        axes.set_yscale("log")
        axes.set_ylim(low / 1.12, high * 1.12)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    else:
        axes.set_ylim(0, high * 1.05)
    axes.grid(True, alpha=0.3)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    for figure in FIGURES:
        panels = figure["panels"]
        columns = 2 if len(panels) > 1 else 1
        rows = math.ceil(len(panels) / columns)
        lines = [line for text in figure["caption"] for line in textwrap.wrap(text, 150)]
        below = 0.14 * len(lines) + 0.15
        height = 3.1 * rows + 0.7 + below
        sheet, grid = plt.subplots(rows, columns, figsize=(9, height), squeeze=False)
        everywhere = [axes for row in grid for axes in row]
        for axes, panel in zip(everywhere, panels):
            draw(axes, panel, panels)
        for axes in everywhere[len(panels):]:
            axes.set_visible(False)
        names = {}
        for axes in everywhere:
            for handle, name in zip(*axes.get_legend_handles_labels()):
                names.setdefault(name, handle)
        sheet.suptitle(figure["title"], fontsize=12, y=1 - 0.1 / height, va="top")
        if names:
            sheet.legend(
                names.values(), names.keys(), loc="upper center", ncol=len(names), bbox_to_anchor=(0.5, 1 - 0.32 / height), frameon=False
            )
        sheet.text(0.01, 0.1 / height, "\n".join(lines), fontsize=7, va="bottom")
        sheet.tight_layout(rect=(0, below / height, 1, 1 - 0.65 / height))
        sheet.savefig(os.path.join(here, figure["file"] + ".png"), dpi=150)
        plt.close(sheet)


if __name__ == "__main__":
    main()
