"""docs/verify.md names all that the commands may say, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

from streams.ops.redrive import RedriveStatus
from streams.replay.consistent_cut import PUBLIC
from streams.replay.violations import ViolationKind

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "verify.md").read_text()


def _first_column(heading: str) -> set[str]:
    """Of the table whose heading begins so."""
    _, _, tail = PAGE.partition(f"| {heading} |")
    table = tail.split("\n\n")[0]
    return set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))


def test_every_fault_is_explained() -> None:
    assert _first_column("fault") == {fault.value for fault in ViolationKind}


def test_every_reason_not_to_send_is_explained() -> None:
    assert _first_column("outcome") == {one.value for one in RedriveStatus} - {RedriveStatus.READY}


def test_every_public_table_is_spoken_of() -> None:
    assert [table.name for table in PUBLIC if f"`{table.name}`" not in PAGE] == []
