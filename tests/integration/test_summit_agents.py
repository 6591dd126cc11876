"""Agents of Summit as processes on a real Kafka: killed, stopped, in a group, in a chain."""

from __future__ import annotations

import asyncio
import signal
import uuid
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from streams import Client, ManifestRejected, serve_agent
from tests.integration.summit_desk import TEXT, WAIT_S, SummitHarness, finals, new_id, run_ids
from tests.processes import Process, wait_for

Json = dict[str, Any]


@pytest.mark.slow
def test_a_run_of_a_killed_agent_is_begun_by_the_next(harness: SummitHarness) -> None:
    """Answered once, under the same id."""
    killed, run_id = harness.agent("hold"), new_id()
    harness.send(run_id)
    killed.wait_text(f"begun {run_id}\n")
    harness.has_come(run_id, state="running")
    killed.kill()
    harness.agent("slow").wait_text(f"begun {run_id}\n")
    harness.has_come(run_id)
    assert finals(harness.rules(run_id)) == ["reply.duplicate", "reply.result"]
    assert harness.invoke(run_id)["output"] == {"words": 6}


@pytest.mark.slow
def test_a_run_of_an_agent_that_stays_away_ends_in_time(harness: SummitHarness) -> None:
    """It is never stuck, and whoever comes later leaves it alone."""
    killed, run_id = harness.agent("hold"), new_id()
    harness.send(run_id, context={"budget": {"seconds": 3}})
    killed.wait_text(f"begun {run_id}\n")
    killed.kill()
    harness.has_come(run_id, state="budget_exceeded")
    assert finals(harness.rules(run_id)) == ["budget.seconds"]
    later = harness.agent("slow")
    after = new_id()
    assert harness.invoke(after)["status"] == "completed"
    assert f"begun {run_id}" not in later.text()
    assert finals(harness.rules(run_id)) == ["budget.seconds"]


@pytest.mark.slow
def test_agents_killed_again_and_again_answer_each_run_once(harness: SummitHarness) -> None:
    """Two of a group, one of them killed at a time, while calls come in."""
    ids = run_ids(240)
    pair = [harness.agent("slow"), harness.agent("slow")]
    for first in range(0, len(ids), 80):
        some = ids[first : first + 80]
        harness.send(*some)
        wait_for(partial(_any_ended, harness, some), "one of them is answered")
        index = _at_work(pair, some)
        pair[index].kill()
        pair[index] = harness.start("slow")
    harness.has_come(*ids)
    for run_id in ids:
        assert finals(harness.rules(run_id)).count("reply.result") == 1


def _any_ended(harness: SummitHarness, run_ids: list[str]) -> bool:
    return any(harness.state(one) == "completed" for one in run_ids)


def _at_work(pair: list[Process], run_ids: list[str]) -> int:
    """Which of the two has begun one of these runs; the second if both have."""
    return int(any(f"begun {one}\n" in pair[1].text() for one in run_ids))


@pytest.mark.slow
def test_two_processes_of_one_agent_share_its_runs_without_doing_one_twice(
    harness: SummitHarness,
) -> None:
    pair = [harness.agent("slow"), harness.agent("slow")]
    ids = run_ids(40)
    harness.send(*ids)
    harness.has_come(*ids)
    begun = [line for one in pair for line in one.text().splitlines() if line.startswith("begun")]
    assert sorted(begun) == sorted(f"begun {run_id}" for run_id in ids)
    for run_id in ids:
        assert harness.rules(run_id) == ["call.accepted", "reply.progress", "reply.result"]


@pytest.mark.slow
@pytest.mark.parametrize(("handler", "verb"), [("hold", "cancelled"), ("hold_thread", "stopped")])
def test_a_cancelled_run_is_stopped_and_not_answered(
    harness: SummitHarness, handler: str, verb: str
) -> None:
    agent, run_id = harness.agent(handler), new_id()
    harness.send(run_id)
    agent.wait_text(f"begun {run_id}\n")
    harness.has_come(run_id, state="running")
    cancelled = harness.run(lambda hr: hr.cancel(run_id, reason="no longer needed"))
    assert cancelled == {"runId": run_id, "status": "cancelled"}
    assert harness.run(lambda hr: hr.cancel(run_id)) == cancelled
    agent.wait_text(f"{verb} {run_id}\n")
    assert harness.invoke(new_id(), text="")["status"] == "completed"
    assert finals(harness.rules(run_id)) == ["cancel.accepted", "cancel.duplicate"]


@pytest.mark.slow
def test_a_run_cancelled_while_its_agent_was_away_is_not_begun(harness: SummitHarness) -> None:
    harness.agent("slow").kill()
    run_id, after = run_ids(2)
    harness.send(run_id)
    harness.run(lambda hr: hr.cancel(run_id))
    later = harness.agent("slow")
    assert harness.invoke(after)["status"] == "completed"
    assert f"begun {run_id}" not in later.text()


@pytest.mark.slow
def test_runs_wait_for_room_and_are_all_answered(harness: SummitHarness) -> None:
    """Four at a time, without a word lost."""
    agent, running, waiting = harness.agent("hold"), run_ids(4), run_ids(3)
    harness.send(*running)
    for run_id in running:
        agent.wait_text(f"begun {run_id}\n")
    harness.send(*waiting, text="")
    harness.run(lambda hr: hr.cancel(running[0]))
    harness.has_come(*waiting)
    harness.has_come(*running[1:], state="running")


@pytest.mark.slow
def test_a_budget_that_is_broken_ends_the_run(harness: SummitHarness) -> None:
    harness.agent("spend")
    within, over = run_ids(2)
    assert harness.invoke(within, context={"budget": {"usd": 0.06}})["status"] == "completed"
    response = harness.invoke(over, context={"budget": {"usd": 0.05, "tokens": 1000}})
    assert (response["status"], response["error"]["code"]) == ("budget_exceeded", -32013)
    assert response["metrics"]["tokens"] == 6
    assert "output" not in response
    assert harness.rules(over).count("reply.progress") == 6  # start, and five within the budget


@pytest.mark.slow
def test_an_output_against_the_schema_is_not_passed_on(harness: SummitHarness) -> None:
    harness.agent("wrong")
    run_id = new_id()
    response = harness.invoke(run_id)
    assert (response["status"], response["error"]["code"]) == ("failed", -32010)
    assert "output" not in response
    row = harness.get(f"/v1/summit/runs/{run_id}")
    assert row["output"] is None
    assert row["evidence"]["outputHash"]


def test_a_chain_of_three_is_one_lineage_tree(harness: SummitHarness) -> None:
    for agent in ("fact-checker", "deep-researcher", "desk-router"):
        harness.example(agent)
    run_id, trace = new_id(), f"tr-{uuid.uuid4().hex[:8]}"
    question = {"question": "quantum computing in 2026"}

    async def story(hr: Client) -> tuple[Json, set[tuple[str, str, str]]]:
        async with hr.tail("lineage.edges") as edges:
            response = await hr.invoke(
                "desk-router", question, run_id, {"traceId": trace}, wait=WAIT_S
            )
            drawn: set[tuple[str, str, str]] = set()
            async for record in edges:
                edge = record.value
                drawn.add((edge["from_node"], edge["relation"], edge["to_node"]))
                if len({one for one, _, _ in drawn if one.startswith("summit:reply:")}) == 3:
                    return response, drawn
        raise AssertionError("a tail does not end")

    response, drawn = harness.run(story)
    assert response["status"] == "completed"
    assert response["output"]["by"] == "deep-researcher"
    runs = [run_id, f"{run_id}.1", f"{run_id}.1.1"]
    nodes = [f"summit:run:{one}" for one in runs]
    tree = {(child, parent) for child, relation, parent in drawn if relation == "child_of"}
    assert tree == {(nodes[1], nodes[0]), (nodes[2], nodes[1])}
    traced = {node for node, relation, _ in drawn if relation == "same_trace"}
    assert traced == set(nodes)
    answering = {node for _, relation, node in drawn if relation == "answers"}
    assert answering == set(nodes)
    rows = harness.get("/v1/summit/runs", traceId=trace, fresh="true")["items"]
    assert [(row["agentId"], row["caller"]) for row in reversed(rows)] == [
        ("desk-router", None),
        ("deep-researcher", "desk-router"),
        ("fact-checker", "deep-researcher"),
    ]
    (child,) = harness.get("/v1/summit/runs", parentRunId=run_id)["items"]
    assert (child["runId"], child["verificationStatus"]) == (runs[1], "passed")


@pytest.mark.slow
def test_an_agent_whose_manifest_is_refused_does_not_start(harness: SummitHarness) -> None:
    async def story(hr: Client) -> None:
        await hr.register(harness.manifest())
        changed = harness.manifest(role="x-other")
        with pytest.raises(ManifestRejected) as caught:
            await serve_agent(
                changed,
                lambda inputs, run: {},
                tools={"slugify": lambda arguments, run: ""},
                settings=harness.system.settings,
            )
        assert caught.value.rule == "manifest.version_conflict"

    harness.run(story)


@pytest.mark.slow
def test_an_agent_ends_when_it_is_told_to(harness: SummitHarness) -> None:
    agent = harness.example("word-stats")
    agent.signal(signal.SIGTERM)
    assert agent.exit_code() == 0


@pytest.mark.slow
def test_an_agent_in_this_process_stops_when_its_event_is_set(harness: SummitHarness) -> None:
    """What was begun is answered, and nothing is delivered again to the next."""
    run_id = new_id()

    async def handler(inputs: Json, run: Any) -> Json:
        stop.set()
        return {"words": 1}

    async def story() -> Json:
        async with harness.client() as hr:
            serving = asyncio.create_task(serve())
            await hr.register(harness.manifest())
            response = await hr.invoke(harness.name, {"text": TEXT}, run_id, wait=WAIT_S)
            await asyncio.wait_for(serving, WAIT_S)
            return response

    async def serve() -> None:
        async def slugify(arguments: Json, run: Any) -> str:
            return ""

        tools = {"slugify": slugify}
        settings = replace(harness.system.settings, state_dir=harness.system.folder / harness.name)
        await serve_agent(harness.manifest(), handler, tools=tools, stop=stop, settings=settings)

    stop = asyncio.Event()
    response = asyncio.run(asyncio.wait_for(story(), 2 * WAIT_S))
    assert response["output"] == {"words": 1}
    later = harness.agent("slow")
    assert harness.invoke(new_id())["status"] == "completed"
    assert f"begun {run_id}" not in later.text()
