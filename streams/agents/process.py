"""Example agents as processes of their own."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from streams.errors import InfrastructureError
from streams.ops.broker.process import Child
from streams.settings import Settings

READY_LIMIT_S = 60.0
STOP_PATIENCE_S = 10.0
_LOOK_S = 0.05


@contextmanager
def running_agent(settings: Settings, agent_id: str, *capabilities: str) -> Iterator[None]:
    """Run an agent for as long as the context lasts; its output is in `agent.log`.

    settings: with the broker's address.  Raises InfrastructureError when it does not start.
    """
    options = [each for capability in capabilities for each in ("--capability", capability)]
    with _running(settings, agent_id, "streams.agents", "--agent-id", agent_id, *options):
        yield


@contextmanager
def running_example(settings: Settings, agent: str) -> Iterator[None]:
    """Run an example agent of Summit, as `running_agent` does."""
    with _running(settings, agent, "streams.agents.summit", agent):
        yield


@contextmanager
def _running(settings: Settings, agent: str, module: str, *arguments: str) -> Iterator[None]:
    settings.state_dir.mkdir(parents=True, exist_ok=True)
    log = settings.state_dir / "agent.log"
    options = ["--bootstrap", str(settings.bootstrap), "--state-dir", str(settings.state_dir)]
    child = Child([sys.executable, "-m", module, *arguments, *options], log, bound=True)
    try:
        _wait(child, log, f"agent {agent}\n")
        yield
    finally:
        child.process.end(STOP_PATIENCE_S)


def _wait(child: Child, log: Path, ready_line: str) -> None:
    deadline = time.monotonic() + READY_LIMIT_S
    while ready_line not in (text := log.read_text(errors="replace") if log.exists() else ""):
        if child.exit_code.done() or time.monotonic() > deadline:
            last = (text.strip().splitlines() or ["it said nothing"])[-1]
            raise InfrastructureError(f"the agent is not at work ({log}): {last}")
        time.sleep(_LOOK_S)
