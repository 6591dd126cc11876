"""The lines that draw a tree before its nodes."""

from __future__ import annotations

from collections.abc import Sequence

ASCII = str.maketrans({"├": "|", "└": "`", "─": "-", "│": "|"})
"""What replaces them where the encoding has only ASCII."""


def stems(depths: Sequence[int]) -> list[str]:
    """Return the lines before each node of a tree.

    depths: of its nodes, depth first; the root, of depth 0, has no line before it.
    """
    drawn: list[str] = []
    continued: set[int] = set()  # the depths at which another node follows
    for depth in reversed(depths):
        continued = {each for each in continued if each <= depth}
        indent = "".join("│  " if each in continued else "   " for each in range(1, depth))
        branch = "├─ " if depth in continued else "└─ "
        drawn.append(indent + branch if depth else "")
        continued.add(depth)
    return drawn[::-1]
