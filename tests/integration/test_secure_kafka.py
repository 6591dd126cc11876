"""Every client of ours at a Kafka that asks for TLS and a login, and allows what ACLs say."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from streams import Client
from streams.engine.records import Output
from streams.engine.task import group_of
from streams.errors import AccessDenied, LoginFailed, TlsFailed
from streams.settings import Settings
from streams.summit.serving.serve import group_of as agents_group
from tests.integration.secure import SecureBroker, secure_broker
from tests.integration.secure_clients import (
    PREFIX,
    SCRAM,
    WRONG_LOGINS,
    call_critic,
    log_of,
    make_dead_letter,
    run,
    stranger,
)
from tests.processes import Process, named, wait_for
from tests.unit.envelopes import idea
from topology import topics
from topology.apc import APC_EVENTS, APC_PACKETS
from topology.asap import ASAP_ENVELOPES
from topology.declarations import TopicKind
from topology.otel import OTEL_SPANS
from topology.saop import SAOP_TURNS
from topology.sap import SAP_RESULTS, SAP_TASKS
from topology.summit import SUMMIT_AUTO_CALLS, SUMMIT_CALLS, SUMMIT_INBOX, SUMMIT_REPLIES

pytestmark = pytest.mark.slow

ROLES = {
    "service": "service",
    "gateway": "gateway",
    "agent": "alice",
    "reader": "bob",
    "operator": "olga",
}
AGENTS = {
    APC_PACKETS,
    SAOP_TURNS,
    SAP_TASKS,
    SAP_RESULTS,
    ASAP_ENVELOPES,
    SUMMIT_CALLS,
    SUMMIT_REPLIES,
    OTEL_SPANS,
}


class System(NamedTuple):
    """url: of the gateway."""

    url: str
    worker: Process
    gateway: Process


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureBroker]:
    """Its topics are there, made by the operator, and its ACLs are those that we print."""
    folder: Path = tmp_path_factory.mktemp("secure")
    with secure_broker(folder) as broker:
        options = [word for role, user in ROLES.items() for word in (f"--{role}", f"User:{user}")]
        added = run({"BOOTSTRAP": broker.plain}, "topics", "acls", *options, "--apply")
        assert added.exit_code == 0, added.output
        assert " 0 were there" in added.output
        again = run({"BOOTSTRAP": broker.plain}, "topics", "acls", *options, "--apply")
        assert again.output.startswith("0 ACLs added"), again.output
        made = run(broker.login("olga"), "topics", "create")
        assert made.exit_code == 0, made.output
        yield broker


@pytest.fixture(scope="module")
def system(kafka: SecureBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """The worker logs in by SCRAM."""
    folder: Path = tmp_path_factory.mktemp("system")
    kafka.add_scram_user("service", "scrambled")
    logins = {
        "worker": kafka.login("service", "scrambled") | SCRAM,
        "gateway": kafka.login("gateway"),
    }
    started = []
    for name, login in logins.items():
        variables = {**login, "PREFIX": PREFIX, "STATE_DIR": str(folder / name)}
        more = ("--listen", "127.0.0.1:0") if name == "gateway" else ()
        log = folder / f"{name}.log"
        started.append(Process(name, log, named(variables), "streams.cli", name, *more))
    worker, gateway = started
    try:
        worker.wait_text("ready: tasks")
        gateway.wait_text("gateway http://")
        yield System(gateway.text().rpartition("gateway ")[2].split()[0], worker, gateway)
        assert worker.running
        assert gateway.running
    finally:
        for process in started:
            print(process.text()[-5000:])  # shown when a test fails
            process.kill()


def test_an_agent_writes_commands_and_nothing_else(kafka: SecureBroker) -> None:
    log = log_of(kafka.login("alice"))
    try:
        for topic in topics.ALL:
            output = Output(PREFIX + topic.name, b"k", b"forged", (), 0)
            if topic in AGENTS:
                continue
            with pytest.raises(AccessDenied, match="authorization"):
                log.append([output])
        written = log.append([Output(PREFIX + SUMMIT_CALLS.name, b"k", b"odd", (), 0)])
        assert written[0].offset == 0
    finally:
        log.close()


def test_an_agent_reads_inboxes_in_its_own_groups_only(kafka: SecureBroker) -> None:
    login = kafka.login("alice")
    settings = Settings().assign({"PREFIX": PREFIX, **login})
    log = log_of(login)
    inbox = PREFIX + SUMMIT_INBOX.name
    group = log.group(agents_group(settings, "reviewer-1"), inbox)
    other = log.group(group_of(settings), inbox)
    try:
        wait_for(lambda: group.poll(0.1).joined, "the agent has joined its group")
        with pytest.raises(AccessDenied, match=r"[Gg]roup authorization"):
            wait_for(lambda: other.poll(0.1).joined, "never")
        seen = {name.removeprefix(PREFIX) for name in log.topics()}
    finally:
        group.close()
        other.close()
        log.close()
    assert seen == {t.name for t in topics.ALL if t in AGENTS or t.kind is TopicKind.INBOX}


def test_agents_send_and_read_their_inbox_with_exactly_the_acls_printed(
    kafka: SecureBroker, system: System
) -> None:
    packet = idea(1, trace__session_id="secure-1")
    sent = run(kafka.login("alice"), "send", "apc.packets", stdin=packet)
    assert sent.exit_code == 0, sent.output
    position = sent.output.strip()
    with httpx.Client(base_url=system.url, timeout=60, trust_env=False) as client:
        response = client.get(
            "/v1/apc/packets", params={"session_id": "secure-1", "after": position}
        )
        assert response.status_code == 200, response.text
        assert packet["packet_id"] in response.text
        again = client.post("/v1/apc/packets", json=idea(2, trace__session_id="secure-1"))
        assert again.status_code == 202, again.text
    tailed = run(
        kafka.login("alice"), "tail", "apc.inbox", "--from", "earliest", "--until-end", "--json"
    )
    assert tailed.exit_code == 0, tailed.output
    assert packet["packet_id"] in tailed.output
    assert "does not allow" not in system.worker.text() + system.gateway.text()


def test_a_gateway_shows_lags_and_redrives_with_exactly_the_acls_printed(
    kafka: SecureBroker, system: System
) -> None:
    position = make_dead_letter(kafka, idea(6, trace__session_id="secure-6"))
    order = {"positions": [position], "reason": "tried"}
    with httpx.Client(base_url=system.url, timeout=60, trust_env=False) as client:
        redriven = client.post("/v1/dead-letters/redrive", json=order)
        assert redriven.status_code == 200, redriven.text
        sent = redriven.json()["results"][0]["sent"]
        params = {"session_id": "secure-6", "after": sent}
        assert len(client.get("/v1/apc/packets", params=params).json()["packets"]) == 1
        again = client.post("/v1/dead-letters/redrive", json=order).json()["results"][0]
        assert (again["state"], again["sent"]) == ("done", None)
        log_state = client.get("/v1/log").raise_for_status().json()
    assert len(log_state["topics"]) == len(topics.ALL)
    assert "does not allow" not in system.gateway.text()


def test_the_service_calls_critics_with_exactly_the_acls_printed(
    kafka: SecureBroker, system: System
) -> None:
    call_critic(system.url, "secure-judged")
    for user in ("gateway", "alice", "bob"):
        log = log_of(kafka.login(user))
        try:
            with pytest.raises(AccessDenied, match="authorization"):
                log.append([Output(PREFIX + SUMMIT_AUTO_CALLS.name, b"k", b"forged", (), 0)])
        finally:
            log.close()
    assert "does not allow" not in system.worker.text() + system.gateway.text()


def test_readers_see_what_was_decided_and_send_nothing(
    kafka: SecureBroker, system: System, tmp_path: Path
) -> None:
    login = {**kafka.login("bob"), "STATE_DIR": str(tmp_path)}
    packet = idea(3, trace__session_id="secure-2")
    position = run(kafka.login("alice"), "send", "apc.packets", stdin=packet).output.strip()
    path = "/v1/apc/packets?session_id=secure-2"
    result = run(login, "query", path, "--after", position)
    assert result.exit_code == 0, result.output
    assert packet["packet_id"] in result.output
    copied = run(login, "sink", "sqlite", "--db", str(tmp_path / "rows.db"), "--once")
    assert copied.exit_code == 0, copied.output
    variables = named({**login, "PREFIX": PREFIX})
    variables["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://127.0.0.1:9"  # nothing is new to send
    words = ("streams.cli", "export", "otlp", "--until-end")
    exporter = Process("export", tmp_path / "export.log", variables, *words)
    assert exporter.exit_code(180) == 0, exporter.text()
    assert "exported 0 spans, 0 refused" in exporter.text()
    refused = run(login, "send", "apc.packets", stdin=idea(4))
    assert refused.exit_code == 3
    assert "access_denied: " in refused.output
    assert "headrace topics acls" in refused.output


def test_the_python_client_logs_in_or_says_why_not(
    kafka: SecureBroker, system: System, tmp_path: Path
) -> None:
    packet = idea(5, trace__session_id="secure-3")

    async def ask(login: Mapping[str, str]) -> Any:
        settings = Settings().assign({"PREFIX": PREFIX, "STATE_DIR": str(tmp_path), **login})
        async with Client(settings=settings) as hr:
            position = await hr.send("apc.packets", packet)
            return await hr.query("/v1/apc/packets?session_id=secure-3", after=position)

    assert packet["packet_id"] in json.dumps(asyncio.run(ask(kafka.login("olga"))))
    with pytest.raises(LoginFailed):
        asyncio.run(ask(kafka.login("olga", "guessed")))
    with pytest.raises(TlsFailed):
        asyncio.run(ask({**kafka.login("olga"), **stranger(tmp_path)}))


@pytest.mark.parametrize("wrong", ["password", "authority"])
def test_who_is_not_let_in_ends_and_says_so_once(
    kafka: SecureBroker, wrong: str, tmp_path: Path
) -> None:
    login = kafka.login("service", "guessed") if wrong == "password" else kafka.login("service")
    more = stranger(tmp_path) if wrong == "authority" else {}
    code = {"password": "login_failed: ", "authority": "tls_failed: "}[wrong]
    arguments = {"worker": ("worker",), "gateway": ("gateway", "--listen", "127.0.0.1:0")}
    started = []
    for name, words in arguments.items():
        variables = {**login, **more, "PREFIX": PREFIX, "STATE_DIR": str(tmp_path / name)}
        log = tmp_path / f"{name}.log"
        started.append(Process(name, log, named(variables), "streams.cli", *words))
    try:
        for process in started:
            assert process.exit_code(180) == 3, process.text()
            assert process.text().count(code) == 1, process.text()
            assert "guessed" not in process.text()
    finally:
        for process in started:
            process.kill()
    db = str(tmp_path / "rows.db")
    for words in (("topics", "list"), ("sink", "sqlite", "--db", db), ("query", "/v1/apc/packets")):
        refused = run({**login, **more, "STATE_DIR": str(tmp_path)}, *words)
        assert refused.exit_code == 3
        assert f"headrace: {code}" in refused.output


@pytest.mark.parametrize("what", WRONG_LOGINS)
def test_what_does_not_fit_is_an_error_of_infrastructure(kafka: SecureBroker, what: str) -> None:
    login, code = WRONG_LOGINS[what]
    refused = run(login(kafka), "topics", "list")
    assert refused.exit_code == 3, refused.output
    assert f"headrace: {code}" in refused.output
    assert "HEADRACE_SECURITY_" in refused.output


def test_a_right_that_comes_back_is_all_that_is_needed(kafka: SecureBroker, system: System) -> None:
    packet = idea(6, trace__session_id="secure-4")
    with (
        httpx.Client(base_url=system.url, timeout=60, trust_env=False) as client,
        kafka.denied("gateway", "TOPIC", PREFIX + APC_PACKETS.name, "WRITE"),
    ):
        wait_for(
            lambda: client.post("/v1/apc/packets", json=packet).status_code == 503,
            "the gateway may not send",
        )
        assert "does not allow" in client.post("/v1/apc/packets", json=packet).text
    with kafka.denied("service", "TOPIC", PREFIX + APC_EVENTS.name, "WRITE"):
        with httpx.Client(base_url=system.url, timeout=60, trust_env=False) as client:
            wait_for(
                lambda: client.post("/v1/apc/packets", json=packet).status_code == 202,
                "the gateway may send again",
            )
            position = client.post("/v1/apc/packets", json=packet).json()["positions"][0]
        system.worker.wait_text("opens again: Kafka does not allow it")
    path = "/v1/apc/packets"
    with httpx.Client(base_url=system.url, timeout=60, trust_env=False) as client:
        query = {"session_id": "secure-4", "after": position}
        wait_for(
            lambda: client.get(path, params=query).status_code == 200, "what was sent is judged"
        )
        assert packet["packet_id"] in client.get(path, params=query).text


def test_a_worker_that_its_group_does_not_take_ends_and_says_so(
    kafka: SecureBroker, tmp_path: Path
) -> None:
    variables = {**kafka.login("olga"), "PREFIX": PREFIX, "STATE_DIR": str(tmp_path)}
    worker = Process("worker", tmp_path / "worker.log", named(variables), "streams.cli", "worker")
    try:
        assert worker.exit_code(180) == 3, worker.text()
        assert "headrace: access_denied: " in worker.text()
    finally:
        worker.kill()


def test_a_certificate_is_a_login_too(kafka: SecureBroker) -> None:
    login = {
        "BOOTSTRAP": kafka.mutual,
        "SECURITY_PROTOCOL": "SSL",
        "SECURITY_SSL_CA_LOCATION": str(kafka.authority.ca),
    }
    client = kafka.authority.issue("carol")
    certificate = {
        "SECURITY_SSL_CERTIFICATE_LOCATION": str(client),
        "SECURITY_SSL_KEY_LOCATION": str(client),
    }
    allow = ("topics", "acls", "--reader", "User:CN=carol", "--apply")
    assert run({"BOOTSTRAP": kafka.plain}, *allow).exit_code == 0
    result = run({**login, **certificate}, "topics", "list", "--json")
    assert result.exit_code == 0, result.output
    standing = {row["name"]: row["standing"] for row in map(json.loads, result.output.splitlines())}
    assert standing[f"{PREFIX}rtes.events"] == "there"
    assert standing[f"{PREFIX}rtes.raw"] == "missing"  # for who may not read it


def test_the_doctor_finds_all_well_and_says_what_differs(
    kafka: SecureBroker, tmp_path: Path
) -> None:
    def findings(login: Mapping[str, str]) -> dict[str, Any]:
        environ = {**login, "STATE_DIR": str(tmp_path), "GATEWAY": "127.0.0.1:0"}
        result = run(environ, "doctor", "--json")
        checks = {each["check"]: each for each in map(json.loads, result.output.splitlines())}
        assert result.exit_code == any(each["level"] == "fail" for each in checks.values())
        return checks

    well = findings(kafka.login("olga"))
    levels = {check: each["level"] for check, each in well.items() if each["level"] != "ok"}
    assert levels == {"mac": "warn"}  # no key is set
    assert well["broker version"]["said"] == "Kafka 4.1 or later"
    assert findings(kafka.login("bob"))["topic settings"]["level"] == "warn"
    other = findings({**kafka.login("olga"), "RTES_RAW_RETENTION_H": "48"})["topic settings"]
    assert other["level"] == "warn"
    assert other["said"] == f"retention.ms of {PREFIX}rtes.raw is 86400000, not 172800000"
    fewer = findings({**kafka.login("olga"), "PARTITIONS": "3"})["topics"]
    assert fewer["level"] == "fail"
    assert "has 4 partitions, not 3" in fewer["said"]
    elsewhere = findings({**kafka.login("olga"), "PREFIX": "none."})["topics"]
    assert "headrace topics create" in elsewhere["advice"]
    assert findings(kafka.login("olga", "guessed"))["broker"]["said"].startswith("login_failed: ")


def test_who_may_not_alter_acls_is_told(kafka: SecureBroker) -> None:
    refused = run(kafka.login("alice"), "topics", "acls", "--agent", "User:alice", "--apply")
    assert refused.exit_code == 3
    assert "access_denied: " in refused.output


def test_a_kafka_without_authorizer_keeps_no_acls(broker: str) -> None:
    refused = run({"BOOTSTRAP": broker}, "topics", "acls", "--agent", "User:alice", "--apply")
    assert refused.exit_code == 3
    assert "no_authorizer: " in refused.output
