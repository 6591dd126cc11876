"""Section 4.1 told once more, from the table's words alone, to compare the processor with."""

from __future__ import annotations

from typing import NamedTuple

from streams.protocols.saop.processor.ordering import Limits


class Arrival(NamedTuple):
    """A turn record.  at: ms.  text: its content, by which turns of one index differ."""

    at: int
    turn: int
    text: str


class Line(NamedTuple):
    """A record of the log: the turn, the hole before it and why, when."""

    turn: int
    text: str
    gap: tuple[int, int, str] | None
    at: int


class Model:
    """One task.  rules: of each arrival.  log: what was logged."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.next = 0
        self.known: dict[int, str] = {}
        self.due: dict[int, int] = {}
        self.rules: list[str] = []
        self.log: list[Line] = []
        self.most_held = 0

    def arrive(self, turn: Arrival) -> None:
        self.pass_to(turn.at - 1)
        self.rules.append(self._rule(turn))
        self.most_held = max(self.most_held, len(self.due))

    def _rule(self, turn: Arrival) -> str:
        index = turn.turn
        if index in self.known:
            return "turn_duplicate" if self.known[index] == turn.text else "turn_conflict"
        if index < self.next:
            return "turn_late"
        if self.log and index > self.next + self.limits.max_ahead:
            return "turn_too_far"
        self.known[index] = turn.text
        if index == self.next:
            self._log(index, None, turn.at)
            self._follow(turn.at)
            return "turn_logged"
        self.due[index] = turn.at + self.limits.hold_ms
        if len(self.due) == self.limits.hold_turns + 1:
            self._log(min(self.due), "count", turn.at)
            self._follow(turn.at)
        return "turn_held"

    def pass_to(self, now_ms: int) -> None:
        """Fire what is due until then, each timer at its own time."""
        while self.due and min(self.due.values()) <= now_ms:
            at, fired = min((due, index) for index, due in self.due.items())
            for index in sorted(self.due):
                if index <= fired:
                    self._log(index, "time", at)
            self._follow(at)

    def _follow(self, at: int) -> None:
        while self.next in self.due:
            self._log(self.next, None, at)

    def _log(self, index: int, reason: str | None, at: int) -> None:
        gap = (self.next, index - 1, reason or "") if index > self.next else None
        self.log.append(Line(index, self.known[index], gap, at))
        self.due.pop(index, None)
        self.next = index + 1
