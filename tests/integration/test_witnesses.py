"""Witnesses that others have written cosign the log of a real broker, beside one that stalls."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from streams.engine.records import Output
from streams.ops.tlog.keys import cosigner_key
from streams.ops.topics import create_topics
from tests.integration.system import Live, live
from tests.integration.test_audit_log import ORIGIN, audit, run_audit, send, start_writer
from tests.interop.go_tools import GoTool
from tests.processes import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

WITNESSES = {"w1": ("w1.example/ed25519",), "w2": ("w2.example/mldsa", "mldsa")}
"""The names in the policy, each with the name of its key, and its kind."""
STALLED = "w3"
ANSWERS = {"w1": "cosigned", "w2": "cosigned", STALLED: "unavailable"}


@pytest.fixture(scope="module")
def witness_program(tmp_path_factory: pytest.TempPathFactory) -> GoTool:
    module = Path(__file__).parents[1] / "interop" / "witness"
    return GoTool(".", tmp_path_factory.mktemp("go"), module)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("witnesses")


@pytest.fixture(scope="module")
def numbers() -> Iterator[range]:
    """Return the numbers of packets that were not sent yet, ten at a time."""
    return (range(first, first + 10) for first in count(1, 10))


@pytest.fixture(scope="module")
def system(broker: str, folder: Path, witness_program: GoTool) -> Iterator[Live]:
    """Run two witnesses, and a port where nobody answers; two of the three are the quorum."""
    key = folder / "auditor.pem"
    run_audit({}, "key", str(key), "--origin", ORIGIN)
    log_key = (folder / "auditor.pem.vkey").read_text().strip()
    with ExitStack() as stack:
        lines = [f"log {log_key}\n"]
        for name, arguments in WITNESSES.items():
            witness = running_witness(witness_program, log_key, name, *arguments)
            lines.append(stack.enter_context(witness))
        stalled = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        address = "http://{}:{}".format(*stalled.getsockname())
        private = Ed25519PrivateKey.from_private_bytes(bytes(32))
        lines.append(f"witness {STALLED} {cosigner_key('w3.example', private)} {address}\n")
        policy = folder / "policy"
        policy.write_text(f"{''.join(lines)}group most 2 {' '.join(ANSWERS)}\nquorum most\n")
        settings = {
            "AUDIT_KEY": str(key),
            "TLOG_POLICY": str(policy),
            "TLOG_DIR": str(folder / "tlog"),
            "TLOG_WITNESS_TIMEOUT_S": "3",
        }
        yield stack.enter_context(live(broker, folder, **settings))


@contextmanager
def running_witness(program: GoTool, log_key: str, *arguments: str) -> Iterator[str]:
    """Run a witness of this log, and return its line in a policy."""
    with program.start(log_key, *arguments) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline()
        finally:
            process.kill()


def write_round(environ: dict[str, str], code: int = 0) -> dict[str, Any]:
    """Write one round, and return what it says."""
    (line,) = run_audit(environ, "write", "--once", "--json", code=code).splitlines()
    members: dict[str, Any] = json.loads(line)
    return members


def answers_of(members: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["result"] for each in members["witnesses"]}


def test_real_witnesses_cosign_beside_one_that_stalls(
    system: Live, folder: Path, numbers: Iterator[range], tmp_path: Path
) -> None:
    for _ in range(3):
        (packet, *_) = send(system, next(numbers))
        members = write_round(system.environ)
        assert (members["published"], answers_of(members)) == (True, ANSWERS)

    def read_status() -> dict[str, Any]:
        with system.client as client:
            status: dict[str, Any] = client.get("/v1/audit/log").raise_for_status().json()
        return status

    wait_for(lambda: read_status()["size"] == members["size"], "the gateway has the checkpoint")
    assert [each["name"] for each in read_status()["cosigners"]] == list(WITNESSES)
    receipt = tmp_path / "fact.tlog-proof"
    command = ("prove", packet, "--gateway", system.url, "--out", str(receipt))
    run_audit(system.environ, *command)
    policy = folder / "policy"
    assert "quorum most is met" in run_audit({}, "check", str(receipt), "--policy", str(policy))
    strict = tmp_path / "strict"
    strict.write_text(policy.read_text().replace("group most 2", "group most all"))
    checked = run_audit({}, "check", str(receipt), "--policy", str(strict), code=1)
    assert "quorum_not_met" in checked


def test_a_writer_that_is_killed_after_the_witnesses_is_followed_by_another(
    system: Live, numbers: Iterator[range]
) -> None:
    send(system, next(numbers))
    writer = start_writer(system, "killed", CRASH_AT="audit-after-witness")
    assert writer.exit_code() == -signal.SIGKILL
    members = write_round(system.environ)
    assert (members["records"], members["published"]) == (0, True)
    assert answers_of(members) == ANSWERS


def test_witnesses_refuse_a_log_that_is_cut_off_and_one_that_is_forked(
    system: Live, folder: Path, numbers: Iterator[range], tmp_path: Path
) -> None:
    """Begin the log a second time, under its key, where its entries are not there."""
    send(system, next(numbers))
    size = write_round(system.environ)["size"]
    settings = replace(system.settings, prefix=f"{system.prefix}again.")
    create_topics(system.log, settings)
    environ = {**system.environ, "PREFIX": settings.prefix, "TLOG_DIR": str(tmp_path / "tlog")}
    cut_off = audit(environ, "write", "--once")
    assert cut_off.returncode == 3
    assert f"w1 has cosigned {size} entries, and the log has 0" in cut_off.stderr
    producer = system.log.producer(f"{settings.prefix}forger")
    producer.open()
    topic = f"{settings.prefix}apc.events"
    producer.commit([Output(topic, b"k", b"forged %d" % number) for number in range(size + 1)])
    producer.close()
    alone = {**environ, "TLOG_POLICY": str(folder / "auditor.pem.policy")}
    assert write_round(alone)["size"] > size
    forked = write_round(environ, code=1)
    assert not forked["published"]
    conflict = "witness_conflict"
    assert answers_of(forked) == {**ANSWERS, **dict.fromkeys(WITNESSES, conflict)}
    send(system, next(numbers))
    assert write_round(system.environ)["published"]
