"""What a judge of a record says: accepted, the same as before, or refused with a reason.

Source: ASAP spec, 3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from schemas import Problem
from schemas.asap import rules
from streams.engine.processor import Work
from topology.declarations import Topic
from topology.keys import partition_of

if TYPE_CHECKING:
    from streams.protocols.asap.processor.case import Case
    from streams.protocols.asap.processor.inbound import Command
    from streams.protocols.asap.processor.scene import Scene


class Outcome(NamedTuple):
    """rule: what decides.  detail: one sentence for people.  figures: what the rule rests on.

    case: the task that the record is about, where there is one.  call_key: of an MCP record.
    task_id: where no case is at hand.  deliver: an accepted envelope goes to its recipient.
    """

    verdict: str
    rule: str
    detail: str | None = None
    figures: Mapping[str, Any] = {}
    fault: str | None = None
    asap_error: str | None = None
    case: Case | None = None
    call_key: str | None = None
    task_id: str | None = None
    deliver: bool = False

    @property
    def accepted(self) -> bool:
        return self.verdict == "accepted"


Handler = Callable[["Command", "Scene"], Outcome | None]
"""Judges one payload, and does what is its own of an accepted one: rows, timers, RTES, edges.

`publishing.publish` does the rest.  None: nothing is decided yet, the record is held.
"""


def accept(
    rule: str,
    *,
    case: Case | None = None,
    call_key: str | None = None,
    deliver: bool = True,
    detail: str | None = None,
    **figures: Any,
) -> Outcome:
    return Outcome("accepted", rule, detail, figures, case=case, call_key=call_key, deliver=deliver)


def duplicate(
    rule: str,
    *,
    case: Case | None = None,
    task_id: str | None = None,
    call_key: str | None = None,
    **figures: Any,
) -> Outcome:
    """The record changes nothing: what it asks for was done before."""
    return Outcome("duplicate", rule, None, figures, case=case, task_id=task_id, call_key=call_key)


def refuse(
    rule: str,
    detail: str,
    *,
    fault: str | None = None,
    case: Case | None = None,
    call_key: str | None = None,
    task_id: str | None = None,
    **figures: Any,
) -> Outcome:
    """fault: whose, if not the one that the rule names."""
    return Outcome(
        "rejected",
        rule,
        detail,
        figures,
        fault or rules.fault_of(rule),
        rules.ASAP_ERRORS[rule],
        case,
        call_key,
        task_id,
    )


def malformed(problems: Sequence[Problem]) -> Outcome:
    """problems: the broken stateless rules; the first one decides."""
    first = problems[0]
    codes = list(dict.fromkeys(problem.rule for problem in problems))
    return refuse(first.rule, f"{first.path or '/'}: {first.message}", violations=codes)


def too_large(topic: Topic, size: int) -> Outcome:
    """A refusal of what causes more than one record of a topic may hold."""
    detail = f"The envelope causes {size} bytes on {topic.name}, more than one record may."
    return refuse("envelope_too_large", detail, fault="service")._replace(figures={"size": size})


def elsewhere(key: str, work: Work) -> Outcome | None:
    """A refusal of a record on another partition than its key's, whose task lacks all its rows."""
    expected = partition_of(key.encode(), work.partitions)
    if expected == work.partition:
        return None
    detail = f"The record lies on partition {work.partition}; its key makes it {expected}."
    figures = {"partition": work.partition, "expected": expected}
    return refuse("partition_mismatch", detail)._replace(figures=figures)
