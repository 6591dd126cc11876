"""Runs and what is told of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.protocols.summit.queries.stage import (
    AGENT,
    CALLS,
    HASHES,
    MANIFESTS,
    NO_COST,
    OUTPUT,
    REPLIES,
    RUN,
    cancel,
    critic,
    example,
    failure,
    invoke,
    judgement,
    manifest,
    progress,
    registered,
    result,
    tool_call,
)
from tests.unit.views.bench import Bench

Json = dict[str, Any]
RUNS = "/v1/summit/runs"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.close()


def ids(page: Json) -> list[str]:
    return [run["runId"] for run in page["items"]]


def test_a_run_is_shown_with_its_inputs_output_and_evidence(bench: Bench) -> None:
    example(bench)
    run = bench.look(f"{RUNS}/{RUN}")
    assert (run["status"], run["reason"], run["caller"]) == ("completed", "reply.result", "desk-7")
    assert "state" not in run
    assert run["inputs"] == {"text": "to be or not to be", "top": 3}
    assert run["output"] == OUTPUT
    assert run["metrics"] == NO_COST
    assert {name: run["evidence"][name] for name in HASHES} == HASHES


def test_a_run_that_is_not_there(bench: Bench) -> None:
    answer = bench.get(f"{RUNS}/none")
    assert (answer.status, answer.body["rule"]) == (404, "run.unknown")


def test_a_run_under_way_has_inputs_and_no_output(bench: Bench) -> None:
    registered(bench)
    bench.send(CALLS, invoke())
    bench.send(REPLIES, progress(message="half of it"))
    run = bench.look(f"{RUNS}/{RUN}")
    assert (run["status"], run["message"], run["output"]) == ("running", "half of it", None)
    assert run["inputs"]["top"] == 3


def test_the_output_of_a_refused_result_is_withheld(bench: Bench) -> None:
    registered(bench)
    bench.send(CALLS, invoke())
    bench.send(REPLIES, result(output={"words": "six"}))
    run = bench.look(f"{RUNS}/{RUN}")
    assert (run["status"], run["reason"], run["output"]) == ("failed", "output.schema", None)
    assert len(run["evidence"]["outputHash"]) == 64


def test_a_tool_run_has_the_arguments_as_inputs_and_any_json_as_output(bench: Bench) -> None:
    registered(bench)
    bench.send(CALLS, tool_call())
    bench.send(REPLIES, {**result("tool-1"), "output": None})
    run = bench.look(f"{RUNS}/tool-1")
    assert (run["kind"], run["status"], run["toolName"]) == ("tool", "completed", "slugify")
    assert (run["inputs"], run["output"]) == ({"title": "To Be"}, None)


@pytest.fixture
def several(bench: Bench) -> Bench:
    """a: completed; b: failed, by another agent; c: queued, a sub-run of a; t: a tool's."""
    registered(bench, manifest("other"))
    bench.send(CALLS, {**invoke("a"), "caller": "desk-7"})
    bench.send(CALLS, invoke("b", "other", traceId="tr-2"))
    bench.send(CALLS, invoke("c", parentRunId="a"), tool_call("t"))
    bench.send(REPLIES, result("a"), failure("b", agent="other"))
    return bench


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["t", "c", "b", "a"]),
        (f"agentId={AGENT}", ["t", "c", "a"]),
        ("agentId=other", ["b"]),
        ("state=queued", ["t", "c"]),
        ("state=completed", ["a"]),
        ("state=running", []),
        ("kind=tool", ["t"]),
        ("traceId=tr-2", ["b"]),
        ("parentRunId=a", ["c"]),
        ("caller=desk-7", ["a"]),
        ("root=true", ["t", "b", "a"]),
        ("root=true&state=queued", ["t"]),
        ("root=true&parentRunId=a", []),
        ("root=false", ["t", "c", "b", "a"]),
        (f"agentId={AGENT}&state=queued&kind=invoke", ["c"]),
        ("traceId=none", []),
    ],
)
def test_runs_are_found_by_what_they_are(several: Bench, query: str, expected: list[str]) -> None:
    assert ids(several.look(RUNS, query)) == expected


def test_runs_of_a_window(several: Bench) -> None:
    at = {each["runId"]: each["createdAt"] for each in several.look(RUNS)["items"]}
    assert ids(several.look(RUNS, f"from={at['b']}&to={at['t']}")) == ["c", "b"]
    assert ids(several.look(RUNS, f"agentId={AGENT}&from={at['b']}")) == ["t", "c"]
    assert ids(several.look(RUNS, f"state=completed&to={at['a']}")) == []
    answer = several.get(RUNS, "from=noon")
    assert (answer.status, answer.body["path"]) == (422, "from")


def test_runs_are_listed_without_inputs_and_output(several: Bench) -> None:
    page = several.look(RUNS, "limit=2")
    assert not {"inputs", "output", "state"} & set(page["items"][0])
    assert page["items"][0]["status"] == "queued"
    following = several.look(RUNS, f"limit=2&cursor={page['next']}")
    assert (ids(page), ids(following), following["next"]) == (["t", "c"], ["b", "a"], None)


def test_runs_made_at_one_time_go_by_id(bench: Bench) -> None:
    registered(bench)
    at = bench.now
    for name in ("m", "z", "a"):
        bench.now = at
        bench.send(CALLS, invoke(name))
    assert ids(bench.look(RUNS)) == ["z", "m", "a"]


@pytest.mark.parametrize("query", ["state=done", "limit=501", "limit=0", "cursor=x", "agent=x"])
def test_what_no_list_takes(bench: Bench, query: str) -> None:
    assert bench.get(RUNS, query).status == 422


def test_events_of_a_run_are_in_log_order(bench: Bench) -> None:
    registered(bench, critic())
    bench.send(CALLS, invoke())
    bench.send(REPLIES, progress(), result(), result(), judgement())
    bench.send(CALLS, cancel())
    page = bench.look(f"{RUNS}/{RUN}/events", "limit=3")
    rules = [event["rule"] for event in page["items"]]
    assert rules == ["call.accepted", "reply.progress", "reply.result"]
    second = bench.look(f"{RUNS}/{RUN}/events", f"cursor={page['next']}")
    rules = [event["rule"] for event in second["items"]]
    assert rules == ["reply.duplicate", "reply.verification", "run.terminal"]
    assert bench.look(f"{RUNS}/none/events") == {"items": [], "next": None}


def test_a_refused_call_has_an_event_and_no_run(bench: Bench) -> None:
    bench.send(CALLS, invoke())
    (event,) = bench.look(f"{RUNS}/{RUN}/events")["items"]
    assert (event["verdict"], event["rule"]) == ("rejected", "agent.unknown")
    assert bench.get(f"{RUNS}/{RUN}").status == 404


def test_a_timeout_is_among_the_events(bench: Bench) -> None:
    registered(bench)
    bench.send(CALLS, invoke())
    bench.now += 20_001
    bench.host.run()
    run = bench.look(f"{RUNS}/{RUN}")
    assert (run["status"], run["reason"]) == ("budget_exceeded", "budget.seconds")
    events = bench.look(f"{RUNS}/{RUN}/events")["items"]
    assert [event["verdict"] for event in events] == ["accepted", "fired"]


def test_a_view_that_is_built_anew_is_the_same(several: Bench) -> None:
    several.send(MANIFESTS, manifest(version="1.3.0"))
    queries = [(RUNS, ""), (f"{RUNS}/a", ""), (f"{RUNS}/a/events", ""), ("/v1/summit/agents", "")]
    before = [several.look(*each) for each in queries]
    several.view.drop()
    several.view = several.open_view()
    assert [several.look(*each) for each in queries] == before
