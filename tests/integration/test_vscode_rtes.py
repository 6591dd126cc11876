"""The example of an editor that follows a session: checked by tsc, run against a gateway."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.integration.system import Live
from tests.unit.envelopes import transition

EXAMPLE = Path(__file__).parents[2] / "examples/vscode-rtes"
INSTALL = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
INSTALL_LIMIT_S, RUN_LIMIT_S = 280, 120
TIME = "2026-02-19T07:50:00Z"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, installed and built by its own script."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("Node.js and npm are not installed: examples/vscode-rtes was not built")
    folder = tmp_path_factory.mktemp("vscode") / "rtes"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    for arguments in (INSTALL, ("run", "build")):
        run([npm, *arguments], folder, INSTALL_LIMIT_S)
    return folder


def run(command: list[str], folder: Path, limit_s: int = RUN_LIMIT_S) -> str:
    ran = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=limit_s, check=False
    )
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-3000:]
    return ran.stdout


def event(session: str, number: int, kind: str, **payload: object) -> dict[str, object]:
    return {
        "event_id": f"00000000-0000-4000-8000-{number:012d}",
        "session_id": session,
        "payload": {"type": kind, **payload},
    }


def send(system: Live, *events: dict[str, object]) -> None:
    answer = httpx.post(f"{system.url}/v1/rtes/events", json=list(events), timeout=30)
    assert answer.status_code == 202, answer.text


def test_a_session_is_shown_and_resumed(system: Live, example: Path) -> None:
    session = f"{system.prefix}vscode"
    begun = {**transition(1), "session_id": session}
    thought = {"agent_id": "developer", "turn_index": 0}
    call = {"call_id": "c1", "tool": "bash", "timestamp": TIME}
    send(
        system,
        begun,
        event(session, 2, "THOUGHT_STREAM", **thought, chunk="look ", is_final=False),
        event(session, 3, "THOUGHT_STREAM", **thought, chunk="first", is_final=True),
        event(session, 4, "TOOL_LIFECYCLE_INVOKED", **call, arguments={"command": "ls"}),
    )
    command = ["node", "dist/main.js", "--gateway", system.url, "--session", session]
    command += ["--state", "last-id"]
    printed = run([*command, "--until", "4"], example).splitlines()
    assert printed == [
        "1 task t1: PENDING → IN_PROGRESS",
        "3 thought developer#0: look first",
        '4 tool … bash {"command":"ls"}',
    ]
    send(
        system,
        event(session, 5, "TOOL_LIFECYCLE_COMPLETED", **call, status="success", duration_ms=12),
        event(session, 6, "SANDBOX_PULSE", line="README.md", masked=False, timestamp=TIME),
    )
    resumed = run([*command, "--until", "6"], example).splitlines()
    assert resumed == ["5 tool ✔ bash 12 ms", "6 │ README.md"]
