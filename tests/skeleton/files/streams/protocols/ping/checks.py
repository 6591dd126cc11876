"""Pings: what an answer says of its ping."""

from __future__ import annotations

from streams.engine.processor import Message
from streams.replay.checks import CheckContext, Problems, check_members
from streams.replay.facts import Fact


def check(fact: Fact, command: Message | None, ctx: CheckContext) -> Problems:
    if command is not None:
        yield from check_members(fact.value or {}, dict(command.value))
