"""Read the answer of `GET /v1/overview`: its sums, bars, and what needs attention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from streams.cli.text import plural

Json = Mapping[str, Any]
WINDOWS = ("15m", "1h", "6h", "24h", "7d")
COUNTS = (
    ("commands", "commands", ("accepted", "duplicate", "rejected")),
    ("accepted", "accepted", ("accepted",)),
    ("duplicate", "duplicate", ("duplicate",)),
    ("refused", "rejected", ("rejected",)),
)
"""The word for each figure, its member, and the verdicts that it counts."""
MAX_BEHIND = 1000
MAX_AGE_S = 30
_LEVELS = "▁▂▃▄▅▆▇█"


def window_option(function: Any) -> Any:
    """Add `--window`."""
    return click.option(
        "--window",
        type=click.Choice(WINDOWS),
        default="15m",
        show_default=True,
        help="The time up to now.",
    )(function)


def summed(series: Sequence[Json], verdicts: Sequence[str]) -> list[int]:
    """Return the counts of these verdicts in each step of the window, over all protocols."""
    counts = [each["counts"] for each in series if each["verdict"] in verdicts]
    return [sum(column) for column in zip(*counts, strict=True)]


def sparkline(counts: Sequence[int]) -> str:
    """Return a bar for each count, as high as its share of the greatest one."""
    greatest = max(counts, default=0)
    if not greatest:
        return ""
    return "".join(
        " " if not count else _LEVELS[(count * len(_LEVELS) - 1) // greatest] for count in counts
    )


def bar(count: int, greatest: int, width: int, mark: str = "█") -> str:
    """Return a bar as long as the share of the count in the greatest one."""
    return mark * -(-count * width // greatest)


def refused_rules(overview: Json, verdicts: Sequence[str], limit: int) -> list[Json]:
    """Return the most frequent rules of these verdicts."""
    return [each for each in overview["rules"] if each["verdict"] in verdicts][:limit]


def attention(overview: Json) -> list[str]:
    """Return a sentence for each thing that needs attention."""
    lag = overview["lag"]
    return [
        *(
            f"{plural(each['count'], 'dead letter')} of {each['topic']}"
            for each in overview["dead_letters"]
        ),
        *(f"protocol {name} has decayed" for name in overview["decayed"]),
        *([plural(overview["escalations"], "escalation")] if overview["escalations"] else []),
        *(
            f"{each['name']} is {each['records']:,} records behind"
            for each in lag["processors"]
            if is_behind(each)
        ),
        *([f"the view is {lag['view']:,} records behind"] if lag["view"] > MAX_BEHIND else []),
    ]


def is_behind(processor: Json) -> bool:
    """Return whether a processor is so far behind that it needs attention."""
    return processor["records"] > MAX_BEHIND or (processor["oldest_s"] or 0) > MAX_AGE_S
