"""Restored from the log after any signal, the processor goes on as if it had never stopped."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import to_json
from streams.play.scenario import play
from streams.settings import Settings
from tests.examples import example_count
from tests.unit.protocols.sap.learning.support import check, member, operator, outcome
from topology.sap import SAP_LEARNING_SIGNALS

pytestmark = pytest.mark.slow

SIGNALS = [
    *(
        outcome(
            n,
            outputSha256=f"o{n % 5}",
            pressure={"systems_over_willpower": 48.0},
            policyChecks=[check("constraint:no_pii", "PASS" if n % 4 else "FAIL")],
            members=[member("k", f"loo{n % 5}", f"v{n}")],
            metrics={"cost": 0.1},
            citations=[f"lib:{n % 7}"],
        )
        for n in range(30)
    ),
    operator(3, "approval", decision="approved"),
    outcome(31, outputSha256="other", members=[member("k", "loo0", "v99")]),
    operator(4, "rating", rating=1, note="stale"),
]


def played(restarts: frozenset[int]) -> list[dict[str, Any]]:
    """What is written, with restarts before these signals."""
    lines: list[dict[str, Any]] = []
    record = SAP_LEARNING_SIGNALS.record
    assert record is not None
    for index, signal in enumerate(SIGNALS):
        if index in restarts:
            lines.append({"restart": True})
        value = to_json(record, signal)
        lines.append({"topic": SAP_LEARNING_SIGNALS.name, "value": value, "as": "service"})
    outputs = play([json.dumps(line) for line in lines], Settings(partitions=1))
    return [{k: v for k, v in output.items() if k not in ("n", "input")} for output in outputs]


WITHOUT = played(frozenset())


def test_the_story_teaches_and_takes_back() -> None:
    versions = [one["value"] for one in WITHOUT if one["topic"] == "sap.heuristics"]
    assert [(v["volatileKeys"], v["extraChecks"]) for v in versions] == [
        ([], ["no_pii"]),
        (["k"], ["no_pii"]),
        ([], ["no_pii"]),
    ]
    assert versions[-1]["blockedKeys"] == ["k"]
    assert [one["value"]["active"] for one in WITHOUT if one["topic"] == "sap.knowledge"] == [
        True,
        True,
    ]


@settings(max_examples=example_count(8), deadline=None)
@given(st.frozensets(st.integers(0, len(SIGNALS) - 1), max_size=4))
def test_restarts_anywhere_change_nothing(restarts: frozenset[int]) -> None:
    assert played(restarts) == WITHOUT
