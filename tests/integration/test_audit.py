"""Checkpoints and looking back, on a real broker."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.integration.system import Live, live
from tests.processes import Process, environ_of, named, wait_for
from tests.unit.envelopes import ack, idea, packet_id

pytestmark = pytest.mark.slow

PATH = f"/v1/apc/sessions/s1/packets/{packet_id(1)}"


@pytest.fixture(scope="module")
def system(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder: Path = tmp_path_factory.mktemp("audit")
    key = str(folder / "auditor.pem")
    more = {"AUDIT_KEY": key, "AUDIT_PUBLIC_KEY": f"{key}.pub"}
    with live(broker, folder, **more) as running:
        audit(running, "key", key)
        yield running


def audit(system: Live, *arguments: str, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "streams.cli", "audit", *arguments],
        env=environ_of(named(system.environ)),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == code, done.stderr + done.stdout
    return done.stdout


def send(system: Live, *packets: Any) -> list[str]:
    """The positions, once all of them are judged."""
    with system.client as client:
        sent: list[str] = client.post("/v1/apc/packets", json=list(packets)).json()["positions"]
        for place in sent:
            response = client.get("/v1/apc/packets", params={"after": place, "limit": 1})
            assert response.status_code == 200, response.text
    return sent


def chains(system: Live) -> dict[str, list[int]]:
    """The sequences of each partition's checkpoints, in the order of the log."""
    from streams.ops.audit import checkpoints

    sequences: dict[str, list[int]] = {}
    for each in checkpoints(system.log, system.prefix):
        sequences.setdefault(f"{each['topic']}/{each['partition']}", []).append(each["sequence"])
    return sequences


def test_a_packet_is_shown_as_it_was(system: Live) -> None:
    waits = idea(1)
    first, second = send(system, waits) + send(system, ack(waits, 2))
    with system.client as client:

        def state(as_of: str) -> Any:
            return client.get(f"{PATH}?as_of={quote(as_of, safe='')}").json()["state"]

        now = client.get(PATH).json()
        assert state(first) == "ROUTED"
        assert state(second) == state(now["updated_at"]) == now["state"] != "ROUTED"
        ahead = client.get(f"{PATH}?as_of={second.rsplit('/', 1)[0]}/999999")
        assert (ahead.status_code, ahead.json()["rule"]) == (422, "as_of_ahead")


def test_one_chain_whoever_writes_it_and_whatever_becomes_of_them(system: Live) -> None:
    def start(name: str) -> Process:
        return system.process(name, "streams.cli", "audit", "write", "--every", "0.1")

    send(system, idea(11))
    killed = start("audit-killed")
    killed.wait_text("checkpoint 1 covers")
    send(system, idea(12))
    killed.kill()
    fenced = start("audit-fenced")
    fenced.wait_text("covers")
    last = start("audit-last")
    wait_for(lambda: "covers" in (send(system, idea()) and last.text()), "the last one seals")
    wait_for(lambda: bool(send(system, idea()) and not fenced.running), "the first one gives way")
    assert "another audit writer has begun" in fenced.text()
    last.kill()
    audit(system, "write", "--once")
    for place, sequences in chains(system).items():
        assert sequences == list(range(1, len(sequences) + 1)), place
    verification = json.loads(audit(system, "verify", "--json"))
    assert verification["holds"] is True
    assert sum(each["beyond"] for each in verification["partitions"]) == 0


def test_a_segment_is_verified_without_the_broker(system: Live, tmp_path: Path) -> None:
    send(system, idea(21))
    audit(system, "write", "--once")
    file = tmp_path / "facts.jsonl.gz"
    audit(system, "export", str(file))
    verification = json.loads(audit(system, "verify", "--json", "--segment", str(file)))
    assert verification["holds"] is True
    assert sum(each["records"] for each in verification["partitions"]) > 0
