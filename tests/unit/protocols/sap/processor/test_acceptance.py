"""Test which heuristics a task is bound to when it is accepted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from schemas.sap import cache_key
from streams.engine.processor import AvroValue, Made
from streams.protocols.sap.constitution import bind, constitution_of
from streams.protocols.sap.learning.heuristics import chain_version
from streams.protocols.sap.newest_heuristics import newest_heuristics
from tests.unit.protocols.sap.processor.support import Bench, result, task, uuid
from topology.sap import SAP_HEURISTICS_TABLE, SAP_INBOX, sap_version

CAPABILITY = "report.summarise"


def hashed_row(version: int, previous: AvroValue | None = None, **members: object) -> AvroValue:
    """Return a SapHeuristics row whose hash is right.  previous: the row of the version before."""
    row = {
        "capability": CAPABILITY,
        "version": version,
        "extractorVersion": 0,
        "volatileKeys": [],
        "blockedKeys": [],
        "thresholds": {},
        "extraChecks": [],
        "constitution": "1",
        "basis_json": "{}",
        "derivedAt": 0,
        **members,
    }
    sha256 = None if previous is None else str(previous["sha256"])
    return chain_version(row, "sap.learning-signals/0/0", sha256)


class Counting:
    """A copy that counts how often it is asked."""

    def __init__(self, rows: list[AvroValue]) -> None:
        self.rows, self.asked = rows, 0

    def get(self, key: str) -> AvroValue | None:
        self.asked += 1
        capability, version = key.split("/")
        assert capability == CAPABILITY
        return self.rows[int(version) - 1] if 1 <= int(version) <= len(self.rows) else None

    def index(self, make: Callable[[], Made]) -> Made:
        raise AssertionError("it has no index")

    def index_positions(self) -> list[int]:
        raise AssertionError("it has no index")


@cache
def chain(versions: int) -> list[AvroValue]:
    """Return so many versions, each with the hash of the one before it."""
    rows: list[AvroValue] = []
    for number in range(1, versions + 1):
        rows.append(hashed_row(number, rows[-1] if rows else None))
    return rows


def forged(row: AvroValue, **members: object) -> AvroValue:
    """Return a row with other members, its own hash right."""
    changed = {**row, **members}
    return chain_version(changed, row["cause"], changed["previousSha256"])


@pytest.mark.parametrize("versions", [*range(40), 1000, 4095, 4096])
def test_the_newest_version_is_found_by_a_few_questions(versions: int) -> None:
    rows = Counting(chain(4096)[:versions])
    row = newest_heuristics(CAPABILITY, rows)
    assert (0 if row is None else row["version"]) == versions
    assert rows.asked <= 2 * versions.bit_length() + 3


FORGED: Mapping[str, tuple[int, Mapping[str, object], int]] = {
    "the newest, under another chain": (5, {"previousSha256": "f" * 64}, 3),
    "one that compaction has left": (4, {"volatileKeys": ["x"]}, 3),
    "a copy of another version": (5, {"version": 2}, 4),
    "a copy of another capability": (5, {"capability": "a.b"}, 4),
}
"""The version that is forged, how, and the version that counts then."""


@pytest.mark.parametrize("case", FORGED)
def test_a_forged_version_does_not_count(case: str) -> None:
    """Check that neither counts where two whole versions contradict each other."""
    number, members, counted = FORGED[case]
    rows = list(chain(5))
    rows[number - 1] = forged(rows[number - 1], **members)
    newest = newest_heuristics(CAPABILITY, Counting(rows))
    assert newest is not None
    assert newest["version"] == counted


def test_a_first_version_names_no_other() -> None:
    rows = Counting([forged(chain(1)[0], previousSha256="f" * 64)])
    assert newest_heuristics(CAPABILITY, rows) is None


def test_versions_count_again_above_a_forged_one() -> None:
    """Check that the version after next continues the chain: the task writes on from its head."""
    rows = list(chain(7))
    rows[4] = forged(rows[4], volatileKeys=["x"])
    used = [newest_heuristics(CAPABILITY, Counting(rows[:count])) for count in (5, 6, 7)]
    assert [row and row["version"] for row in used] == [5, 4, 7]


def heuristics(bench: Bench, version: int = 1, **members: object) -> None:
    label = constitution_of(bench.settings).label
    rows = bench.copied.setdefault(SAP_HEURISTICS_TABLE.name, {})
    previous = rows.get(f"{CAPABILITY}/{sap_version(version - 1)}")
    row = hashed_row(version, previous, **{"constitution": label, **members})
    rows[f"{CAPABILITY}/{sap_version(version)}"] = row


def accepted(bench: Bench, n: int = 1, **changes: Any) -> Mapping[str, object]:
    ack = bench.task(task(taskId=uuid(n), **changes))
    acceptance: Mapping[str, object] = ack["accepted"]
    return acceptance


def test_a_task_is_bound_to_what_was_read_when_it_came() -> None:
    bench = Bench()
    before = accepted(bench, 1)
    heuristics(bench, thresholds={"calm": 30.0}, extraChecks=["no_pii"])
    heuristics(bench, 2, thresholds={"calm": 35.0}, extraChecks=["no_pii"], extractorVersion=1)
    after = accepted(bench, 2)
    assert before["policy"] == {
        "heuristicsVersion": 0,
        "extractorVersion": 0,
        "thresholds": {},
        "extraChecks": [],
    }
    assert after["policy"] == {
        "heuristicsVersion": 2,
        "extractorVersion": 1,
        "thresholds": {"calm": 35},
        "extraChecks": ["no_pii"],
    }
    assert dict(bench.of(SAP_INBOX)[-1].headers)["headrace-heuristics"] == b"2"


def test_a_learned_check_looks_at_the_result() -> None:
    bench = Bench()
    heuristics(bench, extraChecks=["no_pii"])
    bench.task()
    bench.result(result("SUCCEEDED", output="ana@example.org"))
    assert bench.last["status"] == "ESCALATED"
    checks = {c["principle"] for c in bench.last["constitutionalEvidence"]["policyChecks"]}
    assert checks == {"learned:no_pii"}
    assert bench.last["meta"]["headrace"]["heuristicsVersion"] == 1


def test_learned_keys_are_left_out_of_the_essence() -> None:
    bench = Bench()
    payload = {"document": "d", "requestId": "r", "draftNo": 7, "x": 1}
    plain = accepted(bench, 1, payload=payload)
    heuristics(bench, volatileKeys=["draftNo", "absent"], extractorVersion=3)
    learned = accepted(bench, 2, payload=payload)
    assert (plain["removedKeys"], learned["removedKeys"]) == (
        ["requestId"],
        ["draftNo", "requestId"],
    )
    same = cache_key(task(payload=payload), {"requestId", "draftNo"}, 3)
    assert (learned["cacheKey"], learned["fingerprint"]) == (same.key, same.fingerprint)
    assert str(learned["fingerprint"]).startswith("e3.")
    assert plain["cacheKey"] != learned["cacheKey"]


def test_thresholds_and_checks_hold_under_their_own_constitution_only() -> None:
    bench = Bench()
    heuristics(
        bench,
        constitution="0@another",
        thresholds={"calm": 30.0},
        extraChecks=["no_pii"],
        volatileKeys=["document"],
        extractorVersion=2,
    )
    acceptance = accepted(bench)
    assert acceptance["policy"] == {
        "heuristicsVersion": 1,
        "extractorVersion": 2,
        "thresholds": {},
        "extraChecks": [],
    }
    assert acceptance["removedKeys"] == ["document"]


def test_what_is_only_observed_is_not_applied() -> None:
    bench = Bench(sap_learning="observe")
    heuristics(bench, volatileKeys=["document"], extractorVersion=2)
    acceptance = accepted(bench)
    assert (acceptance["removedKeys"], acceptance["policy"]) == (
        [],
        {"heuristicsVersion": 0, "extractorVersion": 0, "thresholds": {}, "extraChecks": []},
    )


def test_a_row_without_its_hash_is_absent() -> None:
    bench = Bench()
    heuristics(bench, extractorVersion=1)
    heuristics(bench, 2, extractorVersion=2)
    forged = bench.copied[SAP_HEURISTICS_TABLE.name][f"{CAPABILITY}/{sap_version(2)}"]
    forged["volatileKeys"] = ["document"]
    policy = accepted(bench)["policy"]
    assert isinstance(policy, dict)
    assert (policy["heuristicsVersion"], policy["extractorVersion"]) == (1, 1)


def test_another_capabilitys_heuristics_do_not_count() -> None:
    bench = Bench()
    heuristics(bench, volatileKeys=["document"])
    assert accepted(bench, target={"capability": "report.other"})["removedKeys"] == []


def test_a_result_under_another_constitution_is_judged_by_that_one(tmp_path: Path) -> None:
    """The service came back with another file; what was learned under the first one is void."""
    bench = Bench()
    heuristics(bench, extraChecks=["no_pii"])
    bench.task()
    path = tmp_path / "constitution.toml"
    path.write_text('version = "2"\n[denylist]\nterms = ["frobnicator"]\n')
    label = bind(path).label
    bench.settings["SAP_CONSTITUTION"] = path
    bench.result(result("RUNNING", output="ana@example.org"))
    assert (bench.last["status"], bench.last["meta"]["headrace"]["constitution"]) == (
        "RUNNING",
        label,
    )
    bench.result(result("SUCCEEDED", output="my frobnicator"))
    assert bench.last["meta"]["headrace"]["rule"] == "alignment_refused"
    assert bench.row()["constitution"] != label
    assert bench.learned()[-1]["constitution"] == label


def test_a_hit_shows_the_steps_of_the_constitution_that_it_was_checked_under(
    tmp_path: Path,
) -> None:
    bench = Bench()
    heuristics(bench, extraChecks=["no_pii"])
    bench.task(task("prefer", telemetry={"trace": True}))
    path = tmp_path / "constitution.toml"
    path.write_text('version = "2"\n')
    label = bind(path).label
    bench.settings["SAP_CONSTITUTION"] = path
    bench.hit(checks=[], violations=[], constitution=label)
    steps = bench.last["meta"]["headrace"]["steps"]
    assert [step["name"] for step in steps] == ["sum"]
