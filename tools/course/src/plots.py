#!/usr/bin/env python3
"ABOUT"

import math
import os
import textwrap

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

COLOURS = []
MARKERS = ["s", "^", "D", "v", "o", "P", "X", "*"]

# One entry a file. "low" and "high" are the ends of the interval of "value".
FIGURES = []


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
