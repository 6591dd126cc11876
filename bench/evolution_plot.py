"""The effectiveness of each protocol after every generation, as a picture."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from streams.demo.fleet_simulation import GENERATIONS, FleetStatus, Run
from streams.demo.fleet_simulation.world import FIRST_TRANSFERS, LATE
from streams.protocols.apc.lineage.effectiveness import (
    BELOW_THRESHOLD,
    DRIFT_ABOVE,
    DRIFT_UNMEASURED,
)

INK, FAINT, ALARM = "#1f2933", "#8a94a0", "#b3261e"
COLOURS = (
    "#0b6e4f",
    "#1f77b4",
    "#6a4c93",
    "#2a9d8f",
    "#7a5c3e",
    "#b3261e",
    "#d9730d",
    "#b8860b",
    "#c2437a",
)
_WHY = {BELOW_THRESHOLD: "score", DRIFT_ABOVE: "drift", DRIFT_UNMEASURED: "drift unknown"}
GAP = 0.034
"""The minimum distance between labels, in units of the score."""


class Line(NamedTuple):
    name: str
    generations: list[int]
    scores: list[float]
    blocked: list[bool]
    reasons: list[str]

    @property
    def label(self) -> str:
        if self.reasons:
            return f"{self.name} (decayed: {', '.join(_WHY[reason] for reason in self.reasons)})"
        return f"{self.name} (recovered)" if any(self.blocked) else self.name


def plot(done: Run, path: Path) -> None:
    lines = sorted((_line(*each) for each in done.standings.items()), key=lambda one: one.name)
    figure, axes = plt.subplots(figsize=(10.5, 5.8), dpi=110)
    _background(axes, float(done.settings.apc_decay_min_score))
    for line, colour in zip(lines, COLOURS, strict=True):
        _draw(axes, line, colour)
    for line, colour, height in _labels(lines):
        axes.plot(
            [GENERATIONS + 0.2, GENERATIONS + 1.1],
            [line.scores[-1], height],
            color=colour,
            lw=0.8,
            clip_on=False,
        )
        axes.text(
            GENERATIONS + 1.25,
            height,
            line.label,
            color=colour,
            fontsize=9.5,
            va="center",
        )
    figure.subplots_adjust(left=0.07, right=0.75, top=0.87, bottom=0.1)
    figure.savefig(path, metadata={"Software": None})
    plt.close(figure)


def _line(name: str, standings: list[FleetStatus]) -> Line:
    some = [each for each in standings if each.row["transfers"]]
    return Line(
        name,
        [each.generation for each in some],
        [each.row["effectiveness_score"] for each in some],
        [each.row["blocked"] for each in some],
        some[-1].row["blocked_reasons"],
    )


def _background(axes: Axes, threshold: float) -> None:
    axes.set_xlim(FIRST_TRANSFERS - 0.6, GENERATIONS + 0.4)
    axes.set_ylim(0.1, 0.95)
    axes.axvspan(LATE - 0.5, GENERATIONS + 0.4, color="#f3f5f7", zorder=0)
    axes.axhline(threshold, color=ALARM, lw=1, ls=(0, (6, 3)), zorder=1)
    note: dict[str, Any] = {"fontsize": 9, "zorder": 5}
    axes.text(GENERATIONS, threshold + 0.008, f"decay below {threshold}", ha="right", color=ALARM)
    axes.text(LATE - 0.3, 0.925, "from 21 on decayed protocols are refused", color=FAINT, **note)
    axes.text(FIRST_TRANSFERS - 0.4, 0.925, "until 20 only flagged", color=FAINT, **note)
    axes.set_xlabel("generation", color=INK)
    axes.set_xticks([FIRST_TRANSFERS, 15, 20, 25, 30, 35, GENERATIONS])
    axes.set_title(
        "Effectiveness of each protocol after every generation", loc="left", color=INK, pad=26
    )
    axes.text(
        0,
        1.025,
        "dashed while decayed; × decays, ○ recovers",
        transform=axes.transAxes,
        fontsize=9.5,
        color=FAINT,
    )
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.tick_params(colors=INK)
    axes.grid(axis="y", color="#dde1e6", lw=0.6)


def _draw(axes: Axes, line: Line, colour: str) -> None:
    """Draw a line, solid while the protocol is accepted, dashed while it is blocked."""
    for start in range(len(line.generations) - 1):
        blocked = line.blocked[start]
        axes.plot(
            line.generations[start : start + 2],
            line.scores[start : start + 2],
            color=colour,
            lw=1.4 if blocked else 2.2,
            ls=(0, (2, 1.5)) if blocked else "-",
            solid_capstyle="round",
            zorder=3,
        )
    for before, (generation, score, blocked) in enumerate(
        list(zip(line.generations, line.scores, line.blocked, strict=True))[1:]
    ):
        if blocked != line.blocked[before]:
            marker = "X" if blocked else "o"
            face = colour if blocked else "white"
            axes.plot(
                generation,
                score,
                marker,
                ms=8.5,
                mfc=face,
                mec=colour,
                mew=1.4,
                color=colour,
                zorder=4,
            )


def _labels(lines: list[Line]) -> list[tuple[Line, str, float]]:
    """Return each line with its colour and a height at which its label covers no other."""
    ranked = sorted(zip(lines, COLOURS, strict=True), key=lambda each: each[0].scores[-1])
    heights = [line.scores[-1] for line, _ in ranked]
    for _ in range(200):
        for low, (below, above) in enumerate(pairwise(heights)):
            if (short := GAP - (above - below)) > 0:
                heights[low] -= short / 2
                heights[low + 1] += short / 2
    return [(line, colour, height) for (line, colour), height in zip(ranked, heights, strict=True)]
