"""A bus decides what `headrace play` decides of the same records at the same times, to the id."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.formats import iso_ms
from streams.play.scenario import START_MS, play
from streams.sdk.local_bus.rows import ENTRY_KINDS
from streams.sdk.local_bus.transcript import Entry
from streams.settings import Settings
from tests.examples import example_count
from tests.unit.sdk.local_bus.support import CAPABILITY, BusBench, Json, id_of, result, signal, task

TOPICS = {"task": "sap.tasks", "result": "sap.results", "signal": "sap.signals"}
TASKS = st.integers(1, 6)
STATUSES = st.sampled_from(["RUNNING", "PARTIAL", "SUCCEEDED", "FAILED"])
TICK: Json = {"kind": "tick"}
SAID: dict[str, Json] = {
    "note": {"note": "n"},
    "rating": {"rating": 2},
    "approval": {"decision": "approved"},
    "cancel": {},
}


def op(kind: str, **members: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries(
        {"kind": st.just(kind), "after": st.sampled_from([0, 1, 900, 31_000]), **members}
    )


OPS = st.lists(
    st.one_of(
        op(
            "task",
            n=TASKS,
            mode=st.sampled_from([None, "prefer", "prefer", "only"]),
            deadline=st.sampled_from([None, None, 5, 40]),
            document=st.sampled_from(["x", "x", "y"]),
        ),
        op("result", n=TASKS, status=STATUSES),
        op("signal", n=TASKS, what=st.sampled_from(["cancel", "note", "rating", "approval"])),
        op("tick"),
        op("deliver"),
        op("available", flag=st.booleans()),
    ),
    max_size=14,
)


class Replayed(BusBench):
    """A desk that keeps when it ticked, beside its entries."""

    def do(self, number: int, op: Json) -> None:
        self.now += op["after"]
        match op["kind"]:
            case "task":
                self.bus.dispatch(_task(op))
            case "result":
                failed = op["status"] == "FAILED"
                more: Json = {"error": {"message": "no"}} if failed else {}
                self.bus.report(result(op["n"], op["status"], output="r", **more))
            case "signal":
                made = signal(number, op["what"], of=op["n"], **SAID[op["what"]])
                self.bus.signal(made)
            case "tick":
                self.bus.tick()
                self.entries.append({**TICK, "at": self.now})
            case "deliver":
                self.bus.deliver_pending()
            case "available":
                self.bus.set_available("a", op["flag"])


def _task(op: Json) -> Json:
    deadline = op["deadline"]
    due = {} if deadline is None else {"deadline": f"2026-01-01T00:00:{deadline:02}Z"}
    payload = {"document": op["document"]}
    return task(op["n"], mode=op["mode"], telemetry=due, payload=payload)


def lines_of(entries: Sequence[Entry]) -> list[str]:
    """What went onto the log, as a scenario; what the bus itself refused did not."""
    lines: list[Json] = []
    now = START_MS
    for entry, following in zip(entries, [*entries[1:], TICK], strict=True):
        refused = following["kind"] == "ack" and "ackId" not in following["body"]
        if entry["kind"] == "tick":
            lines.append({"advance_ms": entry["at"] - now})
            now = entry["at"]
        elif entry["kind"] in TOPICS and not refused:
            topic, stamp = TOPICS[entry["kind"]], iso_ms(entry["at"])
            lines.append({"topic": topic, "timestamp": stamp, "value": entry["body"]})
            now = entry["at"]
    return [json.dumps(line) for line in lines]


def played(entries: Sequence[Entry]) -> list[tuple[str, Json]]:
    kinds = {topic.name: kind for topic, kind in ENTRY_KINDS.items()}
    settings = Settings(partitions=1)
    outputs = play(lines_of(entries), settings)
    return [(kinds[o["topic"]], o["value"]) for o in outputs if o.get("topic") in kinds]


def decided(entries: Sequence[Entry]) -> list[tuple[str, Json]]:
    """What the processors wrote."""
    input_kinds = {*TOPICS, "tick"}
    return [
        (e["kind"], e["body"])
        for e in entries
        if e["kind"] not in input_kinds and not (e["kind"] == "ack" and "ackId" not in e["body"])
    ]


def run(ops: Sequence[Json], deliver: str) -> Replayed:
    at = Replayed(deliver=deliver)
    with at.bus:
        at.bus.register("a", [CAPABILITY], lambda task: {"of": task.payload["document"]})
        for number, one in enumerate(ops):
            at.do(number, one)
        at.now += 400_000
        at.do(99, {**TICK, "after": 0})
    return at


@settings(max_examples=example_count(30), deadline=None)
@given(OPS, st.sampled_from(["inline", "manual"]))
def test_ids_and_decisions_are_those_of_play(ops: list[Json], deliver: str) -> None:
    at = run(ops, deliver)
    assert decided(at.entries) == played(at.entries)


def test_a_day_with_everything_in_it() -> None:
    def sent(n: int, **members: Any) -> Json:
        made = {"kind": "task", "after": 900, "n": n, "mode": "prefer", "deadline": None}
        return {**made, "document": "x", **members}

    ops = [
        {"kind": "available", "after": 0, "flag": True},
        sent(1),
        sent(2, deadline=5),
        sent(3, mode="only"),
        {"kind": "tick", "after": 31_000},
        {"kind": "deliver", "after": 1},
        sent(4, mode="only"),
        sent(5, document="y", deadline=59),
        {"kind": "signal", "after": 1, "n": 4, "what": "rating"},
        {"kind": "signal", "after": 1, "n": 5, "what": "cancel"},
        {"kind": "deliver", "after": 0},
    ]
    at = run(ops, "manual")
    assert decided(at.entries) == played(at.entries)
    assert {one.status for n in range(1, 6) for one in at.bus.outcomes(id_of(n))} == {
        "SUCCEEDED",
        "FAILED",
        "CANCELLED",
    }
    rules = {e["body"]["meta"]["headrace"]["rule"] for e in at.entries if e["kind"] == "outcome"}
    assert rules >= {"cache_hit", "cache_only_miss", "deadline_passed", "agent_status"}
