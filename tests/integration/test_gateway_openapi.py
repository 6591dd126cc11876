"""The gateway is what its OpenAPI document says: schemathesis, with every check."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import uuid
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.examples import example_count, run_size
from tests.integration.system import Live, live
from tests.processes import ROOT, wait_for
from tests.unit.envelopes import IDEA_ID
from tests.unit.protocols.apc.queries.facts import transfer
from tests.unit.protocols.asap.queries.stage import (
    INDEXER,
    manifest,
    message,
    request,
    tool_call,
    update,
)
from tests.unit.protocols.saop.queries.stage import move, turn
from tests.unit.protocols.sap.queries.stage import cached, result
from tests.unit.protocols.summit.queries import stage
from topology.apc import APC_EVENTS, APC_PACKETS

HERE = Path(__file__).parent
TIME_LIMIT_S = 600
PREPARED = 6
ALL_PHASES = "examples,coverage,fuzzing"
PHASES = run_size(ALL_PHASES, "examples,fuzzing")
REACHED = {
    "rewind": {200, 404, 409, 422},
    "rewinds/{rewind_id}/confirm": {200, 409, 422},
    "rewinds/{rewind_id}/abort": {200, 409, 422},
    "rewinds/{rewind_id}": {200, 404, 422},
    "rewind-plan": {200, 404, 422},
}
"""What the routes under a session are to have answered at least."""
REACHED_OF_SAP = {
    "tasks": {202, 422},
    "results": {200, 202, 422},
    "signals": {200, 202, 422},
    "tasks/{taskId}": {200, 404, 422},
    "cache/{cacheKey}": {200, 404, 422},
    "cache/{cacheKey}/versions": {200, 404, 422},
    "learning": {200, 422},
}
"""Likewise of those of SAP."""
REACHED_OF_ASAP = {
    "envelopes": {202, 422},
    "tasks": {200, 422},
    "tasks/{id}": {200, 404, 422},
    "tasks/{id}/events": {200, 404, 422},
    "tasks/{id}/snapshots": {200, 404, 422},
    "tasks/{id}/snapshots/{version}": {200, 404, 422},
    "tasks/{id}/messages": {200, 404, 422},
    "tasks/{id}/artifacts": {200, 404, 422},
    "envelopes/{envelope_id}": {200, 422},
    "calls/{key}": {200, 404, 422},
    "conversations/{id}": {200, 404, 422},
    "agents": {200, 422},
    "agents/{urn}": {200, 202, 404, 422},
}
"""Likewise of those of ASAP."""
REACHED_OF_SUMMIT = {
    "manifests": {202, 422},
    "manifests/{agentId}": {202},
    "calls": {202, 422},
    "replies": {202, 422},
    "agents": {200, 422},
    "agents/{agentId}": {200, 404, 422},
    "agents/{agentId}/events": {200, 422},
    "runs": {200, 422},
    "runs/{runId}": {200, 404, 422},
    "runs/{runId}/events": {200, 422},
}
"""Likewise of those of Summit."""
REACHED_OF_LOG = {
    "records/{topic}/{partition}": {200, 404, 422},
    "records/{topic}/{partition}/{offset}": {200, 404, 422},
    "records/{topic}/{partition}/{offset}/proof": {200, 404, 422},
    "machines": {200, 422},
    "machines/{name}": {200, 404},
    "rules": {200, 422},
    "log": {200},
    "audit": {200},
    "service": {200},
}
"""Likewise of the service, its declarations and its log."""
REACHED_OF_REGISTRY = {
    "/subjects": {200, 422},
    "/subjects/{subject}/versions": {200, 404, 422},
    "/subjects/{subject}/versions/{version}": {200, 404, 422},
    "/schemas/ids/{id}": {200, 404},
    "/config/{subject}": {200, 404},
    "/mode/{subject}": {200, 404},
}
"""Likewise of the registry's read API."""
ASAP_IDS = {
    "get_asap_task": {"id": "t1"},
    "list_task_events": {"id": "t1"},
    "list_snapshots": {"id": "t1"},
    "list_messages": {"id": "t1"},
    "list_artifacts": {"id": "t1"},
    "get_snapshot": {"id": "t1", "version": "latest"},
    "get_envelope_verdicts": {"envelope_id": "t1"},
    "get_call": {"key": "call-1"},
    "get_conversation": {"id": "conv-7f"},
    "get_agent": {"urn": INDEXER},
}
"""What `asap_worked` leaves there, by operation."""
SUMMIT_IDS = {
    "get_summit_agent": {"agentId": stage.AGENT},
    "list_summit_agent_events": {"agentId": stage.AGENT},
    "get_summit_run": {"runId": stage.RUN},
    "list_summit_run_events": {"runId": stage.RUN},
    "withdraw_summit_agent": {"agentId": "0"},
}
"""What `summit_worked` leaves there, by operation."""


def sent(client: httpx.Client, path: str, *values: object) -> str:
    answer = client.post(path, json=values)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["positions"][-1])


def seen(client: httpx.Client, path: str, **query: str) -> Any:
    """What a read answers once the view is as far; here each read waits for a second only."""
    answers: list[httpx.Response] = []

    def ask() -> bool:
        answers.append(client.get(path, params=query))
        return answers[-1].status_code != 504

    wait_for(ask, f"{path} is answered", 60)
    assert answers[-1].status_code == 200, answers[-1].text
    return answers[-1].json()


def rewinds_prepared(client: httpx.Client) -> list[tuple[str, str]]:
    """Of sessions with one task, each with a rewind that waits for its confirm."""
    sessions = ["sess-01", *(f"prepared-{n}" for n in range(PREPARED))]
    for session in sessions:
        move_on = move(session, "paint-7", "PENDING", "IN_PROGRESS", git_hash="5c0ffee")
        position = sent(client, "/v1/rtes/events", move_on)
        tasks = seen(client, "/v1/saop/tasks", session_id=session, after=position)["items"]
        assert "paint-7" in {task["task_id"] for task in tasks}
    pairs = [(session, str(uuid.uuid4())) for session in sessions[1:]]
    for session, rewind_id in pairs:
        order = {"task_id": "paint-7", "phase": "prepare", "rewind_id": rewind_id}
        answer = client.post(f"/v1/saop/sessions/{session}/rewind", json=order)
        assert answer.status_code == 200, answer.text
    return pairs


def answer_stored(client: httpx.Client) -> tuple[str, str]:
    """A task whose answer is in the cache, and the key of that."""
    of = cached()
    path, position = f"/v1/sap/tasks/{of['taskId']}", sent(client, "/v1/sap/tasks", of)
    key = seen(client, path, after=position)["cache"]["cacheKey"]
    wait_for(lambda: client.get(path).json()["cache"]["state"] == "missed", "it is dispatched")
    sent(client, "/v1/sap/results", result(of, output={"n": 1}))
    wait_for(lambda: client.get(f"/v1/sap/cache/{key}").status_code == 200, "it is stored")
    return of["taskId"], key


def asap_worked(client: httpx.Client) -> None:
    """An event-sourced task with all that may belong to one, a call and an agent."""
    config = {"state_mode": "event-sourced"}
    saved = update("u1", save={"page": 1})
    envelopes = (request("t1", config=config), saved, message("m1", ["p"]), tool_call("c1"))
    answer = client.post("/v1/asap/envelopes", json=envelopes)
    assert answer.status_code == 202, answer.text
    assert client.put(f"/v1/asap/agents/{INDEXER}", json=manifest()).status_code == 202
    for path in ("tasks/t1/snapshots/2", "calls/call-1", f"agents/{INDEXER}"):
        wait_for(partial(_is_there, client, f"/v1/asap/{path}"), path)


def summit_worked(client: httpx.Client) -> None:
    """The worked example of Summit, and an agent that may be withdrawn."""
    run, agent = f"/v1/summit/runs/{stage.RUN}", f"/v1/summit/agents/{stage.AGENT}"
    sent(client, "/v1/summit/manifests", stage.manifest("0"), stage.manifest())
    wait_for(partial(_is_there, client, agent), agent)
    sent(client, "/v1/summit/calls", stage.invoke(traceId="tr-1"))
    wait_for(partial(_is_there, client, run), run)
    sent(client, "/v1/summit/replies", stage.result())
    wait_for(lambda: client.get(run).json()["status"] == "completed", "the run is completed")


def _record_ids(position: str) -> dict[str, dict[str, str]]:
    """The place of the first fact of the partition in which a packet lies, by operation."""
    topic, partition, _ = position.split("/")
    events = topic.replace(APC_PACKETS.name, APC_EVENTS.name)
    record = {"topic": events, "partition": partition, "offset": "0"}
    return dict.fromkeys(("list_records", "get_record", "prove_fact"), record)


def _is_there(client: httpx.Client, path: str) -> bool:
    return client.get(path).status_code == 200


def route_statuses(system: Live) -> dict[str, set[int]]:
    """The statuses of each route, from the access log."""
    statuses: dict[str, set[int]] = {}
    for line in system.gateway.text().splitlines():
        if line.startswith("{"):
            request = json.loads(line)
            statuses.setdefault(request["route"], set()).add(request["status"])
    return statuses


@pytest.mark.timeout(700)
def test_every_operation_does_what_the_document_says(broker: str, tmp_path: Path) -> None:
    names = (
        *("SAP_MAX_WAIT_S", "ASAP_MAX_WAIT_SECONDS", "ASAP_CALL_WAIT_SECONDS"),
        *("SUMMIT_WAIT_S", "SUMMIT_WAIT_MAX_S", "GATEWAY_WAIT_S"),
    )
    short = dict.fromkeys(names, "1")
    with live(broker, tmp_path, **short) as system, system.client as client:
        packet = transfer(1, "p1", trace__session_id="sess-01", packet_id=IDEA_ID)
        position = sent(client, "/v1/apc/packets", packet)
        sent(client, "/v1/saop/turns", turn("task-01", 0), turn("task-01", 1))
        prepared = rewinds_prepared(client)
        task_there, key_there = answer_stored(client)
        asap_worked(client)
        summit_worked(client)
        process = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli"),
                *("--config-file", str(HERE / "schemathesis.toml")),
                *("run", f"{system.url}/openapi.json", "--phases", PHASES),
                *(
                    "--max-examples",
                    str(example_count(12)),
                    "--seed",
                    "7",
                    "--no-shrink",
                    "--continue-on-failure",
                ),
            ],
            cwd=ROOT,
            env={
                **os.environ,
                "POSITION_THERE": position,
                "REWINDS_PREPARED": json.dumps(prepared),
                "TASK_THERE": task_there,
                "CACHE_KEY_THERE": key_there,
                "IDS": json.dumps({**ASAP_IDS, **SUMMIT_IDS, **_record_ids(position)}),
                "SCHEMATHESIS_HOOKS": "tests.integration.openapi_hooks",
                "COLUMNS": "100",
            },
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT_S,
            check=False,
        )
        assert process.returncode == 0, process.stdout[-20_000:] + process.stderr[-2000:]
        counted = re.search(r"(\d+) generated", process.stdout)
        assert counted is not None
        assert int(counted[1]) > run_size(1000, 500)
        statuses = route_statuses(system)
        assert not {path for path, process in statuses.items() if process & {500, 503}}
        if PHASES != ALL_PHASES:  # too little was sent to reach each answer
            return
        for path, expected in REACHED.items():
            assert statuses[f"/v1/saop/sessions/{{session_id}}/{path}"] >= expected, path
        for path, expected in REACHED_OF_SAP.items():
            assert statuses[f"/v1/sap/{path}"] >= expected, path
        for path, expected in REACHED_OF_ASAP.items():
            assert statuses[f"/v1/asap/{path}"] >= expected, path
        for path, expected in REACHED_OF_SUMMIT.items():
            assert statuses[f"/v1/summit/{path}"] >= expected, path
        assert statuses["/summit"] >= {200}
        for path, expected in REACHED_OF_LOG.items():
            assert statuses[f"/v1/{path}"] >= expected, path
        for path, expected in REACHED_OF_REGISTRY.items():
            assert statuses[path] >= expected, path
