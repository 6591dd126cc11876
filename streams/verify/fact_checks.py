"""The checks of one fact: its identity, and whether it follows from its command."""

from __future__ import annotations

from collections.abc import Callable

from streams.engine.processor import Message
from streams.protocols.commands import COMMANDS
from streams.replay.checks import CheckContext, FactCheck, Problems
from streams.replay.facts import Fact
from streams.replay.violations import ViolationKind
from streams.verify.commands import is_offset
from topology import topics
from topology.declarations import Topic

TIMER = "timer/"
"""The beginning of a cause that is a timer."""
CHECKS = {topic: check for side in COMMANDS for topic, check in side.checks.items()}
_NO_CHECK = FactCheck()


def check_of(topic: Topic) -> FactCheck:
    """Return the rules by which facts of a topic are checked; empty ones if there are none."""
    return CHECKS.get(topic, _NO_CHECK)


def derive(fact: Fact, command: Callable[[], Message | None], context: CheckContext) -> Problems:
    """Derive a readable fact again, and yield what differs.

    command: returns the command that it is about; called only if it is needed.
    """
    rules, value = check_of(fact.topic), fact.value or {}
    if rules.rules is not None and value["rule"] not in rules.rules:
        yield ViolationKind.NOT_BORNE_OUT, f"{value['rule']} is none of the rules"
    if rules.check is not None:
        yield from rules.check(fact, command(), context)


def identity_problems(fact: Fact, prefix: str) -> Problems:
    """Check the id, the cause and the partition that a fact states about itself."""
    value = fact.value or {}
    fact_id = value.get(check_of(fact.topic).id_member or "", fact.id)
    if fact_id != fact.id:
        message = f"its header says that it is {fact.id!r}, its value says {fact_id!r}"
        yield ViolationKind.NOT_BORNE_OUT, message
    source = input_of(fact.cause, prefix)
    if source is None:
        if not fact.cause.startswith(TIMER):
            message = f"its cause is {fact.cause!r}, which is no place of an input"
            yield ViolationKind.NOT_BORNE_OUT, message
        return
    topic, number = source
    if fact.topic.same_partition and number != fact.partition:
        message = f"it lies on partition {fact.partition}, its cause on {number}"
        yield ViolationKind.MISPLACED, message
    cause = value.get("cause") or value.get("position") or fact.cause
    if cause != fact.cause and not topic.internal:
        message = f"its header says that {fact.cause} is its cause, its value says {cause}"
        yield ViolationKind.NOT_BORNE_OUT, message


def input_of(cause: str, prefix: str) -> tuple[Topic, int] | None:
    """Return the input that caused a fact, and its partition; None for a timer."""
    name, _, remaining = cause.partition("/")
    number, _, offset = remaining.partition("/")
    topic = topics.BY_NAME.get(name.removeprefix(prefix))
    if topic is None or not topic.is_input:
        return None
    return (topic, int(number)) if is_offset(number) and is_offset(offset) else None
