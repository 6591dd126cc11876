"""Turns, events and rewinds over HTTP: a real gateway, worker and Kafka."""

from __future__ import annotations

import json
import signal
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from streams.log.dead_letters import read
from streams.log.record_json import record_json
from tests.integration.system import Live, live
from tests.integration.test_gateway import got, sent
from tests.integration.test_rewind import AFTER, BEFORE, SESSION, TO_A, run, story
from tests.unit.ops.rewind.trees import Tree
from tests.unit.protocols.saop.queries.stage import chunk, invoked, move, pulse, turn
from topology.core import RTES_RAW

pytestmark = pytest.mark.slow

READS = 200
Json = dict[str, Any]


@pytest.fixture
def http(system: Live) -> Iterator[httpx.Client]:
    with system.client as client:
        yield client


@pytest.fixture
def session(http: httpx.Client) -> str:
    """A is COMPLETED with a commit, B came after it."""
    name = f"s/{uuid.uuid4().hex[:8]}"
    events = [
        move(name, "A", "PENDING", "IN_PROGRESS"),
        move(name, "A", "IN_PROGRESS", "COMPLETED", git_hash="5c0ffee"),
        move(name, "B", "PENDING", "IN_PROGRESS"),
    ]
    position = sent(http, "/v1/rtes/events", events)[-1]
    assert states(http, name, after=position) == {"A": "COMPLETED", "B": "IN_PROGRESS"}
    return name


def states(http: httpx.Client, session: str, **query: str) -> dict[str, str]:
    items = got(http, "/v1/saop/tasks", session_id=session, **query)["items"]
    return {task["task_id"]: task["state"] for task in items}


def path_of(session: str, *more: str) -> str:
    return "/".join(("/v1/saop/sessions", session.replace("/", "%2F"), *more))


def refused(answer: httpx.Response, status: int, rule: str) -> Json:
    assert answer.headers["content-type"] == "application/problem+json"
    problem: Json = answer.json()
    assert (answer.status_code, problem["rule"]) == (status, rule), answer.text
    return problem


def test_turns_are_one_a_list_or_lines(http: httpx.Client) -> None:
    task = f"t-{uuid.uuid4().hex[:8]}"
    one, *several = [turn(task, index) for index in range(5)]
    sent(http, "/v1/saop/turns", one)
    assert len(sent(http, "/v1/saop/turns", several[:2])) == 2
    lines = "\n".join(map(json.dumps, several[2:]))
    headers = {"content-type": "application/x-ndjson"}
    answer = http.post("/v1/saop/turns", content=lines, headers=headers)
    assert answer.status_code == 202, answer.text
    after = answer.json()["positions"][-1]
    logged = got(http, "/v1/saop/turns", task_id=task, after=after)["items"]
    assert [item["turn"] for item in logged] == [one, *several]
    verdicts = got(http, "/v1/saop/verdicts", task_id=task)["items"]
    assert [verdict["cause"] for verdict in verdicts][-1] == after


def test_turns_in_a_row_are_read_back(http: httpx.Client) -> None:
    task, stale = f"t-{uuid.uuid4().hex[:8]}", 0
    for index in range(READS):
        (position,) = sent(http, "/v1/saop/turns", turn(task, index))
        query = {"task_id": task, "turn_index": str(index), "after": position}
        turns = got(http, "/v1/saop/turns", **query)["items"]
        stale += [item["cause"] for item in turns] != [position]
    assert stale == 0


def test_a_rewind_is_planned_and_applied(http: httpx.Client, session: str) -> None:
    planned = got(http, path_of(session, "rewind-plan"), task_id="A")
    by_hash = got(http, path_of(session, "rewind-plan"), git_hash="5C0FFEE")
    assert planned == by_hash
    assert [m["task_id"] for m in planned["moved"]] == ["A", "B"]
    assert states(http, session) == {"A": "COMPLETED", "B": "IN_PROGRESS"}
    order = {"git_hash": "5c0ffee", "rewind_id": str(uuid.uuid4())}
    done = http.post(path_of(session, "rewind"), json=order)
    assert (done.status_code, done.json()["rule"]) == (200, "rewind_applied")
    assert (done.json()["cut_sequence"], planned["cut_sequence"]) == (2, 2)
    again = http.post(path_of(session, "rewind"), json=order)
    assert (again.status_code, again.json()["verdict"]) == (200, "duplicate")
    position = done.json()["cause"]
    assert states(http, session, after=position) == {"A": "IN_PROGRESS", "B": "PENDING"}
    body = got(http, path_of(session, "rewinds", order["rewind_id"]))
    assert body == done.json()


@pytest.mark.parametrize(("end", "state"), [("confirm", "applied"), ("abort", "aborted")])
def test_a_rewind_is_prepared_and_ended(
    http: httpx.Client, session: str, end: str, state: str
) -> None:
    rewind = str(uuid.uuid4())
    order = {"task_id": "A", "phase": "prepare", "rewind_id": rewind}
    assert http.post(path_of(session, "rewind"), json=order).json()["state"] == "prepared"
    other = http.post(path_of(session, "rewind"), json={"task_id": "A"})
    assert refused(other, 409, "rewind_in_progress")["fact"]["verdict"] == "rejected"
    answer = http.post(path_of(session, "rewinds", rewind, end))
    assert (answer.status_code, answer.json()["state"]) == (200, state), answer.text
    assert got(http, path_of(session, "rewinds", rewind))["phase"] == end
    opposite = "abort" if end == "confirm" else "confirm"
    late = http.post(path_of(session, "rewinds", rewind, opposite))
    assert (late.status_code, late.json()["fact"]["verdict"]) == (409, "rejected")


def test_rewinds_of_what_is_not_there(http: httpx.Client, session: str) -> None:
    def ordered(session_id: str, **body: str) -> httpx.Response:
        return http.post(path_of(session_id, "rewind"), json=body)

    refused(ordered("nowhere", task_id="A"), 404, "session_unknown")
    refused(ordered(session, task_id="Z"), 404, "task_unknown")
    refused(ordered(session, git_hash="abcdef0"), 404, "hash_unknown")
    refused(ordered(session, task_id="B", phase="prepare"), 404, "task_without_hash")
    unknown = path_of(session, "rewinds", str(uuid.uuid4()))
    refused(http.get(unknown), 404, "not_found")
    assert http.post(f"{unknown}/confirm").status_code == 409
    refused(http.post(path_of(session, "rewinds", "x", "abort")), 422, "rewind_id_invalid")
    refused(http.get(path_of(session, "rewind-plan"), params={"task_id": "Z"}), 404, "task_unknown")
    refused(http.get(path_of(session, "rewind-plan")), 422, "query_value")


def test_thoughts_are_audited(http: httpx.Client) -> None:
    session = f"s-{uuid.uuid4().hex[:8]}"
    task = f"t-{session}"
    parts = [
        move(session, task, "PENDING", "IN_PROGRESS"),
        chunk(session, 0, "so "),
        chunk(session, 0, "be it", final=True),
        chunk(session, 1, "not so", final=True),
    ]
    events = sent(http, "/v1/rtes/events", parts)[-1]
    turns = [turn(task, 0, thought="so be it"), turn(task, 1, thought="not thus")]
    last = sent(http, "/v1/saop/turns", turns)[-1]
    got(http, "/v1/rtes/events", session_id=session, after=events)
    items = got(http, "/v1/saop/thought-audit", task_id=task, after=last)["items"]
    assert [(i["turn_index"], i["status"], i["first_difference"]) for i in items] == [
        (0, "match", None),
        (1, "mismatch", 4),
    ]


TOKEN = "ghp_" + "a1B2c3D4" * 5
BODY_OF_KEY = "MIIEowIBAAKCAQEAq7BFUpkGp3sbqhjFPvqkPq3Pyjz8sN0b"
KEY_LINES = (
    "-----BEGIN RSA PRIVATE KEY-----",
    BODY_OF_KEY,
    BODY_OF_KEY[::-1],
    "-----END RSA PRIVATE KEY-----",
)
SECRETS = (TOKEN, BODY_OF_KEY, BODY_OF_KEY[::-1])


def test_secrets_never_reach_the_log(system: Live, http: httpx.Client) -> None:
    session = f"s-{uuid.uuid4().hex[:8]}"
    call = invoked(session, "c1", "curl")
    call["payload"]["arguments"] = {"headers": [f"Authorization: Bearer {TOKEN}"], "n": 1}
    lines = [f"export TOKEN={TOKEN}", *KEY_LINES, "done"]
    events = [*(pulse(session, line) for line in lines), call]
    positions = sent(http, "/v1/rtes/events", events)
    records = [record_json(RTES_RAW, r) for r in read(system.log, RTES_RAW, system.prefix)]
    payloads = [r["value"]["payload"] for r in records if r["value"]["session_id"] == session]
    assert len(payloads) == len(positions)
    text = json.dumps(payloads)
    assert not [secret for secret in SECRETS if secret in text]
    assert [payload["line"] for payload in payloads[1:6]] == [
        "[REDACTED:pem_open]",
        "[REDACTED:pem_private_key]",
        "[REDACTED:pem_private_key]",
        "[REDACTED:pem_close]",
        "done",
    ]
    query = {"session_id": session, "after": positions[-1]}
    recorded = got(http, "/v1/rtes/events", **query)["items"]
    assert [r["payload"].get("masked") for r in recorded] == [True] * 5 + [False, None]
    assert recorded[-1]["masked_arguments"] == 1


@pytest.mark.parametrize("place", ["line", "event_id", "type", "arguments", "member", "text"])
def test_secrets_are_in_no_answer_log_or_figure(
    system: Live, http: httpx.Client, place: str
) -> None:
    """In a value that is refused, or beside one."""
    event = pulse("s1", TOKEN)
    match place:
        case "line":
            event["payload"]["masked"] = "certainly"
        case "event_id" | "type":
            (event if place == "event_id" else event["payload"])[place] = TOKEN
        case "arguments" | "member":
            name, text = ("a", f"{TOKEN}\ud800") if place == "arguments" else (TOKEN, "\ud800")
            event = invoked("s1", "c1")
            event["payload"]["arguments"] = {name: text}
    body = json.dumps(event).encode()
    if place == "text":
        body = body[:-1] + f',"{TOKEN}":1,"{TOKEN}":2}}'.encode()
    headers = {"content-type": "application/json", "traceparent": TOKEN}
    answer = http.post("/v1/rtes/events", content=body, headers=headers)
    assert answer.status_code == 422
    assert TOKEN not in answer.text
    for path in ("/v1/rtes/events", "/v1/saop/tasks"):
        answer = http.get(path, params={"session_id": TOKEN, "limit": TOKEN, "after": TOKEN})
        assert (answer.status_code, TOKEN in answer.text) == (422, False)
        # the sender alone is told the name that is not known; the log is not
        assert http.get(path, params={TOKEN: ""}).status_code == 422
    assert http.post(path_of("s1", "rewind"), json={"task_id": 1, "reason": TOKEN}).is_error
    assert TOKEN not in http.get("/metrics").text
    assert TOKEN not in system.gateway.text()


def test_many_requests_at_once(system: Live) -> None:
    """Each of its own connection: they are answered, or told to come again."""

    def ask(number: int) -> int:
        with system.client as http:
            if number % 3:
                return http.get("/v1/saop/sessions", params={"limit": "5"}).status_code
            task = {"task_id": f"many-{number}"}
            return http.post("/v1/saop/turns", json=turn(task["task_id"], 0)).status_code

    with ThreadPoolExecutor(60) as pool:
        statuses = list(pool.map(ask, range(300)))
    assert set(statuses) <= {200, 202, 503}
    assert statuses.count(200) + statuses.count(202) > 250


def test_a_work_tree_and_its_session_go_back(
    system: Live, http: httpx.Client, tmp_path: Path
) -> None:
    """`headrace rewind` with the gateway that users have."""
    tree = Tree(tmp_path / "work")
    position = sent(http, "/v1/rtes/events", story(tree))[-1]
    assert states(http, SESSION, after=position) == BEFORE
    address = system.url.removeprefix("http://")
    code, out, err = run(tree, address, *TO_A, "--dry-run")
    assert (code, states(http, SESSION)) == (0, BEFORE), err
    assert [m["task_id"] for m in json.loads(out)["moved"]] == ["A", "B", "C", "D"]
    assert run(tree, address, "--session", SESSION, "--task", "Z")[0] == 2
    code, out, err = run(tree, address, *TO_A, "--reason", "a wrong turn")
    assert code == 0, err
    assert (tree.head, tree.status) == ((tree.commits[0], None), "")
    assert states(http, SESSION) == AFTER


def test_without_a_worker_the_answer_has_the_position(broker: str, tmp_path: Path) -> None:
    with live(broker, tmp_path, GATEWAY_WAIT_S="1") as system, system.client as http:
        (position,) = sent(http, "/v1/rtes/events", move("s1", "A", "PENDING", "IN_PROGRESS"))
        got(http, "/v1/saop/tasks", after=position)
        system.worker.signal(signal.SIGSTOP)
        answer = http.post(path_of("s1", "rewind"), json={"task_id": "A"})
        position = refused(answer, 504, "not_seen_in_time")["position"]
        system.worker.signal(signal.SIGCONT)
        while (tasks := http.get("/v1/saop/tasks", params={"after": position})).status_code == 504:
            pass
        assert [task["transitions"] for task in tasks.json()["items"]] == [2]
