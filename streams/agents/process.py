"""The example agent as a process of its own."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from streams.broker.process import Child
from streams.errors import InfrastructureError
from streams.settings import Settings

READY_LIMIT_S = 60.0
STOP_PATIENCE_S = 10.0
_LOOK_S = 0.05


@contextmanager
def running_agent(settings: Settings, agent_id: str, *capabilities: str) -> Iterator[None]:
    """At work for as long as the context lasts; what it prints is in `agent.log`.

    settings: with the broker's address.  Raises InfrastructureError when it does not start.
    """
    settings.state_dir.mkdir(parents=True, exist_ok=True)
    log = settings.state_dir / "agent.log"
    options = ["--bootstrap", str(settings.bootstrap), "--state-dir", str(settings.state_dir)]
    for capability in capabilities:
        options += ["--capability", capability]
    command = [sys.executable, "-m", "streams.agents", "--agent-id", agent_id, *options]
    child = Child(command, log, bound=True)
    try:
        _wait(child, log, f"agent {agent_id}\n")
        yield
    finally:
        child.process.end(STOP_PATIENCE_S)


def _wait(child: Child, log: Path, said: str) -> None:
    deadline = time.monotonic() + READY_LIMIT_S
    while said not in (text := log.read_text(errors="replace") if log.exists() else ""):
        if child.exit_code.done() or time.monotonic() > deadline:
            last = (text.strip().splitlines() or ["it said nothing"])[-1]
            raise InfrastructureError(f"the agent is not at work ({log}): {last}")
        time.sleep(_LOOK_S)
