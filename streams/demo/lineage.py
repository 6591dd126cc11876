"""The last act: one leak, of which five protocols know a part each, and the tree that joins them.

All parts are spoken here (`streams.demo.case`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from streams.agents import Clerk
from streams.demo import answers, case, packets, tasks
from streams.demo.stage import Json, Stage, act
from streams.view_store.graph.joined import joined
from topology.core import RTES_RAW
from topology.saop import SAOP_TURNS
from topology.sap import SAP_RESULTS, SAP_TASKS
from topology.summit import SUMMIT_CALLS, SUMMIT_MANIFESTS, SUMMIT_REPLIES

GRAPH = "/v1/lineage/graph"
CONFIDENCES = (0.93, 0.85, 0.77, 0.66)
"""Of the coder's turns: strictly falling, and by more than 0.25 in all."""
_DETECTOR = ("saop_confidence_declines", "saop_confidence_drop")
KINDS: Mapping[str, int] = {
    "trace": 2,
    "apc:packet": 2,
    "sap:task": 1,
    "sap:outcome": 1,
    "sap:cache": 1,
    "summit:run": 1,
    "summit:reply": 1,
    "asap:task": 1,
    "asap:envelope": 4,
    "asap:artifact": 1,
    "saop:turn": 4,
    "saop:escalation": 1,
}
"""Nodes of the tree."""


def proposed(stage: Stage) -> None:
    """APC: a builder has an idea, where the leak may be, and a decision rests on it."""
    for packet in (case.idea(stage), case.decision(stage)):
        fact = stage.packet(packet)
        stage.show("packet", f"{packet['packet_type']} {packet['packet_id'][:8]}: {fact['rule']}")
        stage.expect("the verdict", fact["verdict"], "accepted")


def vetted(stage: Stage) -> None:
    """SAP: what may be said of it is asked under the constitution, and answered."""
    task = answers.seed(stage, 6, question="Where does the split leak?")
    task["correlationId"] = str(case.trace(stage))
    stage.send(SAP_TASKS.name, task)
    stage.wait_for("the task in the inbox", lambda: _open(stage, task["taskId"]))
    _, result = Clerk(answers.agent_id(stage)).results(task, case.AT_MS)
    stage.send(SAP_RESULTS.name, result)
    row = stage.get(f"/v1/sap/tasks/{task['taskId']}")
    stage.show("task", f"{task['taskId'][:8]}: {row['state']}, {row['lastAlignment']}")
    stage.expect("the task", (row["state"], row["lastAlignment"]), ("SUCCEEDED", "VALID"))


def _open(stage: Stage, task_id: str) -> Json | None:
    """The task, once the cache has said that it does not know the answer."""
    row: Json = stage.get(f"/v1/sap/tasks/{task_id}")
    return row if row["cache"]["state"] == "missed" else None


def counted(stage: Stage) -> None:
    """Summit: an auditor counts the customers on both sides, and may spend nothing."""
    agent, run_id = case.name(stage, "auditor"), case.name(stage, "audit")
    stage.send(SUMMIT_MANIFESTS.name, case.manifest(agent))
    stage.send(SUMMIT_CALLS.name, case.call(stage, agent, run_id))
    stage.send(SUMMIT_REPLIES.name, case.reply(agent, run_id))
    row = stage.get(f"/v1/summit/runs/{run_id}")
    stage.show("run", f"{run_id}: {row['status']}, {row['output']}")
    stage.expect("the status", row["status"], "completed")


def handed_over(stage: Stage) -> None:
    """ASAP: a planner hands the repair to a coder, who reports, delivers and is done."""
    for envelope in case.envelopes(stage):
        answer = stage.door.call(envelope.model_dump(mode="json"))
        found = answer.get("result", {}).get("verdict")
        stage.expect(f"the verdict on {envelope.payload_type}", found, "accepted")
        stage.show("envelope", f"{envelope.payload_type} → {found}")


def written(stage: Stage) -> None:
    """SAOP and RTES: how the coder went about it, turn by turn, until it grew unsure."""
    task_id, parent = case.name(stage, "repair"), f"00-{case.trace(stage).hex}-00f067aa0ba902b7-01"
    for step in (("PENDING", "IN_PROGRESS"), ("IN_PROGRESS", "COMPLETED")):
        event = packets.transition(stage.session, *step)
        event["payload"]["task_id"] = task_id
        stage.send(RTES_RAW.name, event, parent)
    for index, confidence in enumerate(CONFIDENCES):
        stage.send(SAOP_TURNS.name, case.turn(task_id, index, confidence), parent)
    query = f"task_id={task_id}"
    turns = stage.get("/v1/saop/turns", query)["items"]
    stage.expect(
        "turns", [turn["turn"]["turn_index"] for turn in turns], list(range(len(CONFIDENCES)))
    )
    told = [each["rules"] for each in stage.get("/v1/saop/escalations", query)["items"]]
    stage.expect("escalations", told, [["confidence_drop"]])
    stage.show("escalated", f"after {len(turns)} turns: {told[0][0]}")


def one_tree(stage: Stage) -> None:
    """Who asks for the trace is shown all of it."""
    node = f"trace:{case.trace(stage)}"
    page = stage.wait_for("the whole tree", lambda: _whole(stage, node))
    for line in tree(joined(page)):
        stage.say(f"    {line}")
    protocols = {each["kind"].partition(":")[0] for each in page["nodes"]} - {"trace"}
    stage.expect("protocols", protocols, {"apc", "sap", "summit", "asap", "saop"})
    stage.show("draw it", f"headrace lineage {node} --direction descendants --format dot")


def _whole(stage: Stage, node: str) -> Json | None:
    page = stage.get(GRAPH, f"node={node}&direction=descendants")
    return page if Counter(each["kind"] for each in page["nodes"]) == KINDS else None


def tree(page: Json) -> Iterator[str]:
    """The descendants that a page shows, each below the first that it came of."""
    below: dict[str, list[tuple[str, str]]] = {}
    placed = {each["node"] for each in page["nodes"] if each["distance"] == 0}
    roots = sorted(placed)
    for edge in page["items"]:
        if edge["from_node"] not in placed:
            placed.add(edge["from_node"])
            below.setdefault(edge["to_node"], []).append((edge["relation"], edge["from_node"]))
    for root in roots:
        yield root
        yield from _branches(root, below, "  ")


def _branches(node: str, below: Json, indent: str) -> Iterator[str]:
    for relation, name in below.get(node, ()):
        yield f"{indent}{name}  ({relation})"
        yield from _branches(name, below, indent + "  ")


def taken_back(stage: Stage) -> None:
    """The idea was wrong, and is taken back: what rests on it is named."""
    first, rests = case.idea(stage), case.decision(stage)
    payload = {"target_packet_id": first["packet_id"], "reason": "the split was sound"}
    fact = stage.packet(case.packet(stage, first, "RETRACTION", "VALIDATION", payload))
    stage.expect("the verdict", fact["verdict"], "accepted")
    node = f"apc:packet:{first['packet_id']}"
    reached = stage.wait_for("the retraction", lambda: _retracted(stage, node))
    names = [each["from_node"] for each in reached["items"] if each["relation"] == "child_of"]
    stage.show("reached", ", ".join(names))
    stage.expect("what it reaches", names, [f"apc:packet:{rests['packet_id']}"])


def _retracted(stage: Stage, node: str) -> Json | None:
    page: Json = stage.get(GRAPH, f"node={node}&direction=blast_radius")
    return page if page["nodes"][0]["retracted_by"] else None


STEPS: tuple[Callable[[Stage], None], ...] = (
    proposed,
    vetted,
    counted,
    handed_over,
    written,
    one_tree,
    taken_back,
)


def tell(stage: Stage) -> None:
    """Raises DemoFailed at the first thing that is not as it should be."""
    stage.say("\nAct six: one leak, five protocols, one tree.")
    if stage.differs(*answers.RULES, *_DETECTOR) or tasks.needs_manifests(stage):
        stage.say(
            "    left out: it is written for the default settings, and agents without manifests"
        )
        return
    act(stage, "six", STEPS)
