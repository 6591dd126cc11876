"""The last act, told over a system in memory, and what it says when something is otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streams.demo import DemoContext, DemoFailed, lineage
from streams.demo.lineage import saop
from streams.protocols.queries import QUERIES
from tests.unit.protocols.asap.queries.stage import manifest
from tests.unit.views.bench import Bench


def test_it_shows_one_tree_of_five_protocols(stage: DemoContext, printed: list[str]) -> None:
    lineage.tell(stage)
    text = "\n".join(printed)
    assert text.count("trace:") == 2
    for node in ("apc:packet", "sap:cache", "summit:reply", "asap:artifact", "saop:escalation"):
        assert f"  {node}:" in text
    assert stage.checks > 12


def test_it_can_be_told_again(stage: DemoContext) -> None:
    lineage.tell(stage)
    lineage.tell(replace(stage, session="demo-00000002"))


def test_a_step_that_fails_is_named(stage: DemoContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saop, "CONFIDENCES", (0.9, 0.9))
    with pytest.raises(DemoFailed, match="act six, step 5: escalations should be"):
        lineage.tell(stage)


def test_where_agents_need_manifests_it_is_left_out(
    stage: DemoContext, bench: Bench, printed: list[str]
) -> None:
    bench.send("asap.manifests", manifest())
    bench.view.catch_up(0)
    lineage.tell(stage)
    assert stage.checks == 0
    assert "left out" in printed[-1]


def test_where_confidence_is_judged_otherwise_it_is_left_out(
    stage: DemoContext, printed: list[str]
) -> None:
    stage.settings = replace(stage.settings, saop_confidence_declines=2)
    lineage.tell(stage)
    assert stage.checks == 0
    assert "left out" in printed[-1]


def test_every_step_says_what_happens() -> None:
    assert all(step.__doc__ for step in lineage.STEPS)


def test_every_part_adds_nodes_of_its_protocol_alone() -> None:
    assert {part.protocol for part in lineage.PARTS} <= {side.name for side in QUERIES}
    for part in lineage.PARTS:
        assert part.kinds
        assert {kind.partition(":")[0] for kind in part.kinds} == {part.protocol}
