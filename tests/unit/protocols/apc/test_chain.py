"""A protocol decays and recovers: apc → apc.transfers → apc-lineage → copy of the totals → apc.

Sessions and protocols lie on different partitions, so every figure crosses from task to task.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas import decode, to_json
from streams.engine.local import LocalHost
from streams.engine.memory import MemoryLog
from streams.engine.records import LogRecord, TopicPartition
from streams.ingress.edges import ingress_topic_of
from streams.ops.topics import create_topics
from streams.processing.encode import to_output
from streams.protocols.apc.lineage.rows import run_key, total_key
from streams.protocols.commands import all_processors
from streams.settings import Settings
from tests.unit.processing.harness import START_MS
from tests.unit.protocols.apc.processor.packets import PASSING, candidate, packet, pid, retraction
from topology.apc import APC_DECISIONS, APC_EVENTS, APC_LINEAGE, APC_PACKETS, APC_TRANSFERS
from topology.declarations import Topic
from topology.keys import partition_of

Json = dict[str, Any]

P = 4
PROTOCOL = "px"
FAR, OTHER = "sess-01", "sess-02"
HOPELESS = ["effectiveness_below_threshold", "drift_unmeasured"]
UNKNOWN = {
    "blocked": False,
    "reasons": [],
    "transfer_count": 0,
    "effectiveness_score": 0,
    "avg_drift_risk": None,
    "mode": "late",
    "lineage_version": 0,
}


class Chain:
    """Every processor in memory; a packet sent alone finds them all at rest."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.now = START_MS
        self.settings = Settings.load({}, partitions=P, **settings)
        self.log = MemoryLog(lambda: self.now)
        create_topics(self.log, self.settings)
        self.host = LocalHost(self.log, all_processors, self.settings, folder)
        self._sent = 0

    def number(self) -> int:
        self._sent += 1
        return self._sent

    def send(self, *packets: Json) -> list[Json]:
        """All at once; the verdicts, in the same order."""
        for one in packets:
            self.now += 1
            self.log.append(
                [to_output(ingress_topic_of(APC_PACKETS.name), one, self.now, self.settings)]
            )
        self.host.run()
        verdicts = {f["packet_id"]: f for f in self.facts(APC_EVENTS) if f["verdict"] != "effect"}
        return [verdicts[one["packet_id"]] for one in packets]

    def transfer(
        self, generation: int, session: str = FAR, task: str = "A", **payload: Any
    ) -> Json:
        (verdict,) = self.send(self.a_transfer(generation, session, task, **payload))
        return verdict

    def a_transfer(
        self, generation: int, session: str = FAR, task: str = "A", **payload: Any
    ) -> Json:
        n = self.number()
        trace = self.trace(n, generation, session, task)
        return packet("TRANSFER", n, payload=payload, run_phase="CONVERGENCE", trace=trace)

    def evaluate(self, outcome: float, drift: float | None, task: str = "A") -> str:
        """Its packet id."""
        n = self.number()
        metrics = {**PASSING, "outcome": outcome, "drift_risk": drift}
        if drift is None:
            del metrics["drift_risk"]
        trace = self.trace(n, 21, FAR, task)
        (verdict,) = self.send(packet("EVAL", n, payload={"metric_set": metrics}, trace=trace))
        assert verdict["verdict"] == "accepted"
        return pid(n)

    def retract(self, packet_id: str) -> None:
        n = self.number()
        one = retraction(n, 1, trace=self.trace(n, 21, FAR))
        one["payload"]["target_packet_id"] = packet_id
        (verdict,) = self.send(one)
        assert verdict["verdict"] == "accepted"

    def trace(self, n: int, generation: int, session: str, task: str = "A") -> Json:
        return {
            "session_id": session,
            "run_id": "run-01",
            "task_id": task,
            "root_packet_id": pid(n),
            "generation": generation,
            "step": 1,
        }

    def records(self, topic: Topic) -> list[LogRecord]:
        slots = (self.log.slots(TopicPartition(topic.name, p)) for p in range(P))
        return [record for partition in slots for record in partition if record is not None]

    def facts(self, topic: Topic) -> list[Json]:
        assert topic.record is not None
        return [
            to_json(topic.record, decode(r.value, topic.record).value) for r in self.records(topic)
        ]

    def decays(self) -> list[Json]:
        return [d["decay"] for d in self.facts(APC_DECISIONS) if d["kind"] == "decay"]

    def row(self, key: str) -> Json:
        assert APC_LINEAGE.record is not None
        latest = {r.key: r.value for r in self.records(APC_LINEAGE)}
        return to_json(APC_LINEAGE.record, decode(latest[key.encode()], APC_LINEAGE.record).value)

    def total(self) -> Json:
        return self.row(total_key(PROTOCOL))


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[Chain]:
    chain = Chain(tmp_path)
    yield chain
    chain.host.close()


def decayed(chain: Chain) -> Chain:
    """Five transfers that nobody accepted and nobody evaluated."""
    for before in range(5):
        verdict = chain.transfer(21)
        assert verdict["verdict"] == "accepted"
        assert verdict["throttle"]["decay"]["lineage_version"] == before
    return chain


def test_the_tasks_of_sessions_and_protocol_are_three(chain: Chain) -> None:
    decayed(chain)
    chain.transfer(21, OTHER)
    keys = (FAR, OTHER, PROTOCOL)
    assert len({partition_of(key.encode(), P) for key in keys}) == len(keys)
    places = {record.partition for record in chain.records(APC_PACKETS)}
    assert places.isdisjoint(record.partition for record in chain.records(APC_TRANSFERS))
    assert {r.partition for r in chain.records(APC_LINEAGE)} == {partition_of(b"px", P)}


def test_a_decayed_protocol_is_refused_from_generation_21_on(chain: Chain) -> None:
    first = chain.transfer(21)
    assert first["throttle"]["decay"] == UNKNOWN
    for _ in range(4):
        assert chain.transfer(21)["warnings"] == []
    refused = chain.transfer(21)
    assert (refused["verdict"], refused["rule"]) == ("rejected", "protocol_decayed")
    throttle = refused["throttle"]
    assert throttle["decided_by"] == "protocol_decayed"
    assert throttle["decay"] == {
        "blocked": True,
        "reasons": HOPELESS,
        "transfer_count": 5,
        "effectiveness_score": 0,
        "avg_drift_risk": None,
        "mode": "late",
        "lineage_version": 5,
    }
    (decision,) = chain.decays()
    assert (decision["blocked"], decision["lineage_version"]) == (True, 5)
    assert chain.total()["transfers"] == 5


def test_before_generation_21_it_is_flagged(chain: Chain) -> None:
    decayed(chain)
    early = chain.transfer(20)
    assert (early["verdict"], early["warnings"]) == ("accepted", ["protocol_decayed"])
    assert early["throttle"]["decay"]["blocked"]
    assert early["throttle"]["decay"]["lineage_version"] == 5
    late = chain.transfer(21)
    assert late["rule"] == "protocol_decayed"
    assert late["throttle"]["decay"]["transfer_count"] == 6


def test_it_is_refused_in_every_session(chain: Chain) -> None:
    decayed(chain)
    assert chain.transfer(30, OTHER)["rule"] == "protocol_decayed"
    other = chain.a_transfer(30, OTHER, protocol_id="py")
    (verdict,) = chain.send(other | {"lineage": {"protocol_id": "py"}})
    assert (verdict["verdict"], verdict["throttle"]["decay"]) == ("accepted", UNKNOWN)


def test_better_figures_unblock_and_their_retraction_blocks_again(chain: Chain) -> None:
    decayed(chain)
    good = chain.evaluate(0.9, 0.1)
    freed = chain.transfer(21)
    assert (freed["verdict"], freed["warnings"]) == ("accepted", [])
    decay = freed["throttle"]["decay"]
    assert (decay["blocked"], decay["reasons"]) == (False, [])
    assert (decay["effectiveness_score"], decay["avg_drift_risk"]) == (0.45, 0.1)
    assert decay["lineage_version"] == 6

    chain.retract(good)
    refused = chain.transfer(21)
    assert refused["rule"] == "protocol_decayed"
    assert refused["throttle"]["decay"]["reasons"] == HOPELESS
    assert refused["throttle"]["decay"]["lineage_version"] == 8
    assert [decision["blocked"] for decision in chain.decays()] == [True, False, True]
    total = chain.total()
    assert (total["outcome_weight"], total["outcome_sum_nano"], total["transfers"]) == (0, 0, 6)


def test_the_worked_example_from_packets(chain: Chain) -> None:
    for n in range(8):
        chain.transfer(20, task="A" if n < 5 else "B", accepted=n > 1)
    chain.evaluate(0.6, 0.2)
    chain.evaluate(0.8, 0.2)
    figures = ("acceptance_rate", "avg_outcome", "avg_drift_risk", "effectiveness_score")
    assert [chain.total()[name] for name in figures] == [0.75, 0.7, 0.2, 0.74]
    late = chain.evaluate(0.3, None, "B")
    assert [chain.total()[name] for name in figures] == [0.75, 0.55, 0.2, 0.6875]
    chain.retract(late)
    assert [chain.total()[name] for name in figures] == [0.75, 0.7, 0.2, 0.74]
    sums = {"transfers": 8, "accepted": 6, "tasks": 2, "run_count": 1, "outcome_weight": 5}
    assert chain.total() | sums == chain.total()


def test_a_high_drift_blocks_what_is_effective(chain: Chain) -> None:
    for _ in range(5):
        chain.transfer(21, accepted=True)
    chain.evaluate(1, 0.75)
    assert chain.transfer(21, accepted=True)["verdict"] == "accepted"
    chain.evaluate(1, 0.76)
    refused = chain.transfer(21, accepted=True)
    assert refused["throttle"]["decay"]["reasons"] == ["drift_above_threshold"]
    assert refused["throttle"]["decay"]["avg_drift_risk"] == 0.755


def test_a_task_that_starts_again_knows_what_has_decayed(chain: Chain) -> None:
    decayed(chain)
    chain.host.restart()
    refused = chain.transfer(21)
    assert refused["rule"] == "protocol_decayed"
    assert refused["throttle"]["decay"]["lineage_version"] == 5


@pytest.mark.parametrize(
    ("mode", "generation", "verdict", "warnings"),
    [
        ("always", 20, "rejected", []),
        ("always", 21, "rejected", []),
        ("flag", 20, "accepted", ["protocol_decayed"]),
        ("flag", 21, "accepted", ["protocol_decayed"]),
    ],
)
def test_the_mode_says_when_it_is_refused(
    tmp_path: Path, mode: str, generation: int, verdict: str, warnings: list[str]
) -> None:
    chain = decayed(Chain(tmp_path, apc_decay_mode=mode))
    fact = chain.transfer(generation)
    assert (fact["verdict"], fact["warnings"]) == (verdict, warnings)
    assert fact["throttle"]["decay"]["mode"] == mode
    chain.host.close()


def test_a_verdict_rests_on_the_figures_that_it_records(chain: Chain) -> None:
    """Those that come at once are judged before the figures come back."""
    verdicts = chain.send(*(chain.a_transfer(21) for _ in range(8)))
    assert {fact["verdict"] for fact in verdicts} == {"accepted"}
    assert all(fact["throttle"]["decay"] == UNKNOWN for fact in verdicts)
    assert chain.total()["transfers"] == 8
    (decision,) = chain.decays()
    assert (decision["transfer_count"], decision["lineage_version"]) == (5, 5)
    assert chain.transfer(21)["throttle"]["decay"]["lineage_version"] == 8


def test_rows_of_runs_are_written_and_not_copied(chain: Chain) -> None:
    """A protocol may be named like the row of another one's run."""
    decayed(chain)
    run = chain.row(run_key(PROTOCOL, "run-01"))
    assert (run["transfers"], run["blocked"]) == (5, False)
    named = f"{PROTOCOL}/run-01"
    one = chain.a_transfer(21, protocol_id=named) | {"lineage": {"protocol_id": named}}
    (verdict,) = chain.send(one)
    assert (verdict["verdict"], verdict["throttle"]["decay"]) == ("accepted", UNKNOWN)


def test_an_arbitration_reaches_the_decisions(chain: Chain) -> None:
    decayed(chain)
    n = chain.number()
    candidates = [candidate("one", 0.9, pid(1)), candidate("two", 0.4, pid(2), pid(99))]
    trace = chain.trace(n, 21, FAR)
    (fact,) = chain.send(packet("ARBITRATION", n, payload={"candidates": candidates}, trace=trace))
    assert fact["verdict"] == "accepted"
    (decision,) = (d for d in chain.facts(APC_DECISIONS) if d["kind"] == "arbitration")
    assert decision["decision_id"] == fact["event_id"]
    assert (decision["protocol_id"], decision["cause"]) == (PROTOCOL, fact["cause"])
    figures = decision["arbitration"]
    assert (figures["selected_packet_ids"], figures["decay_blocked_count"]) == ([], 2)
    reason = f"protocol_decay_blocked:{PROTOCOL}:{'+'.join(HOPELESS)}"
    assert {blocked["reason"] for blocked in figures["blocked"]} == {reason}
    assert chain.total()["version"] == 5
