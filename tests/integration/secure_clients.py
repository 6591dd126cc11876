"""What clients of a secured broker do: commands, logs, and what they trust."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
from tests.processes import named
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
