"""The seed's Task and Result as they are printed, through a real gateway, worker and Kafka.

Then the same question in another task: the cache answers it, and no agent is asked.
"""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from schemas import sap
from streams.engine.records import header
from tests.chaos.cluster import Tail
from tests.e2e.outputs import value_as_json
from tests.integration.system import Live
from tests.integration.test_gateway import got
from tests.integration.test_gateway_sap import RESULTS, TASKS, post_and_wait
from tests.processes import ROOT, wait_for
from topology.sap import SAP_INBOX
from topology.topics import full_name, partitions_of

pytestmark = pytest.mark.slow

Json = dict[str, Any]

EXAMPLES = ROOT / "schemas/examples/sap"
TASK = (EXAMPLES / "tasks/seed.json").read_bytes()
"""The seed's example Task, and the member that it lacks though the seed requires it."""
RESULT = (EXAMPLES / "results/seed.json").read_bytes()
HASHED = (
    '{"capability":"consult.align","essence":{"depth":"detailed","topic":"UBOS SAP V2"},'
    '"outputContract":{"format":"json","schema":{"type":"object"}},'
    '"principles":["blueprint_thinking","strategic_pause","systems_over_willpower"],'
    '"sapVersion":"2.0","territory":"EUFM"}'
)
"""What the cacheKey is the hash of, written out by the SAP guide, 5.6."""
KEY = hashlib.sha256(HASHED.encode()).hexdigest()
AGE_S = 2
"""So old is the answer at least when it is asked for again."""
DECIDED = ("constitutionalEvidence", "meta")
"""The members of a Result to which an outcome adds."""


@pytest.fixture
def http(system: Live) -> Iterator[httpx.Client]:
    with system.client as client:
        yield client


@pytest.fixture
def inbox(system: Live) -> Iterator[Tail]:
    name = full_name(SAP_INBOX, system.prefix)
    tail = Tail(system.log, name, partitions_of(SAP_INBOX, system.settings.partitions))
    yield tail
    tail.close()


def posted(http: httpx.Client, path: str, body: bytes, **headers: str) -> httpx.Response:
    """As the bytes stand."""
    return http.post(path, content=body, headers={"content-type": "application/json"} | headers)


def seconds(text: str) -> int:
    """Since the epoch."""
    duration = sap.parse_seconds(text)
    assert duration is not None, text
    return duration


def test_without_its_pressure_level_the_seeds_task_is_refused(http: httpx.Client) -> None:
    """As the seed prints it: a MUST outranks an example."""
    task = json.loads(TASK)
    assert task["constitutionalContext"].pop("pressureLevel") == "consulted"
    answer = posted(http, TASKS, json.dumps(task).encode())
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["rule"]) == (422, "missing_field")
    assert error["path"] == "/constitutionalContext/pressureLevel"


def test_the_seed_is_answered_and_the_same_question_again_by_the_cache(
    http: httpx.Client, inbox: Tail
) -> None:
    first, agent_result = json.loads(TASK), json.loads(RESULT)
    path = f"{TASKS}/{first['taskId']}"
    assert posted(http, TASKS, TASK).status_code == 202
    inbox.until(1)
    ack = posted(http, RESULTS, RESULT, Prefer="wait=30")
    assert (ack.status_code, ack.json()["verdict"]) == (200, "accepted"), ack.text
    wait_for(lambda: got(http, path)["cache"]["storedVersion"] == 1, "the answer is stored")
    (outcome,) = got(http, path)["outcomes"]
    check_outcome(outcome, agent_result)

    cached = f"/v1/sap/cache/{KEY}"
    wait_for(lambda: http.get(cached).status_code == 200, "the answer is shown")
    record = got(http, cached)
    stored_at = seconds(record["storedAt"])
    wait_for(lambda: time.time() > stored_at + AGE_S, "the answer has an age")
    second = first | {"taskId": str(uuid.uuid4())}
    answer = post_and_wait(http, second)
    hit = answer.json()
    assert (answer.status_code, hit["taskId"]) == (200, second["taskId"]), answer.text
    check_hit(hit, agent_result, age_s=seconds(hit["reportedAt"]) - stored_at)
    assert hit["meta"]["headrace"]["cacheRecord"] == {
        "version": 1,
        "recordSha256": record["recordSha256"],
        "taskId": first["taskId"],
        "producer": agent_result["producer"]["agentId"],
    }
    row = got(http, f"{TASKS}/{second['taskId']}")
    assert (row["state"], row["cache"]["hitVersion"]) == ("SUCCEEDED", 1)
    assert row["cache"]["cacheKey"] == KEY
    versions = got(http, f"{cached}/versions")["versions"]
    assert [(one["version"], one["verified"]) for one in versions] == [(1, True)]
    check_inbox(inbox, first)


def check_outcome(outcome: Json, agent_result: Json) -> None:
    """It is the seed's Result, with what the service adds."""
    evidence, agents = outcome["constitutionalEvidence"], agent_result["constitutionalEvidence"]
    assert without(outcome, *DECIDED) == without(agent_result, *DECIDED)
    assert without(outcome["meta"], "headrace") == agent_result["meta"]
    assert outcome["meta"]["headrace"]["rule"] == "agent_status"
    service_members = ("policyChecks", "violations", "cache")
    assert without(evidence, *service_members) == without(agents, *service_members)
    assert (evidence["violations"], evidence["cache"]) == ([], {"hit": False, "cacheKey": KEY})
    checks = {check["principle"]: check["status"] for check in evidence["policyChecks"]}
    assert checks.keys() >= {check["principle"] for check in agents["policyChecks"]}
    assert set(checks.values()) == {"PASS"}


def check_hit(hit: Json, agent_result: Json, age_s: int) -> None:
    """The same answer, by the service; age_s: by the outcome's time and the record's."""
    evidence = hit["constitutionalEvidence"]
    assert (hit["status"], evidence["alignment"]) == ("SUCCEEDED", "VALID")
    assert hit["meta"]["headrace"]["rule"] == "cache_hit"
    assert hit["producer"] == {"agentId": "headrace", "agentKind": "system"}
    assert hit["output"] == agent_result["output"]
    assert evidence["citations"] == agent_result["constitutionalEvidence"]["citations"]
    assert age_s >= AGE_S
    assert evidence["cache"] == {"hit": True, "cacheKey": KEY, "version": 1, "ageSec": age_s}


def check_inbox(inbox: Tail, first: Json) -> None:
    """The agent that the seed names was given the seed's Task, and nothing else."""
    (record,) = inbox.catch_up()
    assert value_as_json(SAP_INBOX, record) == without(first, "parentTaskId"), "which is null"
    assert record.key == first["target"]["agentId"].encode()
    assert header(record, "headrace-cache-key") == KEY.encode()


def without(value: Json, *names: str) -> Json:
    return {name: member for name, member in value.items() if name not in names}
