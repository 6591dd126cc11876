"""The preparation and validation of a value at an edge: it fills in members and drops unknown keys.

A value that is not an object is not changed; the rules report it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, NamedTuple

from schemas import Problem, has_lone_surrogate
from streams.masking import Masker
from streams.processing.key_blocks import Blocks
from streams.processing.lines import Unparsed
from streams.settings.service import ServiceSettings
from topology.declarations import Topic

MAX_NOTES = 1000
"""The most notes on the values of one request."""


class Prepared(NamedTuple):
    """A value as it is produced, and the number of unknown keys that were dropped.

    filled: members that were absent and are derived from others; the record and the answer say so.
    """

    value: Any
    dropped_keys: int | None = None
    filled: tuple[str, ...] = ()


class EnvelopeType(NamedTuple):
    """One kind of envelope.

    prepare: takes the edge's clock (ms).  max_problems: how many are reported.  mask: masks a valid
    envelope before it is produced; takes the edge's clock and the producer's open key blocks.
    text_rule: a rule of the protocol forbids lone surrogates; else text with one is not JSON.
    not_json, not_ijson: the rules that text violates that is not JSON, or not I-JSON (None: the
    same).
    form: converts a valid envelope to the form that is produced.  other_text: reads text that is
    not JSON; raises ShapeError.  from_output: makes a value of a line of a program's output; takes
    a session and the clock.
    notes: returns what to say about a valid value as it was sent: that a member was dropped, or
    that the record will be rejected.  A note refuses nothing.
    join: returns the values of one request, each with what others of them say about it.
    address: adds to a value what stands beside it: takes the record key that the request names, and
    the principal, each None if there is none.
    """

    name: str
    prepare: Callable[[Any, int], Prepared]
    problems: Callable[[Any, ServiceSettings], list[Problem]]
    max_problems: int
    mask: Callable[[Any, Masker, int, Blocks], Any] | None = None
    text_rule: bool = True
    not_json: str = "json_invalid"
    form: Callable[[Any], Any] = lambda value: value
    not_ijson: str | None = None
    other_text: Callable[[bytes], Any] | None = None
    from_output: Callable[[str, str, int], Any] | None = None
    notes: Callable[[Any, ServiceSettings], list[Problem]] | None = None
    join: Callable[[Sequence[Any]], list[Any]] | None = None
    address: Callable[[Any, str | None, str | None], Any] | None = None

    def unread(self, unparsed: Unparsed) -> Problem:
        """Return the problem of a text that cannot be parsed."""
        rule = self.not_ijson if unparsed.is_json else None
        return Problem(rule or self.not_json, "", unparsed.message)


class IngressTopic(NamedTuple):
    """A topic that users may write, and the kind of its envelopes."""

    topic: Topic
    kind: EnvelopeType


def prepare_unchanged(value: Any, now_ms: int) -> Prepared:
    """Return the value unchanged, for protocols that fill nothing in and keep unknown members."""
    return Prepared(value)


def notes_on(
    kind: EnvelopeType, values: Sequence[Any], settings: ServiceSettings
) -> list[tuple[int, Problem]]:
    """Return the notes on valid values as they were sent, each with the index of its value.

    They are the first `MAX_NOTES` of a request.
    """
    notes_of = kind.notes
    if notes_of is None:
        return []
    notes = ((n, note) for n, value in enumerate(values) for note in notes_of(value, settings))
    return list(islice(notes, MAX_NOTES))


def check(
    kind: EnvelopeType, value: Any, now_ms: int, settings: ServiceSettings
) -> tuple[Prepared, list[Problem]]:
    """Return the value as the edge would produce it, and as many problems as its kind reports."""
    prepared, problems = check_all(kind, value, now_ms, settings)
    return prepared, problems[: kind.max_problems]


def check_all(
    kind: EnvelopeType, value: Any, now_ms: int, settings: ServiceSettings
) -> tuple[Prepared, list[Problem]]:
    """Return the value as the edge would produce it, and all its problems."""
    if not kind.text_rule and has_lone_surrogate(value):
        message = "The text is not I-JSON: a string has a lone surrogate."
        return Prepared(value), [Problem("json_invalid", "", message)]
    prepared = kind.prepare(value, now_ms)
    return prepared, kind.problems(prepared.value, settings)
