"""A protocol that starts or ceases to be blocked leaves one decision."""

from __future__ import annotations

from decimal import Decimal

from streams.engine.records import position
from tests.unit.protocols.apc.lineage.support import (
    NANO,
    START_MS,
    TRACE,
    Bench,
    arbitration,
    delta,
)


def test_the_decision_of_a_decay_in_full() -> None:
    bench = Bench()
    assert bench.give(delta(1, transfers=4, accepted=1)) == []
    message = bench.delta(delta(2, transfers=1))
    (sent,) = bench.decide(message)
    assert sent.json == {
        "decision_id": "apc.packets/0/2/0/px/transfer/decay",
        "kind": "decay",
        "protocol_id": "px",
        "at": "2026-01-01T00:00:00.002Z",
        "cause": "apc.transfers/0/1",
        "decay": {
            "blocked": True,
            "reasons": ["effectiveness_below_threshold", "drift_unmeasured"],
            "transfer_count": 5,
            "accepted_count": 1,
            "effectiveness_score": 0.1,
            "score_threshold": 0.35,
            "avg_drift_risk": None,
            "drift_used": 1,
            "drift_threshold": 0.75,
            "lineage_version": 2,
        },
        "arbitration": None,
    }
    assert (sent.key, sent.id, sent.at) == ("px", sent.value["decision_id"], START_MS + 2)
    assert (sent.cause, sent.traceparent) == (position(message.record), TRACE)


def test_better_figures_unblock() -> None:
    bench = Bench()
    (blocked,) = bench.give(delta(1, transfers=5, accepted=5))
    assert blocked.value["decay"]["reasons"] == ["drift_unmeasured"]
    assert bench.total()["blocked_since"] == START_MS + 1

    (freed,) = bench.give(delta(2, "eval", drift_weight=5, drift_sum_nano=NANO))
    decay = freed.value["decay"]
    assert (decay["blocked"], decay["reasons"], decay["lineage_version"]) == (False, [], 2)
    assert (decay["avg_drift_risk"], decay["drift_used"]) == (0.2, 0.2)
    row = bench.total()
    assert (row["blocked"], row["blocked_reasons"], row["blocked_since"]) == (False, [], None)

    (again,) = bench.give(delta(3, "removal", drift_weight=-5, drift_sum_nano=-NANO))
    assert again.value["decay"]["blocked"]
    assert bench.total()["blocked_since"] == START_MS + 3


def test_a_removal_below_the_least_samples_unblocks() -> None:
    bench = Bench()
    bench.give(delta(1, transfers=5))
    (freed,) = bench.give(delta(2, "removal", transfers=-1))
    assert (freed.value["decay"]["blocked"], freed.value["decay"]["transfer_count"]) == (False, 4)


def test_other_reasons_are_no_change() -> None:
    bench = Bench()
    bench.give(delta(1, transfers=5, accepted=5))
    assert bench.give(delta(2, "eval", drift_weight=5, drift_sum_nano=4 * NANO)) == []
    row = bench.total()
    assert row["blocked_reasons"] == ["drift_above_threshold"]
    assert row["blocked_since"] == START_MS + 1


def test_a_protocol_is_judged_after_every_delta_of_a_batch() -> None:
    bench = Bench()
    deltas = [
        delta(1, transfers=5, accepted=5),
        delta(2, transfers=5, protocol_id="py"),
        delta(3, "eval", drift_weight=5, drift_sum_nano=NANO),
    ]
    decisions = [sent.value for sent in bench.give(*deltas)]
    assert [(d["protocol_id"], d["decay"]["blocked"]) for d in decisions] == [
        ("px", True),
        ("py", True),
        ("px", False),
    ]
    assert [d["decay"]["lineage_version"] for d in decisions] == [1, 1, 2]


def test_only_the_total_decays() -> None:
    bench = Bench()
    bench.give(delta(1, transfers=5, accepted=5, drift_weight=5))
    assert bench.give(delta(2, transfers=5, run_id="run-02")) == []
    assert bench.run("run-02")["effectiveness_score"] == 0
    assert bench.total()["effectiveness_score"] == 0.4


def test_thresholds_of_a_decision_are_those_that_were_set() -> None:
    bench = Bench(
        apc_decay_min_samples=1,
        apc_decay_min_score=Decimal("0.6"),
        apc_decay_max_drift=Decimal("0.25"),
    )
    (sent,) = bench.give(delta(1, transfers=1, accepted=1, drift_weight=1, drift_sum_nano=NANO))
    decay = sent.value["decay"]
    assert (decay["score_threshold"], decay["drift_threshold"]) == (0.6, 0.25)
    assert decay["reasons"] == ["effectiveness_below_threshold", "drift_above_threshold"]


def test_an_arbitration_is_written_as_it_came() -> None:
    bench = Bench()
    delta = arbitration(4)
    message = bench.delta(delta)
    (sent,) = bench.decide(message)
    assert sent.value == delta["decision"]
    assert (sent.key, sent.id, sent.at) == ("px", "apc.packets/0/4/0", START_MS + 4)
    assert (sent.cause, sent.traceparent) == (position(message.record), TRACE)
