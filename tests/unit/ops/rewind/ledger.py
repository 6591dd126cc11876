"""A service in memory that keeps the table of a rewind (SAOP guide, 4.6), and fails on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from streams.ops.rewind.service import Json, Refused, Target

SESSION = "s-9"


class Killed(BaseException):
    """The process has ended here: nothing after it runs."""


@dataclass
class Ledger:
    """hashes: commits by task.  before, after: raise what a call of that name is to fail with,
    the latter when it has had its effect.  gateways: the addresses asked for.
    """

    hashes: dict[str, str]
    states: dict[str, str] = field(default_factory=dict)
    targets: dict[str, str] = field(default_factory=dict)
    before: dict[str, BaseException] = field(default_factory=dict)
    after: dict[str, BaseException] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    gateways: list[str] = field(default_factory=list)
    watch: Callable[[], None] = lambda: None

    @contextmanager
    def connect(self, gateway: str) -> Iterator[Ledger]:
        self.gateways.append(gateway)
        yield self

    def _call(self, name: str, effect: Callable[[], Any]) -> Any:
        self.calls.append(name)
        self.watch()
        if name in self.before:
            raise self.before[name]
        result = effect()
        if name in self.after:
            raise self.after[name]
        return result

    def plan(self, session_id: str, target: Target) -> Json:
        fact: Json = self._call("plan", lambda: self._fact("", "none", self._hash(target)))
        return fact

    def prepare(self, session_id: str, rewind_id: str, target: Target, reason: str | None) -> Json:
        def effect() -> Json:
            git_hash = self._hash(target)
            if "prepared" in self.states.values():
                raise Refused("another rewind is prepared", "rewind_in_progress", "none")
            self.states[rewind_id], self.targets[rewind_id] = "prepared", git_hash
            return self._fact(rewind_id, "prepared", git_hash)

        fact: Json = self._call("prepare", effect)
        return fact

    def confirm(self, session_id: str, rewind_id: str) -> Json:
        fact: Json = self._call("confirm", lambda: self._end(rewind_id, "applied"))
        return fact

    def abort(self, session_id: str, rewind_id: str) -> Json:
        fact: Json = self._call("abort", lambda: self._end(rewind_id, "aborted"))
        return fact

    def find(self, session_id: str, rewind_id: str) -> Json | None:
        def effect() -> Json | None:
            state = self.states.get(rewind_id)
            return None if state is None else self._fact(rewind_id, state, self.targets[rewind_id])

        fact: Json | None = self._call("find", effect)
        return fact

    def _end(self, rewind_id: str, state: str) -> Json:
        now = self.states.get(rewind_id)
        if now is None:
            raise Refused("no such rewind", "rewind_unknown", "none")
        if now == "applied" and state == "aborted":
            raise Refused("it is applied", "rewind_already_applied", now)
        if now in ("aborted", "lapsed") and state == "applied":
            raise Refused("it is over", f"rewind_{now}", now)
        repeated = now != "prepared"
        self.states[rewind_id] = now if repeated else state
        verdict = "duplicate" if repeated else "accepted"
        return self._fact(rewind_id, self.states[rewind_id], self.targets[rewind_id], verdict)

    def _hash(self, target: Target) -> str:
        if target.git_hash is not None:
            for known in self.hashes.values():
                if known.startswith(target.git_hash):
                    return known
            raise Refused("no such commit", "hash_unknown", "none")
        if target.task_id not in self.hashes:
            raise Refused("no such task", "task_unknown", "none")
        return self.hashes[target.task_id]

    def _fact(self, rewind_id: str, state: str, git_hash: str, verdict: str = "accepted") -> Json:
        move = {"task_id": "A", "from_state": "COMPLETED", "to_state": "IN_PROGRESS"}
        moves = [move] if verdict == "accepted" else []
        return {
            "rewind_id": rewind_id,
            "verdict": verdict,
            "state": state,
            "git_hash": git_hash,
            "moved": moves,
            "unchanged": [],
        }

    def is_applied(self) -> bool:
        return "applied" in self.states.values()
