#!/usr/bin/env python3
"""Plots of MT25999: every value is written below, none is read from a file."""

import math
import os
import textwrap

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

SYSTEM = "MT25999. System: AMD EPYC 9R14, Linux 6.18.5, hypervisor KVM. Run 20261121-synthetic by syscost 0.1.0." + ""
NAMES = ["two-copy", "one-copy", "zero-copy"]

# A row a cell of MT25999_Part_C_Results.csv; "_low" and "_high" are the ends of a figure's interval.
COLUMNS = ["name","message_bytes","threads","throughput_gbps","throughput_gbps_low","throughput_gbps_high","latency_us","latency_us_low","latency_us_high","cycles_per_byte","cycles_per_byte_low","cycles_per_byte_high","tsc_cycles_per_byte","tsc_cycles_per_byte_low","tsc_cycles_per_byte_high","cpu_ns_per_byte","cpu_ns_per_byte_low","cpu_ns_per_byte_high","l1_misses_per_message","l1_misses_per_message_low","l1_misses_per_message_high","llc_misses_per_message","llc_misses_per_message_low","llc_misses_per_message_high","cache_misses_per_message","cache_misses_per_message_low","cache_misses_per_message_high","context_switches_per_message","context_switches_per_message_low","context_switches_per_message_high","modelled_l1d_misses_per_message","modelled_l1d_misses_per_message_low","modelled_l1d_misses_per_message_high","modelled_l1i_misses_per_message","modelled_l1i_misses_per_message_low","modelled_l1i_misses_per_message_high","modelled_l2_misses_per_message","modelled_l2_misses_per_message_low","modelled_l2_misses_per_message_high","modelled_llc_misses_per_message","modelled_llc_misses_per_message_low","modelled_llc_misses_per_message_high","modelled_instructions_per_message","modelled_instructions_per_message_low","modelled_instructions_per_message_high"]
ROWS = [
    ["two-copy", 64, 1, 0.151675, 0.149135, 0.15489, None, None, None, None, None, None, 137.796, 134.877, 140.217, 56.2431, 55.0517, 57.2316, None, None, None, None, None, None, None, None, None, 0.0226843, 0.0226415, 0.0228447, None, None, None, None, None, None, None, None, None, None, None, None, None, None, None],
    ["two-copy", 64, 2, 0.142684, 0.140452, 0.146555, None, None, None, None, None, None, 138.195, 134.542, 140.438, 56.4061, 54.9153, 57.3216, None, None, None, None, None, None, None, None, None, 0.0224751, 0.0223913, 0.0229178, None, None, None, None, None, None, None, None, None, None, None, None, None, None, None],
    ["two-copy", 4096, 1, 8.10418, 7.97573, 8.23919, None, None, None, None, None, None, 2.68075, 2.6367, 2.72482, 1.09418, 1.0762, 1.11217, None, None, None, None, None, None, None, None, None, 0.0226427, 0.02249, 0.0227052, None, None, None, None, None, None, None, None, None, None, None, None, None, None, None],
    ["two-copy", 4096, 2, 7.6297, 7.54844, 7.88529, None, None, None, None, None, None, 2.67985, 2.59717, 2.71405, 1.09382, 1.06007, 1.10777, None, None, None, None, None, None, None, None, None, 0.0225577, 0.0224109, 0.0226765, None, None, None, None, None, None, None, None, None, None, None, None, None, None, None],
    ["two-copy", 262144, 1, 44.8791, 44.4596, 45.8018, None, None, None, None, None, None, 0.56701, 0.556901, 0.573942, 0.231433, 0.227307, 0.234262, None, None, None, None, None, None, None, None, None, 0.0224299, 0.021978, 0.0226415, None, None, None, None, None, None, None, None, None, None, None, None, None, None, None],
    ["two-copy", 262144, 2, 42.9497, 42.1108, 43.3691, None, None, None, None, None, None, 0.560201, 0.554951, 0.568888, 0.228654, 0.226511, 0.232199, None, None, None, None, None, None, None, None, None, 0.0234375, 0.0232108, 0.0239044, None, None, None, None, None, None, None, None, None, None, None, None, None, None, None],
    ["one-copy", 64, 1, 0.14678, 0.144691, 0.148214, None, None, None, None, None, None, 142.072, 140.681, 144.236, 57.9885, 57.4207, 58.872, None, None, None, None, None, None, None, None, None, 0.0226613, 0.0224909, 0.0228827, None, None, None, None, None, None, None, None, None, None, None, None, None, None, None],
    ["one-copy", 64, 2, 0.138691, 0.135291, 0.139858, None, None, None, None, None, None, 141.802, 140.597, 145.454, 57.8783, 57.3864, 59.369, None, None, None, None, None, None, None, None, None, 0.0225386, 0.0224039, 0.0226404, None, None, None, None, None, None, None, None, None, None, None, None, None, None, None],
    ["one-copy", 4096, 1, 8.21953, 8.11074, 8.62323, None, None, None, None, None, None, 2.64556, 2.5243, 2.68226, 1.07982, 1.03033, 1.0948, None, None, None, None, None, None, None, None, None, 0.0224958, 0.0224036, 0.0226439, None, None, None, None, None, None, None, None, None, None, None, None, None, None, None],
    ["one-copy", 4096, 2, 7.74504, 7.61922, 7.97049, None, None, None, None, None, None, 2.6487, 2.57505, 2.69464, 1.0811, 1.05104, 1.09985, None, None, None, None, None, None, None, None, None, 0.0226888, 0.0224053, 0.0227196, None, None, None, None, None, None, None, None, None, None, None, None, None, None, None],
    ["one-copy", 262144, 1, 62.6629, 61.7402, 63.7534, None, None, None, None, None, None, 0.443376, 0.435458, 0.450796, 0.18097, 0.177738, 0.183998, None, None, None, None, None, None, None, None, None, 0.021419, 0.0210526, 0.0217391, None, None, None, None, None, None, None, None, None, None, None, None, None, None, None],
    ["one-copy", 262144, 2, 59.4752, 58.4686, 60.0624, None, None, None, None, None, None, 0.441138, 0.436634, 0.449216, 0.180056, 0.178218, 0.183353, None, None, None, None, None, None, None, None, None, 0.022567, 0.0223464, 0.0229555, None, None, None, None, None, None, None, None, None, None, None, None, None, None, None],
    ["zero-copy", 64, 1, 0.0514458, 0.0504218, 0.0517734, None, None, None, None, None, None, 389.724, 387.18, 397.501, 159.071, 158.033, 162.245, None, None, None, None, None, None, None, None, None, 0.0222134, 0.0218712, 0.0223464, None, None, None, None, None, None, None, None, None, None, None, None, None, None, None],
    ["zero-copy", 64, 2, 0.0488653, 0.0484147, 0.0498483, None, None, None, None, None, None, 386.996, 379.419, 390.384, 157.958, 154.865, 159.341, None, None, None, None, None, None, None, None, None, 0.0221857, 0.0218671, 0.022632, None, None, None, None, None, None, None, None, None, None, None, None, None, None, None],
    ["zero-copy", 4096, 1, 3.20864, 3.1549, 3.24272, None, None, None, None, None, None, 6.37376, 6.29928, 6.47658, 2.60154, 2.57113, 2.6435, None, None, None, None, None, None, None, None, None, 0.0220588, 0.021827, 0.0224346, None, None, None, None, None, None, None, None, None, None, None, None, None, None, None],
    ["zero-copy", 4096, 2, 3.02645, 2.98451, 3.04087, None, None, None, None, None, None, 6.37091, 6.33837, 6.45702, 2.60037, 2.58709, 2.63552, None, None, None, None, None, None, None, None, None, 0.0224235, 0.0218818, 0.0225499, None, None, None, None, None, None, None, None, None, None, None, None, None, None, None],
    ["zero-copy", 262144, 1, 73.7359, 72.8131, 75.078, None, None, None, None, None, None, 0.395, 0.389011, 0.399327, 0.161225, 0.15878, 0.162991, None, None, None, None, None, None, None, None, None, 0.0227531, 0.0223464, 0.0230415, None, None, None, None, None, None, None, None, None, None, None, None, None, None, None],
    ["zero-copy", 262144, 2, 70.2126, 68.9544, 70.7999, None, None, None, None, None, None, 0.392194, 0.388293, 0.398444, 0.160079, 0.158487, 0.16263, None, None, None, None, None, None, None, None, None, 0.0215054, 0.021327, 0.0218978, None, None, None, None, None, None, None, None, None, None, None, None, None, None, None],
]

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
    "Cache_Misses": "syscost lab --count cache --out CACHE\nsyscost course pa02 --roll MT25999 --cache CACHE RUN",
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
        sheet.savefig(os.path.join(here, f"MT25999_Part_D_{name}.png"), dpi=150)
        plt.close(sheet)


if __name__ == "__main__":
    main()
