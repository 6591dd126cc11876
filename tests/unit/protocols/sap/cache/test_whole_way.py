"""Every cell of the guide's table of the cache, from a task to its outcome.

The service as a whole decides: what the cache says, who is asked, what is published and what is
stored.  `test_table` looks at the cache's verdicts alone.

Source: SAP guide, 5.4.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from schemas.sap import protocol_time
from streams.play.scenario import play
from streams.sdk.local_bus.engine import sap_processors
from streams.settings import Settings
from tests.unit.sdk.local_bus.support import START_MS, id_of, result, task

Json = dict[str, Any]

TABLE = """
| mode, mustAlign | no entry | only stale | fresh, re-check VALID | fresh, re-check not VALID |
| prefer, true | `miss`: compute | `stale`: compute | `hit` | `misaligned`: compute |
| prefer, false | `miss`: compute | `stale`: compute | `hit` | `hit`, unchecked |
| only, true | FAILED CACHE_MISS | FAILED CACHE_MISS | `hit` | FAILED CACHE_MISS |
| only, false | FAILED CACHE_MISS | FAILED CACHE_MISS | `hit` | `hit`, unchecked |
| bypass | dispatch, no lookup, no store | same | same | same |
"""
"""As the guide has it."""
VERDICTS = {
    "no entry": "miss",
    "only stale": "stale",
    "fresh, re-check not VALID": "misaligned",
}
"""What a lookup without a hit is told (READ, 1), where the table names the outcome only."""
AGE_S = 60
"""The most that is fresh."""
FIRST, OWN = {"text": "by the first"}, {"text": "its own"}
"""The output that lies in the cache, and the one that the agent gives to the task that asks."""


class Case(NamedTuple):
    """must_align: None where the task does not say, which is as good as True.

    verdict: of the cache, None where it is not asked.  act: compute, hit, fail or dispatch.
    """

    mode: str
    must_align: bool | None
    state: str
    verdict: str | None
    act: str

    @property
    def stored(self) -> int:
        """Versions that are there before."""
        return 0 if self.state == "no entry" else 1


def cases() -> Iterator[Case]:
    """Of the table.  A task may leave mustAlign out; for one that bypasses it is all the same."""
    head, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in TABLE.split("\n") if line
    ]
    for request, *cells in rows:
        mode, _, align = request.partition(", ")
        flags = {"true": (True, None), "false": (False,), "": (True, False, None)}[align]
        for state, cell in zip(head[1:], cells, strict=True):
            meant = cells[0] if cell == "same" else cell
            yield from (Case(mode, one, state, *read(meant, state)) for one in flags)


def read(cell: str, state: str) -> tuple[str | None, str]:
    """The verdict of the cache and what comes of it."""
    if cell.startswith("dispatch"):
        return None, "dispatch"
    if cell == "FAILED CACHE_MISS":
        return VERDICTS[state], "fail"
    named, _, then = cell.removeprefix("`").partition("`")
    return named, "compute" if then == ": compute" else "hit"


def ask(case: Case) -> Json:
    """Task 2.  What it must align with is not in its key."""
    policy: Json = {"mode": case.mode, "maxAgeSec": AGE_S}
    if case.must_align is not None:
        policy["mustAlign"] = case.must_align
    strict = case.state == "fresh, re-check not VALID"
    constraints = ["Cite sources" if strict else "No PII"]
    return task(
        2,
        constitutionalContext={
            "pressureLevel": "consulted",
            "constraints": constraints,
            "cachePolicy": policy,
        },
    )


class Told:
    """What one case brings about, by topic."""

    def __init__(self, case: Case) -> None:
        cited = {"alignment": "VALID", "citations": ["lib:17"]}
        later = START_MS + 1000 * (AGE_S + (case.state == "only stale"))
        lines = [
            _line("sap.tasks", later, ask(case)),
            _line("sap.results", later, result(2, output=OWN, constitutionalEvidence=cited)),
        ]
        if case.stored:
            lines[:0] = [
                _line("sap.tasks", START_MS, task(1, mode="prefer")),
                _line("sap.results", START_MS, result(1, output=FIRST)),
            ]
        self._records = list(play(lines, Settings(partitions=1), sap_processors))

    def all_of(self, topic: str) -> list[Json]:
        return [one["value"] for one in self._records if one.get("topic") == topic]

    def of(self, topic: str) -> list[Json]:
        """What is said of task 2."""
        return [value for value in self.all_of(topic) if value["taskId"] == id_of(2)]


def _line(topic: str, at_ms: int, value: Json) -> str:
    return json.dumps({"topic": topic, "timestamp": protocol_time(at_ms), "value": value})


ALL = list(cases())


def test_the_table_has_all_that_can_be_asked() -> None:
    assert len({case[:3] for case in ALL}) == len(ALL) == 3 * 3 * 4


@pytest.mark.parametrize("case", ALL, ids=lambda case: f"{case.mode}, {case[1]}, {case.state}")
def test_a_task_goes_the_way_of_the_table(case: Case) -> None:
    outputs = Told(case)
    check_lookups(case, outputs)
    check_outcome(case, outputs)
    computed = case.act in ("compute", "dispatch")
    assert len(outputs.of("sap.inbox")) == computed
    answer = outputs.of("sap.acks")[-1]["rule"]
    assert answer == ("accepted" if computed else "task_closed"), "what the agent's result gets"
    versions = [record["version"] for record in outputs.all_of("sap.cache")]
    assert versions == list(range(1, case.stored + (case.act == "compute") + 1))
    ways = {"hit": "hit", "dispatch": "none"}
    assert outputs.of("sap.task-states")[-1]["cacheState"] == ways.get(case.act, "missed")


def check_lookups(case: Case, outputs: Told) -> None:
    expected: list[tuple[str, bool]] = [] if case.verdict is None else [(case.verdict, False)]
    if case.act == "compute":
        expected = [(str(case.verdict), True), ("stored", False)]
    actual = [(one["verdict"], one["leader"]) for one in outputs.of("sap.verdicts")]
    assert actual == expected
    ops = [one["op"] for one in outputs.of("sap.lookups")]
    assert ops == ["READ", "STORE"][: len(expected)]


def check_outcome(case: Case, outputs: Told) -> None:
    (outcome,) = outputs.of("sap.outcomes")
    evidence, rule = outcome["constitutionalEvidence"], outcome["meta"]["headrace"]["rule"]
    key = outputs.of("sap.acks")[0]["accepted"]["cacheKey"]
    use: Json = {"hit": False} if case.act == "dispatch" else {"hit": False, "cacheKey": key}
    if case.act == "fail":
        assert (outcome["status"], rule) == ("FAILED", "cache_only_miss")
        assert outcome["error"]["code"] == "CACHE_MISS"
        assert outcome["error"]["details"]["verdict"] == case.verdict
    elif case.act == "hit":
        assert (outcome["status"], rule, outcome["output"]) == ("SUCCEEDED", "cache_hit", FIRST)
        use = {"hit": True, "cacheKey": key, "ageSec": AGE_S, "version": 1}
        names = [check["principle"] for check in evidence["policyChecks"]]
        assert names == ([] if case.must_align is False else ["constraint:no_pii"])
    else:
        assert (outcome["status"], rule, outcome["output"]) == ("SUCCEEDED", "agent_status", OWN)
    assert (evidence["alignment"], evidence["cache"]) == ("VALID", use)
