"""More scenarios, made of the examples, which would be too long if each line were written down."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any
from uuid import UUID

from streams.api.route import Produce
from streams.ingress.edges import EDGES
from streams.routes.table import INPUTS, ROUTES
from tests.unit.schemas import examples
from topology import processors

Json = dict[str, Any]
FOLDERS = {kind: folder for folder, kind in examples.KINDS.items()}
SESSION = "/v1/saop/sessions/s-1"
AGENT = "/v1/asap/agents/urn%3Aasap%3Aagent%3Aindexer%3Aeu"


def _id(number: int) -> str:
    return str(UUID(int=number, version=4))


def judge_examples(topic: str) -> Iterator[Json]:
    """Every example for a topic, past the edge, so that the processor says what is wrong."""
    folder = FOLDERS[EDGES[topic].kind.name]
    for value in examples.valid(folder).values():
        yield {"topic": topic, "as": "service", "value": value}
    for case in examples.invalid(folder).values():
        if "text" not in case:
            yield {"topic": topic, "as": "service", "value": case[examples.CASES[folder]]}


def send_garbage() -> Iterator[Json]:
    """Bytes that are no records, keys that are not theirs, and nothing, to all processors."""
    for topic in processors.inputs():
        if not topic.internal or topic.retried:
            yield {"topic": topic.name, "key": "k", "raw_base64": "bm90IGF2cm8="}
            if topic in INPUTS:
                yield {"query": f"GET /v1/apc/packets?limit=1&after={topic.name}/0/0"}
            yield {"topic": topic.name, "key": "k", "value": None}
    for topic_name, edge in EDGES.items():
        value = next(iter(examples.valid(FOLDERS[edge.kind.name]).values()))
        yield {"topic": topic_name, "key": "k", "value": value}
    yield {"advance_ms": 86_400_000}


def post() -> Iterator[Json]:
    """What is sent over HTTP: every example, orders, and questions about a body."""
    for route in ROUTES:
        if isinstance(route.action, Produce):
            folder = FOLDERS[EDGES[route.action.topic.name].kind.name]
            first, *others = examples.valid(folder).values()
            yield {
                "query": f"POST {route.template}",
                "headers": {"Prefer": "wait=1"},
                "body": first,
            }
            yield {"query": f"POST {route.template}", "body": others}
            yield {"query": f"POST {route.template}", "body": {"colour": "red"}}
    packets = examples.valid("apc")
    yield {"query": "POST /v1/apc/arbitrate?top_k=1", "body": [packets["transfer"]] * 2}
    yield {"query": "POST /v1/apc/evaluate", "body": packets["eval"]}
    manifest = examples.valid("asap/manifests")
    yield {"query": f"PUT {AGENT}", "body": next(iter(manifest.values()))}
    yield {"query": f"DELETE {AGENT}"}
    for name in ("confirm", "abort"):
        yield {"topic": "rtes.raw", "value": _commit(name)}
        order = {"git_hash": "5c0ffee", "rewind_id": _id(len(name))}
        yield {"query": f"POST {SESSION}/rewind", "body": order}
        yield {"query": f"POST {SESSION}/rewinds/{order['rewind_id']}/{name}", "body": {}}
    for name in ("rewind", "rewind-plan"):
        yield {"query": f"{'GET' if 'plan' in name else 'POST'} {SESSION}/{name}"}


def _commit(name: str) -> Json:
    event = examples.valid("rtes")["task_transition"]
    return examples.changed(
        event,
        event_id=_id(100 + len(name)),
        session_id="s-1",
        payload__git_hash="5c0ffee",
    )


def learn() -> Iterator[Json]:
    """SAP: many tasks in which one member does not matter, so that heuristics and a playbook come
    of them."""
    task, result = examples.valid("sap/tasks")["task"], examples.valid("sap/results")["succeeded"]
    task["constitutionalContext"]["cachePolicy"] = {"mode": "bypass"}
    approval = examples.valid("sap/signals")["approval"]
    for number in range(1, 71):
        ids = {"taskId": _id(number)}
        colour = {"colour": number} if number <= 60 else {}
        payload = {"document": f"ledger-{number % 6 if colour else 6}", **colour}
        yield {"topic": "sap.tasks", "value": {**task, **ids, "payload": payload}}
        yield {"topic": "sap.results", "value": {**result, **ids}}
        if number in (20, 70):
            yield {"topic": "sap.signals", "value": {**approval, **ids, "signalId": _id(number)}}
    yield {"query": f"GET /v1/sap/learning?capability={task['target']['capability']}"}


def decay() -> Iterator[Json]:
    """APC: a protocol drifts while it is handed over, recovers, and is arbitrated."""
    packets = examples.valid("apc")
    for number in range(1, 31):
        members = {"trace__generation": 14 + number // 8, "trace__task_id": f"t-{number}"}
        to_swarm = f"swarm-{number % 3}"
        yield _packet(packets["transfer"], number, payload__to_swarm=to_swarm, **members)
        drift = 0.95 if number < 12 else 0.05
        yield _packet(
            packets["eval"], 100 + number, payload__metric_set__drift_risk=drift, **members
        )
    arbitration = packets["arbitration"]
    for number, candidate in enumerate(arbitration["payload"]["candidates"], 29):
        candidate["packet_ref_ids"] = [_id(number)]
    yield _packet(arbitration, 200)
    yield {"query": "GET /v1/apc/decisions"}


def _packet(packet: Json, number: int, **members: Any) -> Json:
    value = examples.changed(packet, packet_id=_id(number), **members)
    return {"topic": "apc.packets", "value": value}


STORIES: Mapping[str, Callable[[], Iterator[Json]]] = {
    **{f"examples-{topic}": partial(judge_examples, topic) for topic in EDGES},
    "garbage": send_garbage,
    "posts": post,
    "learning": learn,
    "decay": decay,
}
"""Scenarios by name, as lines."""


def lines_of(name: str) -> list[str]:
    return [json.dumps(line) for line in STORIES[name]()]
