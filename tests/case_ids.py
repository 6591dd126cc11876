"""Says which test cases of one list are missing from another.

    python -m tests.case_ids BEFORE AFTER

Both are files that `pytest --collect-only --quiet` printed.  A case may have moved: each line of
`moved_cases.txt`, beside this file, has the beginning of an id before and after; `-` stands for
cases that follow the files of the product, one for each; `old=new` is a renamed parameter, whose
name pytest writes into ids (`[old0-…]`), and the case may have moved as well.
Exits with 1 when cases are missing, and prints them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

FOLLOWS_FILES = "-"
MOVED = Path(__file__).with_name("moved_cases.txt")
Moves = Sequence[tuple[str, str]]


def read_moves(path: Path = MOVED) -> Moves:
    """Read pairs of beginnings, the longest first."""
    lines = (line.split() for line in path.read_text().splitlines())
    pairs = [(before, after) for before, after in filter(None, lines)]
    return sorted(pairs, key=lambda pair: len(pair[0]), reverse=True)


def read_ids(path: Path) -> set[str]:
    return {line for line in path.read_text().splitlines() if "::" in line}


def current_id(case: str, moves: Moves) -> str | None:
    """Return the id that a case has now; None if its test follows the files of the product."""
    for before, after in moves:
        if case.startswith(before):
            old, equals, new = after.partition("=")
            if not equals:
                return None if after == FOLLOWS_FILES else after + case[len(before) :]
            case = re.sub(rf"(?<=[\[-]){old}(?=\d)", new, case)
    return case


def missing(before: set[str], after: set[str], moves: Moves) -> list[str]:
    expected = {case: current_id(case, moves) for case in before}
    return sorted(case for case, now in expected.items() if now is not None and now not in after)


def main(arguments: Sequence[str]) -> int:
    before, after = (read_ids(Path(argument)) for argument in arguments)
    lost = missing(before, after, read_moves())
    print("\n".join(lost))
    print(f"{len(before)} cases before, {len(after)} after, {len(lost)} missing")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
