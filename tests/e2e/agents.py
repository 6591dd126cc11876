"""Seeded agents at work: what they observe and say in their sessions, and the secrets in it.

Each session goes through its tasks one after another: a task is begun, each turn streams its
thought, calls a tool, prints what the tool prints and ends with its envelope, and the task is
finished.  Sessions interleave.  Some of it is repeated, late or wrong.
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import NamedTuple
from uuid import UUID

from streams.engine.records import Output
from tests.e2e.outputs import PARTITIONS, Json, Outputs
from topology.core import RTES_RAW
from topology.declarations import Topic
from topology.keys import partition_of
from topology.saop import SAOP_TURNS

SESSIONS = 24
_ALNUM = string.ascii_letters + string.digits
_BASE64 = _ALNUM + "+/"
_AT = "2026-01-01T00:00:00.000Z"
_AGENTS = ("researcher", "architect", "developer", "reviewer")
_PLAIN = (
    "collecting packages",
    "PASSED tests/unit/test_store.py::test_rows [ 42%]",
    "commit 5c0ffee0d15ea5e0c0ffee0d15ea5e0c0ffee012",
    "drwxr-xr-x  2 build build 4096 Jan  1 00:00 out",
    "warning: unused variable `offset` in src/lib.rs:12:9",
    "GET /v1/apc/packets 200 3.1 ms",
)


class Said(NamedTuple):
    """What an agent sends, as JSON, or as bytes that are no envelope."""

    topic: Topic
    value: Json | bytes


def outputs(made: Outputs, messages: Iterable[Said]) -> Iterator[Output]:
    """As records; bytes that are no envelope have nobody's key."""
    for topic, value in messages:
        if isinstance(value, bytes):
            home = partition_of(b"nobody", PARTITIONS)
            yield Output(made.name(topic), b"nobody", value, (), home)
        else:
            yield made.record(topic, value)


class Agents:
    """secrets: every secret that was said so far, where none may be kept."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._ids = count(1)
        self.secrets: set[str] = set()
        self.turns: dict[tuple[str, int], str] = {}

    def messages(self, sessions: int = SESSIONS) -> Iterator[Said]:
        """Without end."""
        names = count(1)
        at_work = [self._session(f"session-{next(names)}") for _ in range(sessions)]
        recent: list[Said] = []
        while True:
            at = self._dice.randrange(sessions)
            one = next(at_work[at], None)
            if one is None:
                at_work[at] = self._session(f"session-{next(names)}")
                continue
            yield one
            recent = [*recent[-200:], one]
            if self._dice.random() < 0.05:
                yield self._dice.choice(recent)
            if self._dice.random() < 0.005:
                yield Said(RTES_RAW, f"no record: password={self._secret()} !".encode())

    def _session(self, session: str) -> Iterator[Said]:
        for task in range(self._dice.randrange(1, 4)):
            yield from self._task(session, f"{session}-task-{task}")

    def _task(self, session: str, task: str) -> Iterator[Said]:
        yield self._moves(session, task, "PENDING", "IN_PROGRESS")
        late: list[Said] = []
        for turn in range(self._dice.randrange(2, 9)):
            agent = self._dice.choice(_AGENTS)
            chunks = [f"step {turn}.{n}: look at it, " for n in range(self._dice.randrange(1, 5))]
            for n, chunk in enumerate(chunks, 1):
                yield self._thinks(session, agent, turn, chunk, n == len(chunks))
            yield from self._calls(session)
            envelope = self._turn(task, turn, agent, "".join(chunks))
            if self._dice.random() < 0.1:
                late.append(envelope)
                continue
            yield envelope
            yield from late
            late.clear()
            if self._dice.random() < 0.1:
                yield self._wrong(session, task)
        yield from late
        done = self._dice.choice(["COMPLETED", "FAILED", "PAUSED"])
        yield self._moves(session, task, "IN_PROGRESS", done)

    def _calls(self, session: str) -> Iterator[Said]:
        call = f"call-{next(self._ids)}"
        secret = self._dice.random() < 0.5
        arguments = self._secret_arguments() if secret else {"path": "src/main.py"}
        invoked = {
            "type": "TOOL_LIFECYCLE_INVOKED",
            "call_id": call,
            "tool": "bash",
            "arguments": arguments,
            "timestamp": _AT,
        }
        yield self._event(session, invoked)
        for line in self._output():
            pulse = {"type": "SANDBOX_PULSE", "line": line, "masked": False, "timestamp": _AT}
            yield self._event(session, pulse)
        completed = {
            "type": "TOOL_LIFECYCLE_COMPLETED",
            "call_id": call,
            "tool": "bash",
            "status": self._dice.choice(["success", "failure", "timeout"]),
            "duration_ms": self._dice.randrange(5000) / 2,
            "timestamp": _AT,
        }
        yield self._event(session, completed)

    def _output(self) -> Iterator[str]:
        for _ in range(self._dice.randrange(1, 6)):
            yield self._dice.choice(_PLAIN)
        if self._dice.random() < 0.5:
            yield self._dice.choice(_LEAKS)(self)
        if self._dice.random() < 0.05:
            yield "-----BEGIN RSA PRIVATE" + " KEY-----"
            for _ in range(self._dice.randrange(2, 12)):
                yield self._kept(64, _BASE64)
            yield "-----END RSA PRIVATE" + " KEY-----"

    def _secret_arguments(self) -> Json:
        return {
            "command": f"curl -H 'Authorization: Bearer {self._secret(24)}' https://example.test",
            "env": [{"name": "region", "api_key": self._secret()}],
        }

    def _wrong(self, session: str, task: str) -> Said:
        """In one of the ways in which an event can be refused, with a secret where one can be."""
        wrong = self._moves(session, task, "COMPLETED", "PENDING")
        assert isinstance(wrong.value, dict)
        if self._dice.random() < 0.5:
            pulse = {"line": f"token={self._secret()}", "masked": False}
            at = f"password={self._secret()}"
            wrong.value["payload"] = {"type": "SANDBOX_PULSE", **pulse, "timestamp": at}
        return wrong

    def _moves(self, session: str, task: str, source: str, target: str) -> Said:
        payload = {
            "type": "TASK_TRANSITION",
            "task_id": task,
            "from_state": source,
            "to_state": target,
            "timestamp": _AT,
        }
        if target == "COMPLETED":
            payload["git_hash"] = f"{self._dice.getrandbits(160):040x}"
        return self._event(session, payload)

    def _thinks(self, session: str, agent: str, turn: int, chunk: str, final: bool) -> Said:
        payload = {
            "type": "THOUGHT_STREAM",
            "agent_id": agent,
            "turn_index": turn,
            "chunk": chunk,
            "is_final": final,
        }
        return self._event(session, payload)

    def _event(self, session: str, payload: Json) -> Said:
        event_id = str(UUID(int=next(self._ids), version=4))
        value = {"event_id": event_id, "session_id": session, "payload": payload}
        return Said(RTES_RAW, value)

    def _turn(self, task: str, turn: int, agent: str, thought: str) -> Said:
        self.turns[task, turn] = thought
        observation = self._dice.choice(["it holds", "it fails", f"seen {next(self._ids)}"])
        value = {
            "turn_index": turn,
            "agent_id": agent,
            "role": agent,
            "content": {"thought": thought, "action": "look", "observation": observation},
            "metadata": {
                "version": "1.0.0",
                "task_id": task,
                "timestamp": _AT,
                "confidence": self._dice.randrange(40, 100) / 100,
                "estimated_complexity": self._dice.choice(["low", "medium", "high"]),
            },
        }
        return Said(SAOP_TURNS, value)

    def _secret(self, length: int = 20) -> str:
        return self._kept(length, _ALNUM)

    def _kept(self, length: int, letters: str) -> str:
        secret = "aZ9" + "".join(self._dice.choice(letters) for _ in range(length - 3))
        self.secrets.add(secret)
        return secret

    def github(self) -> str:
        return f"remote: https://{'gh' + 'p_'}{self._secret(36)}@example.test/repo.git"

    def login(self) -> str:
        return f"postgresql://app:{self._secret()}@db.example.test:5432/app"

    def assigned(self) -> str:
        return f"export DB_PASSWORD='{self._secret()}'"

    def in_json(self) -> str:
        return f'{{"level":"info","client_secret":"{self._secret()}","n":3}}'

    def header(self) -> str:
        return f"> Authorization: Bearer {self._secret(32)}"

    def flag(self) -> str:
        return f"+ deploy --api-key {self._secret()} --region north"

    def query(self) -> str:
        return f"GET https://example.test/x?user=a&access_token={self._secret()}&page=2"

    def in_yaml(self) -> str:
        return f"  password: {self._secret()} {self._secret()}"


_LEAKS: tuple[Callable[[Agents], str], ...] = (
    Agents.github,
    Agents.login,
    Agents.assigned,
    Agents.in_json,
    Agents.header,
    Agents.flag,
    Agents.query,
    Agents.in_yaml,
)
