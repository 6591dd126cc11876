"""A sixth protocol works everywhere after one folder in each layer and one entry in each list."""

from __future__ import annotations

import json
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from streams.engine.kafka import KafkaLog
from tests.processes import ROOT, Process, named
from tests.skeleton.with_ping import COMMAND, ENTRIES, FILES, WithPing

PINGS = [{"ping_id": "p1", "sender": "ann"}, {"ping_id": "p2", "sender": "ben"}]
TWICE = [*PINGS, PINGS[0]]


@pytest.fixture(scope="module")
def version(tmp_path_factory: pytest.TempPathFactory) -> WithPing:
    return WithPing(tmp_path_factory.mktemp("ping"))


class Service:
    """A worker and a gateway of a version, under a prefix of their own."""

    def __init__(self, version: WithPing, broker: str, folder: Path) -> None:
        self.version, self.folder = version, folder
        self.prefix = f"ping-{uuid.uuid4().hex[:8]}."
        self.settings = {"BOOTSTRAP": broker, "PREFIX": self.prefix, "PARTITIONS": "2"}
        self.log = KafkaLog(broker, {}, f"{self.prefix}tests")
        assert self.command("topics", "create").returncode == 0
        self.worker = self._start("worker")
        self.gateway = self._start("gateway", "--listen", "127.0.0.1:0")
        self.worker.wait_text("ready: tasks")
        self.gateway.wait_text("gateway http")

    def _start(self, name: str, *arguments: str) -> Process:
        settings = named({**self.settings, "STATE_DIR": str(self.folder / name)})
        log = self.folder / f"{name}.log"
        before = self.version.before
        return Process(name, log, settings, "streams.cli", name, *arguments, before=before)

    @property
    def url(self) -> str:
        lines = self.gateway.text().splitlines()
        return next(line.split()[1] for line in lines if line.startswith("gateway http"))

    def command(self, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
        return self.version.run("streams.cli", *arguments, settings={**self.settings, **settings})

    def end(self) -> None:
        self.worker.kill()
        self.gateway.kill()
        self.log.delete([name for name in self.log.topics() if name.startswith(self.prefix)])
        self.log.close()


@pytest.fixture(scope="module")
def service(
    version: WithPing, broker: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    running = Service(version, broker, tmp_path_factory.mktemp("service"))
    yield running
    running.end()


def test_it_is_one_folder_in_each_layer_and_one_entry_in_each_list() -> None:
    homes = {
        path.relative_to(FILES).parts[:2]
        for path in FILES.rglob("*.*")
        if "__pycache__" not in path.parts
    }
    assert homes == {
        ("schemas", "avro"),
        ("schemas", "ping"),
        ("topology", "machines"),
        ("topology", "ping.py"),
        ("streams", "cli"),
        ("streams", "protocols"),
    }
    assert not [path for path in FILES.rglob("*.py") if (ROOT / path.relative_to(FILES)).exists()]
    assert len(ENTRIES) == 4
    assert COMMAND.path == "streams/cli/commands.py"


def test_a_scenario_plays(version: WithPing, tmp_path: Path) -> None:
    scenario = tmp_path / "pings.jsonl"
    lines = [json.dumps({"topic": "ping.pings", "value": ping}) for ping in TWICE]
    scenario.write_text("\n".join(lines), encoding="utf-8")
    played = version.run("streams.cli", "play", str(scenario))
    assert played.returncode == 0, played.stderr
    output_lines = [json.loads(line) for line in played.stdout.splitlines()]
    answers = [line["value"] for line in output_lines if line.get("topic") == "ping.answers"]
    assert [(each["ping_id"], each["verdict"]) for each in answers] == [
        ("p1", "accepted"),
        ("p2", "accepted"),
        ("p1", "duplicate"),
    ]


def test_bad_input_is_refused_by_its_own_rule(version: WithPing, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text('{"ping_id": 1, "sender": "ann"}', encoding="utf-8")
    process = version.run("streams.cli", "validate", "ping.ping", str(bad))
    assert process.returncode == 1
    assert "ping_shape" in process.stdout + process.stderr


def test_the_documents_have_it(version: WithPing) -> None:
    assert version.run("streams.docs").returncode == 0
    pages = {path.name: path.read_text() for path in (version.home / "docs/reference").iterdir()}
    assert "ping.pings" in pages["topics.md"]
    assert "ping:ping:<ping_id>" in pages["lineage.md"]
    assert "/v1/ping/pings/{ping_id}" in pages["http.md"]
    assert "headrace ping" in pages["cli.md"]
    assert "REPEATED" in pages["machines.md"]
    assert "ping_repeated" in "".join(pages.values())


def test_a_worker_decides_and_a_gateway_answers(service: Service) -> None:
    with httpx.Client(base_url=service.url, timeout=30) as client:
        sent = client.post("/v1/ping/pings", json=TWICE)
        assert sent.status_code == 202, sent.text
        after = sent.json()["positions"][-1]
        row = client.get("/v1/ping/pings/p1", params={"after": after})
        assert row.json() == {"ping_id": "p1", "sender": "ann", "state": "REPEATED", "answers": 2}
        refused = client.post("/v1/ping/pings", json={"ping_id": 1, "sender": "ann"})
        assert (refused.status_code, "ping_shape" in refused.text) == (422, True)
        assert "/v1/ping/pings" in client.get("/openapi.json").json()["paths"]
    process = service.command("ping", "show", "p2")
    assert json.loads(process.stdout)["state"] == "ANSWERED"


def test_verify_derives_its_answers_and_rows_again(service: Service) -> None:
    process = service.command("verify")
    assert process.returncode == 0, process.stdout + process.stderr
    counts = dict(line.split() for line in process.stdout.splitlines() if " " in line)
    assert (counts["commands"], counts["facts"], counts["rows"]) == ("3", "3", "2")
