"""The derivation of one fact, from its command and from what the fact itself records.

`headrace verify` derives all facts in order.  One fact alone is checked by the same functions, but
without the facts before it: what only they decide, such as a repetition, is `not_derivable`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple

from schemas import Undecodable
from streams.engine.processor import Message
from streams.engine.records import Record, is_text
from streams.replay.checks import VERDICT_KINDS, CheckContext
from streams.replay.expected_rows import ExpectedRows
from streams.replay.facts import Fact, to_fact
from streams.replay.spill import MemorySpill, SpillMap
from streams.verify.commands import to_log_record, to_message
from streams.verify.fact_checks import check_of, derive, identity_problems, input_of
from topology.declarations import Topic
from topology.verdicts import VERDICTS

_OTHER_RULE = "~"
"""A rule that none is: a check that accepts it does not derive the rule of a fact."""


class Outcome(StrEnum):
    HOLDS = "holds"
    DIFFERS = "differs"
    NOT_DERIVABLE = "not_derivable"


class Derivation(NamedTuple):
    """The outcome of a derivation.  detail: one sentence that says what it rests on."""

    outcome: Outcome
    detail: str


def derive_fact(
    topic: Topic,
    record: Record,
    prefix: str,
    partitions: int,
    settings: Mapping[str, Any],
    read: Callable[[str], Record | None],
) -> Derivation:
    """Derive a fact again.

    read: returns the record at a position, None if it is not on the log any more.
    partitions: the number of partitions of inputs.  settings: those of the processors, by name
    without HEADRACE_.
    """
    fact = to_fact(topic, record, settled=True, cut_off=True)
    if fact.value is None or not is_text(fact.key):
        return Derivation(Outcome.DIFFERS, "No processor writes such a record.")
    for _, message in identity_problems(fact, prefix):
        return Derivation(Outcome.DIFFERS, _sentence(message))
    if check_of(topic).check is None:
        return _not_derivable(f"no check derives facts of {topic.name}")
    try:
        command = _command_of(fact, prefix, read)
    except Undecodable:
        return Derivation(Outcome.DIFFERS, f"It is a verdict on {fact.cause}, which is unreadable.")
    if command is None and _is_about_command(fact, prefix):
        return _not_derivable(
            f"its command at {fact.cause} is not on the log any more, or not for this gateway"
        )
    return _derive(fact, command, partial(_empty_context, partitions, settings))


def _derive(
    fact: Fact, command: Message | None, new_context: Callable[[], CheckContext]
) -> Derivation:
    try:
        problems = [message for _, message in derive(fact, lambda: command, new_context())]
        if problems:
            return Derivation(Outcome.DIFFERS, _sentence(problems[0]))
        if not _decides_rule(fact, command, new_context()):
            rule = (fact.value or {}).get("rule")
            what = "it is" if rule is None else f"the rule {rule} is"
            return _not_derivable(f"{what} decided by earlier facts, rows or settings")
    except Exception as exc:  # a valid fact never raises
        return Derivation(Outcome.DIFFERS, f"It cannot be followed: {type(exc).__name__}.")
    if command is None:
        return Derivation(Outcome.HOLDS, f"It follows from its figures and its cause {fact.cause}.")
    return Derivation(Outcome.HOLDS, f"It follows from {fact.cause} and its figures.")


def _decides_rule(fact: Fact, command: Message | None, context: CheckContext) -> bool:
    """Return whether the fact alone shows its verdict: another rule would be noticed."""
    rules, value = check_of(fact.topic), fact.value or {}
    if rules.relative:
        return False
    if value.get("verdict", "accepted") not in VERDICT_KINDS - {"accepted"}:
        return True
    if value["rule"] in rules.derived:
        return True
    if rules.check is None:
        return False
    other = fact._replace(value={**value, "rule": _OTHER_RULE})
    try:
        messages = (text for _, text in rules.check(other, command, context))
        return any(text.startswith(f"rule is {_OTHER_RULE!r}") for text in messages)
    except Exception:  # a check may look the rule up
        return False


def _empty_context(partitions: int, settings: Mapping[str, Any]) -> CheckContext:
    """Return the context of a fact before which none was checked."""
    scratch = MemorySpill()
    seen, promised, outcomes = (SpillMap(scratch, name) for name in ("seen", "promised", "kept"))
    rows = ExpectedRows(scratch)
    return CheckContext(partitions, seen, promised, outcomes, lambda place: None, rows, settings)


def _command_of(fact: Fact, prefix: str, read: Callable[[str], Record | None]) -> Message | None:
    """Return the command that the fact is about.  Raises Undecodable."""
    source = input_of(fact.cause, prefix)
    if source is None or not _is_about_command(fact, prefix):
        return None
    record = read(fact.cause)
    return None if record is None else to_message(source[0], to_log_record(record))


def _is_about_command(fact: Fact, prefix: str) -> bool:
    source = input_of(fact.cause, prefix)
    return source is not None and source[0] in VERDICTS


def _not_derivable(reason: str) -> Derivation:
    return Derivation(Outcome.NOT_DERIVABLE, _sentence(reason))


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
