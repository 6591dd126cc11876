"""Importing what is of ASAP loads nothing of the engine (ASAP guide, 1.3)."""

from __future__ import annotations

import re
import subprocess
import sys

import streams.asap
from tests.processes import ROOT, loaded_by

HEAVY = ("faust", "mode", "aiokafka", "confluent_kafka", "rocksdict", "testcontainers", "docker")
NAMES = [name for name in streams.__all__ if name in streams.asap.__all__]
GUIDE = (ROOT / "docs/protocols/asap.md").read_text(encoding="utf-8")

BLOCKED = f"""
import sys

for module in {HEAVY!r}:
    sys.modules[module] = None  # any import of it raises ImportError
"""
EVERYTHING = """
import asyncio
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import httpx

from streams.asap import *

WORKER, DESK = "urn:asap:agent:worker", "urn:asap:agent:desk"
manifest = Manifest(
    id=WORKER,
    name="Worker",
    version="1.0.0",
    description="Counts.",
    capabilities=Capability(skills=[Skill(id="count", description="Counts words.")]),
    endpoints=Endpoint(asap="http://worker.test/asap"),
)
store = InMemorySnapshotStore()


def count(envelope, manifest):
    task_id = envelope.id
    part = TextPart(type="text", content=envelope.typed_payload().input["text"])
    store.create_snapshot(task_id, {"words": len(part.content.split())})
    result = store.get(task_id).data
    done = TaskResponse(task_id=task_id, status=TaskStatus.COMPLETED, result=result)
    return reply_to(envelope, done)


registry = HandlerRegistry()
registry.register("TaskRequest", count)
transport = httpx.ASGITransport(create_app(manifest, registry))
request = TaskRequest(conversation_id="c", skill_id="count", input={"text": "to be or not"})


async def ask():
    async with ASAPClient("http://worker.test", transport=transport, sender=DESK) as client:
        return await client.send_task(request)


assert asyncio.run(ask()).result == {"words": 4}
client = ASAPClient("http://worker.test", transport=transport, sender=DESK)
assert send_task_sync(client, request).status is TaskStatus.COMPLETED
now = datetime.now(UTC)
task = Task(id="t", conversation_id="c", status="submitted", created_at=now, updated_at=now)
assert can_transition(task.status, TaskStatus.WORKING)
assert transition(task, TaskStatus.WORKING).status is TaskStatus.WORKING
try:
    transition(task, TaskStatus.COMPLETED)
except InvalidTransitionError as exc:
    assert exc.code == "asap:protocol/invalid_state"
with tempfile.TemporaryDirectory() as folder:
    assert len(export_all_schemas(Path(folder))) == TOTAL_SCHEMA_COUNT
"""


def test_no_kafka_no_faust_no_rocksdb() -> None:
    assert loaded_by(f"from streams import {', '.join(NAMES)}", HEAVY) == []
    assert loaded_by("from streams.asap import *", HEAVY) == []


def test_all_of_the_library_works_where_they_are_not_installed() -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning", "-c", BLOCKED + EVERYTHING],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


def test_all_names_are_in_one_place() -> None:
    for name in NAMES:
        assert getattr(streams, name) is getattr(streams.asap, name)


def test_the_guide_lists_every_name_once() -> None:
    """The table of chapter 1.3, whose rows are the modules that ASAP's requirements list."""
    table = GUIDE.partition("### 1.3 ")[2].partition("\n#")[0]
    rows = [line.split("|")[2] for line in table.splitlines() if line.startswith("| `")]
    names = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(names) == sorted(streams.asap.__all__)


def test_the_namespace_has_every_name_once() -> None:
    assert len(set(streams.asap.__all__)) == len(streams.asap.__all__)
    for name in streams.asap.__all__:
        assert hasattr(streams.asap, name)
