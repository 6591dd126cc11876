"""What is decided on a record: accepted, the same as before, or refused with a reason.

Source: Summit 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from schemas import Problem
from schemas.summit import rule_message

if TYPE_CHECKING:
    from streams.protocols.summit.processor.runs import Run

Errors = Sequence[dict[str, Any]]


LONGEST = 500
"""Characters of a path, and of a sentence about it; names that are sent may have any length."""


class Ruling(NamedTuple):
    """rule: what decides.  message: `<rule>: ` and a phrase, for people.  path: a JSON Pointer.

    errors: of a schema, {path, keyword}.  figures: the numbers that the rule rests on.
    run: the run that the record is about, once it is known.  more: further members of the fact.
    """

    verdict: str
    rule: str
    message: str
    path: str | None = None
    errors: Errors = ()
    figures: Mapping[str, float] = {}
    run: Run | None = None
    more: Mapping[str, Any] = {}


def accept(
    rule: str,
    run: Run,
    figures: Mapping[str, float],
    path: str | None = None,
    errors: Errors = (),
    **more: Any,
) -> Ruling:
    """path, errors: of what an accepted final reply breaks, whose rule ends the run."""
    return Ruling("accepted", rule, rule_message(rule, errors), path, errors, figures, run, more)


def duplicate(rule: str, run: Run) -> Ruling:
    """The record changes nothing: what it asks for was done before."""
    return Ruling("duplicate", rule, rule_message(rule), run=run)


def refuse(
    rule: str,
    path: str | None = None,
    *,
    run: Run | None = None,
    figures: Mapping[str, float] | None = None,
    **more: Any,
) -> Ruling:
    return Ruling("rejected", rule, rule_message(rule), path, (), figures or {}, run, more)


def malformed(problem: Problem, run: Run | None = None) -> Ruling:
    """A refusal for one of the rules that a record breaks by itself."""
    path = problem.path[:LONGEST]
    message = f"{problem.rule}: {path or '/'}: {problem.message[:LONGEST]}"
    return Ruling("rejected", problem.rule, message, path, run=run)


def misfit(rule: str, errors: Errors, **more: Any) -> Ruling:
    """A refusal for what breaks a schema."""
    message = rule_message(rule, errors)
    return Ruling("rejected", rule, message, errors[0]["path"], errors, more=more)
