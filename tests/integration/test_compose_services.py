"""The services of the compose file that are ours, as processes with the variables they have there.

Kafka is that of the tests, each directory and port one that is free, and there is no registry.
"""

from __future__ import annotations

import signal
import socket
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from streams.cli.ready import fetch_readiness
from streams.settings import SECRET_FILES
from streams.settings.addresses import Address
from tests.compose import WORKERS, environment, load
from tests.processes import Process, wait_for
from tests.unit.envelopes import idea

pytestmark = pytest.mark.slow

READY_S = 120.0
KEY = "of-the-host-it-runs-on"


class Services:
    """urls: of those that are started and stay."""

    def __init__(self, broker: str, folder: Path) -> None:
        self._compose, self._folder = load(), folder
        key = folder / "principal-key"
        key.write_text(f"{KEY}\n")
        self._secrets = {"/run/secrets/principal-key": str(key)}
        (folder / "tokens").touch()  # as the service `token-file` does
        self._given = {
            "HEADRACE_BOOTSTRAP": broker,
            "HEADRACE_PREFIX": f"compose-{uuid.uuid4().hex[:8]}.",
            "HEADRACE_TOKENS": str(folder / "tokens"),
            "SCHEMA_REGISTRY_URL": "",
        }
        self.running: dict[str, Process] = {}
        self.places: dict[str, Address] = {}

    def done(self, name: str, *command: str) -> str:
        """What a service says that is to end by itself.  command: instead of its own."""
        made = self._process(name, command or tuple(self._compose["services"][name]["command"]))
        assert made.exit_code(READY_S) == 0, made.text()
        return made.text()

    def start(self, name: str, setting: str) -> None:
        """setting: says where it listens."""
        place = Address.parse(environment(self._compose, name)[setting])._replace(port=_free())
        command = self._compose["services"][name]["command"]
        self.running[name] = self._process(name, command, **{setting: str(place)})
        self.places[name] = place._replace(host="127.0.0.1")

    def ready(self, name: str) -> dict[str, Any]:
        """What it says of itself, once it is ready."""
        answers: list[dict[str, Any]] = []

        def is_ready() -> bool:
            assert self.running[name].running, self.running[name].text()[-3000:]
            body = fetch_readiness(self.places[name])
            answers[:] = [body] if body and body["ready"] else []
            return bool(answers)

        wait_for(is_ready, f"{name} is ready", READY_S)
        return answers[0]

    def _process(self, name: str, command: tuple[str, ...], **settings: str) -> Process:
        state = {"HEADRACE_STATE_DIR": str(self._folder / name)}
        secrets = {
            variable: self._secrets[text]
            for variable, text in environment(self._compose, name).items()
            if variable in SECRET_FILES
        }
        variables = environment(self._compose, name) | self._given | secrets | state | settings
        log = self._folder / f"{name}-{uuid.uuid4().hex[:4]}.log"
        return Process(name, log, variables, "streams.cli", *command)


def _free() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
def services(broker: str, tmp_path: Path) -> Iterator[Services]:
    made = Services(broker, tmp_path)
    yield made
    for process in made.running.values():
        process.kill()


@pytest.mark.timeout(600)
def test_the_services_work_together(services: Services) -> None:
    services.done("topics")
    operator = services.done("token").strip()
    sender = idea(1)["sender"]["agent_id"]
    agent = services.done("token", "tokens", "new", sender, "--role", "producer", "--add").strip()
    for worker in WORKERS:
        services.start(worker, "HEADRACE_METRICS")
    services.start("gateway", "HEADRACE_GATEWAY")

    def tasks() -> list[list[int]]:
        return [services.ready(worker)["tasks"] for worker in WORKERS]

    wait_for(lambda: sorted(map(len, tasks())) == [2, 2], "the tasks are shared", READY_S, 0.2)
    assert sorted(number for each in tasks() for number in each) == [0, 1, 2, 3]
    services.ready("gateway")
    for worker in WORKERS:
        figures = httpx.get(f"{services.places[worker].url}/metrics").text
        assert 'headrace_tasks{state="ready"} 2.0' in figures

    with httpx.Client(base_url=services.places["gateway"].url, timeout=READY_S) as client:
        sent = client.post("/v1/apc/packets", json=idea(1), headers=bearer(agent))
        assert sent.status_code == 202, sent.text
        (position,) = sent.json()["positions"]
        packets = f"/v1/apc/packets?session_id={idea(1)['trace']['session_id']}&after={position}"
        assert client.get(packets).status_code == 401
        response = client.get(packets, headers=bearer(operator))
        assert response.status_code == 200, response.text
        assert [packet["packet_id"] for packet in response.json()["packets"]] == [
            idea(1)["packet_id"]
        ]

    for process in services.running.values():
        process.signal(signal.SIGTERM)
    for made in services.running.values():
        assert made.exit_code() == 0, made.text()[-3000:]


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}
