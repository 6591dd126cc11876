"""What clients of a secured broker do: commands, logs, and what they trust."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx
from click.testing import CliRunner, Result

from streams.cli import main
from streams.engine.headers import dead_letter_headers
from streams.engine.kafka import KafkaLog
from streams.engine.records import LogRecord, Output
from streams.engine.task import group_of
from streams.ingress.edges import ingress_topic_of
from streams.processing.encode import to_output
from streams.settings import Settings
from tests.authority import Authority
from tests.integration.secure import SecureBroker
from tests.processes import named, wait_for
from tests.unit.protocols.summit.queries.stage import invoke, result
from tests.unit.protocols.summit.queries.test_judging import critic, with_critic
from topology.apc import APC_PACKETS
from topology.topics import dead_letters_of

PREFIX = "safe."
SCRAM = {"SECURITY_SASL_MECHANISM": "SCRAM-SHA-512"}


def run(login: Mapping[str, str], *arguments: str, stdin: Any = None) -> Result:
    """One command of a user."""
    environ = named({"PREFIX": PREFIX, **login})
    text = None if stdin is None else json.dumps(stdin)
    return CliRunner().invoke(main, list(arguments), input=text, env=environ)


def log_of(login: Mapping[str, str]) -> KafkaLog:
    settings = Settings().assign({"PREFIX": PREFIX, **login})
    return KafkaLog(settings.bootstrap or "", settings.security(), group_of(settings))


def make_dead_letter(kafka: SecureBroker, packet: dict[str, Any]) -> str:
    """Write a packet, as a worker that failed to judge it would, among the dead letters."""
    name = PREFIX + dead_letters_of(APC_PACKETS).name
    settings = Settings().assign({"PREFIX": PREFIX})
    output = to_output(ingress_topic_of(APC_PACKETS.name), packet, 1, settings)
    failed = LogRecord(PREFIX + APC_PACKETS.name, 0, 0, 1, output.key, output.value, ())
    headers = dead_letter_headers(failed, "decide_failed", "A fault.", original=True)
    log = log_of(kafka.login("service", "scrambled") | SCRAM)
    (record,) = log.append([Output(name, output.key, output.value, headers, 0)])
    return f"{name}/{record.partition}/{record.offset}"


def stranger(folder: Path) -> dict[str, str]:
    """Trusts an authority that has signed nothing."""
    return {"SECURITY_SSL_CA_LOCATION": str(Authority(folder, "stranger").ca)}


def call_critic(url: str, run_id: str) -> None:
    """Let a run complete over HTTP, and wait until the service has called its critic."""
    commands = {
        "manifests": [with_critic(), critic()],
        "calls": [invoke(run_id)],
        "replies": [result(run_id)],
    }
    with httpx.Client(base_url=url, timeout=60, trust_env=False) as client:

        def look(name: str) -> Any:
            answer = client.get(f"/v1/summit/runs/{name}")
            return answer.json() if answer.status_code == 200 else {}

        for path, values in commands.items():
            headers = {"Prefer": "wait=60"}
            answer = client.post(f"/v1/summit/{path}", json=values, headers=headers)
            assert {one["verdict"] for one in answer.json()["verdicts"]} == {"accepted"}
        wait_for(lambda: look(run_id).get("judgeRunId"), "the run has its critic")
        wait_for(lambda: look(look(run_id)["judgeRunId"]), "the critic is called")


def changed(name: str, value: str | None) -> Callable[[SecureBroker], dict[str, str]]:
    def change(kafka: SecureBroker) -> dict[str, str]:
        login = {**kafka.login("olga"), name: value or ""}
        return {key: text for key, text in login.items() if text}

    return change


def without_login(kafka: SecureBroker) -> dict[str, str]:
    return {n: t for n, t in kafka.login("olga").items() if "SASL_" not in n}


WRONG_LOGINS: dict[str, tuple[Callable[[SecureBroker], dict[str, str]], str]] = {
    "TLS to a port without": (
        lambda kafka: {**kafka.login("olga"), "BOOTSTRAP": kafka.plain},
        "tls_failed: ",
    ),
    "a name that the certificate lacks": (
        lambda kafka: {
            **kafka.login("olga"),
            "BOOTSTRAP": kafka.secure.replace("127.0.0.1", "localhost"),
        },
        "tls_failed: ",
    ),
    "no certificate where one is asked for": (
        lambda kafka: {
            **without_login(kafka),
            "SECURITY_PROTOCOL": "SSL",
            "BOOTSTRAP": kafka.mutual,
        },
        "tls_failed: ",
    ),
    "a mechanism that is not enabled": (
        changed("SECURITY_SASL_MECHANISM", "SCRAM-SHA-256"),
        "login_failed: ",
    ),
    "no TLS to a port with it": (
        lambda kafka: {"BOOTSTRAP": kafka.secure},
        "broker_unavailable: ",
    ),
}
