"""The hashes of a run, when another record is where its evidence points (Summit guide, 6.4)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streams.log import fetching
from streams.protocols.summit.queries import runs
from streams.protocols.summit.queries.agents import manifest_reader
from streams.protocols.summit.queries.evidence import checks
from tests.unit.protocols.summit.queries.stage import (
    CALLS,
    MANIFESTS,
    REPLIES,
    RUN,
    Json,
    cancel,
    example,
    failure,
    invoke,
    manifest,
    progress,
    result,
    tool,
    tool_call,
)
from tests.unit.views.bench import Bench

TOOL_RUN = "tool-1"
ALL = {"callHash", "inputHash", "manifestHash", "replyHash", "outputHash"}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A run of each kind has completed."""
    bench = Bench(tmp_path)
    example(bench)
    bench.send(CALLS, tool_call(TOOL_RUN))
    bench.send(REPLIES, result(TOOL_RUN, "to-be"))
    bench.view.catch_up(0)
    yield bench
    bench.close()


def wrong(bench: Bench, run_id: str, member: str, place: str | None) -> dict[str, str]:
    """The checks that do not hold.  place: of the record that is read at the position `member`
    of the evidence; None when it is there no more.
    """
    run = runs.run(bench.view, run_id)
    read = fetching.records_of(bench.log)

    def fetch(position: str) -> Any:
        if position != run["evidence"][member]:
            return read(position)
        return None if place is None else read(place)

    outcomes = checks(run, fetch, manifest_reader(bench.view))
    assert {check.check for check in outcomes} == ALL
    return {check.check: check.result for check in outcomes if check.result != "ok"}


@pytest.mark.parametrize("run_id", [RUN, TOOL_RUN])
def test_nothing_is_wrong_with_what_was_left_alone(bench: Bench, run_id: str) -> None:
    for member in ("callPosition", "replyPosition", "manifestPosition"):
        place = runs.run(bench.view, run_id)["evidence"][member]
        assert wrong(bench, run_id, member, place) == {}


@pytest.mark.parametrize(
    ("run_id", "call", "bad_checks"),
    [
        (RUN, invoke("r-2"), {"callHash"}),
        (RUN, invoke(inputs={"text": "other"}), {"callHash", "inputHash"}),
        (RUN, tool_call(), {"callHash", "inputHash"}),
        (RUN, cancel(), {"callHash", "inputHash"}),
        (TOOL_RUN, invoke(), {"callHash", "inputHash"}),
        (TOOL_RUN, cancel(), {"callHash", "inputHash"}),
    ],
)
def test_another_call(bench: Bench, run_id: str, call: Json, bad_checks: set[str]) -> None:
    (place,) = bench.append(CALLS, call)
    expected = dict.fromkeys(bad_checks, "mismatch")
    assert wrong(bench, run_id, "callPosition", place) == expected


@pytest.mark.parametrize(
    ("reply", "bad_checks"),
    [
        (result("r-2"), {"replyHash"}),
        (result(output={"words": 7}), {"replyHash", "outputHash"}),
        (progress(), {"replyHash", "outputHash"}),
        (failure(), {"replyHash", "outputHash"}),
    ],
)
def test_another_reply(bench: Bench, reply: Json, bad_checks: set[str]) -> None:
    (place,) = bench.append(REPLIES, reply)
    assert wrong(bench, RUN, "replyPosition", place) == dict.fromkeys(bad_checks, "mismatch")


@pytest.mark.parametrize(
    ("run_id", "other", "bad_checks"),
    [
        (RUN, manifest(tools=[]), {"manifestHash"}),
        (TOOL_RUN, manifest(tools=[]), {"manifestHash", "inputHash"}),
        (TOOL_RUN, manifest(tools=[tool("sing")]), {"manifestHash", "inputHash"}),
    ],
)
def test_another_manifest(bench: Bench, run_id: str, other: Json, bad_checks: set[str]) -> None:
    (place,) = bench.append(MANIFESTS, other)
    expected = dict.fromkeys(bad_checks, "mismatch")
    assert wrong(bench, run_id, "manifestPosition", place) == expected


@pytest.mark.parametrize(
    ("member", "topic", "bad_checks"),
    [
        ("callPosition", CALLS, {"callHash", "inputHash"}),
        ("replyPosition", REPLIES, {"replyHash", "outputHash"}),
        ("manifestPosition", MANIFESTS, {"manifestHash", "inputHash"}),
    ],
)
def test_bytes_that_are_no_record(
    bench: Bench, member: str, topic: str, bad_checks: set[str]
) -> None:
    place = bench.send_bytes(topic, b"\0\0\0\0\7abc")
    assert wrong(bench, RUN, member, place) == dict.fromkeys(bad_checks, "mismatch")


@pytest.mark.parametrize(
    ("member", "bad_checks"),
    [
        ("callPosition", {"callHash", "inputHash"}),
        ("replyPosition", {"replyHash", "outputHash"}),
        ("manifestPosition", set()),
    ],
)
def test_records_that_are_there_no_more(bench: Bench, member: str, bad_checks: set[str]) -> None:
    """Of a manifest its row is left."""
    assert wrong(bench, RUN, member, None) == dict.fromkeys(bad_checks, "missing")


def test_the_route_computes_the_hashes_from_the_records(bench: Bench) -> None:
    answer = bench.look(f"/v1/summit/runs/{RUN}/evidence")
    run = bench.look(f"/v1/summit/runs/{RUN}")
    assert answer["runId"] == RUN
    assert {each["check"] for each in answer["checks"]} == ALL
    for each in answer["checks"]:
        assert each["result"] == "ok"
        assert each["found"] == each["expected"] == run["evidence"][each["check"]]


def test_the_evidence_of_a_run_that_is_not_there(bench: Bench) -> None:
    answer = bench.get("/v1/summit/runs/none/evidence")
    assert (answer.status, answer.body["rule"]) == (404, "run.unknown")
