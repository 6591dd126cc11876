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
from tests.integration.summit_desk import TEXT, WAIT_S, Desk, finals, new_id, run_ids
from tests.processes import Process, wait_for

Json = dict[str, Any]


@pytest.mark.slow
def test_a_run_of_a_killed_agent_is_begun_by_the_next(desk: Desk) -> None:
    """Answered once, under the same id."""
    killed, run_id = desk.agent("hold"), new_id()
    desk.send(run_id)
    killed.wait_text(f"begun {run_id}\n")
    desk.has_come(run_id, state="running")
    killed.kill()
    desk.agent("slow").wait_text(f"begun {run_id}\n")
    desk.has_come(run_id)
    assert finals(desk.rules(run_id)) == ["reply.duplicate", "reply.result"]
    assert desk.invoke(run_id)["output"] == {"words": 6}


@pytest.mark.slow
def test_a_run_of_an_agent_that_stays_away_ends_in_time(desk: Desk) -> None:
    """It is never stuck, and whoever comes later leaves it alone."""
    killed, run_id = desk.agent("hold"), new_id()
    desk.send(run_id, context={"budget": {"seconds": 3}})
    killed.wait_text(f"begun {run_id}\n")
    killed.kill()
    desk.has_come(run_id, state="budget_exceeded")
    assert finals(desk.rules(run_id)) == ["budget.seconds"]
    later = desk.agent("slow")
    after = new_id()
    assert desk.invoke(after)["status"] == "completed"
    assert f"begun {run_id}" not in later.text()
    assert finals(desk.rules(run_id)) == ["budget.seconds"]


@pytest.mark.slow
def test_agents_killed_again_and_again_answer_each_run_once(desk: Desk) -> None:
    """Two of a group, one of them killed at a time, while calls come in."""
    ids = run_ids(240)
    pair = [desk.agent("slow"), desk.agent("slow")]
    for first in range(0, len(ids), 80):
        some = ids[first : first + 80]
        desk.send(*some)
        wait_for(partial(_any_ended, desk, some), "one of them is answered")
        index = _at_work(pair, some)
        pair[index].kill()
        pair[index] = desk.start("slow")
    desk.has_come(*ids)
    for run_id in ids:
        assert finals(desk.rules(run_id)).count("reply.result") == 1


def _any_ended(desk: Desk, run_ids: list[str]) -> bool:
    return any(desk.state(one) == "completed" for one in run_ids)


def _at_work(pair: list[Process], run_ids: list[str]) -> int:
    """Which of the two has begun one of these runs; the second if both have."""
    return int(any(f"begun {one}\n" in pair[1].text() for one in run_ids))


@pytest.mark.slow
def test_two_processes_of_one_agent_share_its_runs_without_doing_one_twice(desk: Desk) -> None:
    pair = [desk.agent("slow"), desk.agent("slow")]
    ids = run_ids(40)
    desk.send(*ids)
    desk.has_come(*ids)
    begun = [line for one in pair for line in one.text().splitlines() if line.startswith("begun")]
    assert sorted(begun) == sorted(f"begun {run_id}" for run_id in ids)
    for run_id in ids:
        assert desk.rules(run_id) == ["call.accepted", "reply.progress", "reply.result"]


@pytest.mark.slow
@pytest.mark.parametrize(("handler", "said"), [("hold", "cancelled"), ("hold_thread", "stopped")])
def test_a_cancelled_run_is_stopped_and_not_answered(desk: Desk, handler: str, said: str) -> None:
    agent, run_id = desk.agent(handler), new_id()
    desk.send(run_id)
    agent.wait_text(f"begun {run_id}\n")
    desk.has_come(run_id, state="running")
    cancelled = desk.run(lambda hr: hr.cancel(run_id, reason="no longer needed"))
    assert cancelled == {"runId": run_id, "status": "cancelled"}
    assert desk.run(lambda hr: hr.cancel(run_id)) == cancelled
    agent.wait_text(f"{said} {run_id}\n")
    assert desk.invoke(new_id(), text="")["status"] == "completed"
    assert finals(desk.rules(run_id)) == ["cancel.accepted", "cancel.duplicate"]


@pytest.mark.slow
def test_a_run_cancelled_while_its_agent_was_away_is_not_begun(desk: Desk) -> None:
    desk.agent("slow").kill()
    run_id, after = run_ids(2)
    desk.send(run_id)
    desk.run(lambda hr: hr.cancel(run_id))
    later = desk.agent("slow")
    assert desk.invoke(after)["status"] == "completed"
    assert f"begun {run_id}" not in later.text()


@pytest.mark.slow
def test_runs_wait_for_room_and_are_all_answered(desk: Desk) -> None:
    """Four at a time, without a word lost."""
    agent, held, rest = desk.agent("hold"), run_ids(4), run_ids(3)
    desk.send(*held)
    for run_id in held:
        agent.wait_text(f"begun {run_id}\n")
    desk.send(*rest, text="")
    desk.run(lambda hr: hr.cancel(held[0]))
    desk.has_come(*rest)
    desk.has_come(*held[1:], state="running")


@pytest.mark.slow
def test_a_budget_that_is_broken_ends_the_run(desk: Desk) -> None:
    desk.agent("spend")
    within, over = run_ids(2)
    assert desk.invoke(within, context={"budget": {"usd": 0.06}})["status"] == "completed"
    found = desk.invoke(over, context={"budget": {"usd": 0.05, "tokens": 1000}})
    assert (found["status"], found["error"]["code"]) == ("budget_exceeded", -32013)
    assert found["metrics"]["tokens"] == 6
    assert "output" not in found
    assert desk.rules(over).count("reply.progress") == 6  # start, and five within the budget


@pytest.mark.slow
def test_an_output_against_the_schema_is_not_passed_on(desk: Desk) -> None:
    desk.agent("wrong")
    run_id = new_id()
    found = desk.invoke(run_id)
    assert (found["status"], found["error"]["code"]) == ("failed", -32010)
    assert "output" not in found
    row = desk.get(f"/v1/summit/runs/{run_id}")
    assert row["output"] is None
    assert row["evidence"]["outputHash"]


def test_a_chain_of_three_is_one_lineage_tree(desk: Desk) -> None:
    for agent in ("fact-checker", "deep-researcher", "desk-router"):
        desk.example(agent)
    run_id, trace = new_id(), f"tr-{uuid.uuid4().hex[:8]}"
    question = {"question": "quantum computing in 2026"}

    async def story(hr: Client) -> tuple[Json, set[tuple[str, str, str]]]:
        async with hr.tail("lineage.edges") as edges:
            found = await hr.invoke(
                "desk-router", question, run_id, {"traceId": trace}, wait=WAIT_S
            )
            drawn: set[tuple[str, str, str]] = set()
            async for record in edges:
                edge = record.value
                drawn.add((edge["from_node"], edge["relation"], edge["to_node"]))
                if len({one for one, _, _ in drawn if one.startswith("summit:reply:")}) == 3:
                    return found, drawn
        raise AssertionError("a tail does not end")

    found, drawn = desk.run(story)
    assert found["status"] == "completed"
    assert found["output"]["by"] == "deep-researcher"
    runs = [run_id, f"{run_id}.1", f"{run_id}.1.1"]
    nodes = [f"summit:run:{one}" for one in runs]
    tree = {(child, parent) for child, relation, parent in drawn if relation == "child_of"}
    assert tree == {(nodes[1], nodes[0]), (nodes[2], nodes[1])}
    traced = {node for node, relation, _ in drawn if relation == "same_trace"}
    assert traced == set(nodes)
    answered = {node for _, relation, node in drawn if relation == "answers"}
    assert answered == set(nodes)
    rows = desk.get("/v1/summit/runs", traceId=trace)["items"]
    assert [(row["agentId"], row["caller"]) for row in reversed(rows)] == [
        ("desk-router", None),
        ("deep-researcher", "desk-router"),
        ("fact-checker", "deep-researcher"),
    ]
    (child,) = desk.get("/v1/summit/runs", parentRunId=run_id)["items"]
    assert (child["runId"], child["verificationStatus"]) == (runs[1], "passed")


@pytest.mark.slow
def test_an_agent_whose_manifest_is_refused_does_not_start(desk: Desk) -> None:
    async def story(hr: Client) -> None:
        await hr.register(desk.manifest())
        changed = desk.manifest(role="x-other")
        with pytest.raises(ManifestRejected) as caught:
            await serve_agent(
                changed,
                lambda inputs, run: {},
                tools={"slugify": lambda arguments, run: ""},
                settings=desk.system.settings,
            )
        assert caught.value.rule == "manifest.version_conflict"

    desk.run(story)


@pytest.mark.slow
def test_an_agent_ends_when_it_is_told_to(desk: Desk) -> None:
    agent = desk.example("word-stats")
    agent.signal(signal.SIGTERM)
    assert agent.exit_code() == 0


@pytest.mark.slow
def test_an_agent_in_this_process_stops_when_its_event_is_set(desk: Desk) -> None:
    """What was begun is answered, and nothing is delivered again to the next."""
    run_id = new_id()

    async def handler(inputs: Json, run: Any) -> Json:
        stop.set()
        return {"words": 1}

    async def story() -> Json:
        async with desk.client() as hr:
            serving = asyncio.create_task(serve())
            await hr.register(desk.manifest())
            found = await hr.invoke(desk.name, {"text": TEXT}, run_id, wait=WAIT_S)
            await asyncio.wait_for(serving, WAIT_S)
            return found

    async def serve() -> None:
        async def slugify(arguments: Json, run: Any) -> str:
            return ""

        tools = {"slugify": slugify}
        own = replace(desk.system.settings, state_dir=desk.system.folder / desk.name)
        await serve_agent(desk.manifest(), handler, tools=tools, stop=stop, settings=own)

    stop = asyncio.Event()
    found = asyncio.run(asyncio.wait_for(story(), 2 * WAIT_S))
    assert found["output"] == {"words": 1}
    later = desk.agent("slow")
    assert desk.invoke(new_id())["status"] == "completed"
    assert f"begun {run_id}" not in later.text()
