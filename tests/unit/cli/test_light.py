"""Check that a command that asks a gateway loads little."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import ROOT, environ_of, named
from tests.unit.cli.stub_gateway import StubGateway

HEAVY = (
    "schemas",
    "faust",
    "confluent_kafka",
    "rocksdict",
    "fastapi",
    "pydantic",
    "orjson",
    "mcp",
    "textual",
)
CODE = f"""
import json, sys
from streams.cli import main
try:
    main(sys.argv[1:])
finally:
    print(json.dumps([name for name in {HEAVY} if name in sys.modules]), file=sys.stderr)
"""
PACKETS = {"packets": [], "events": [], "count": 0, "event_count": 0}
ITEMS: dict[str, object] = {
    "items": [],
    "next": None,
    "tasks": [],
    "cursor": None,
    "nodes": [],
    "result": {"tools": [], "nextCursor": None},
    "cut": None,
}
RUN = {
    "runId": "r",
    "kind": "invoke",
    "agentId": "a",
    "status": "completed",
    "reason": None,
    "createdAt": "2026-11-25T12:00:00.250Z",
    "finishedAt": "2026-11-25T12:00:01.125Z",
    "metrics": {"tokens": 1, "cost_usd": 0.5},
    "verificationStatus": None,
}


@pytest.mark.parametrize(
    ("words", "body"),
    [
        ("apc trace --session-id s --text", PACKETS),
        ("packet-replay --run-id r", PACKETS),
        ("saop tasks", ITEMS),
        ("rtes calls --session s --text", ITEMS),
        ("sap learning a.b", ITEMS),
        ("asap tasks --text", ITEMS),
        ("summit runs --text", {"items": [RUN], "next": None}),
        ("summit runs", {"items": [RUN], "next": None}),
        ("dlq list", ITEMS),
        ("dlq records", ITEMS),
        ("saop rewinds --text", ITEMS),
        ("sap cache", ITEMS),
        ("summit tools", ITEMS),
        ("lineage trace:s", ITEMS),
        ("query /v1/apc/packets", PACKETS),
    ],
)
def test_a_read_command_loads_neither_schemas_nor_the_engine(
    words: str,
    body: dict[str, object],
    gateway: StubGateway,
    tmp_path: Path,
) -> None:
    gateway.body = body
    environ = environ_of(
        named(
            {"STATE_DIR": str(tmp_path), "URL": f"http://{gateway.address}", "MASK_KEY": "k" * 16}
        )
    )
    ran = subprocess.run(
        [sys.executable, "-c", CODE, *words.split()],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stderr.splitlines()[-1]) == []
    assert len(gateway.requests) == (2 if words == "summit tools" else 1)
