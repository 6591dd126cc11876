"""What an edge does to a value before it is judged: fill in, drop what nobody knows.

A value that is not an object is left as it is; the rules say what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from schemas import Problem, has_lone_surrogate
from streams.masking import Masker
from streams.processing.key_blocks import Blocks
from streams.processing.lines import Unparsed
from streams.settings.service import ServiceSettings
from topology.declarations import Topic


class Prepared(NamedTuple):
    """A value as it would be produced, and how many unknown keys were left out."""

    value: Any
    dropped_keys: int | None = None


class EnvelopeType(NamedTuple):
    """One kind of envelope.

    prepare: takes the edge's clock (ms).  most: problems reported.  mask: masks a valid one before
    it is produced, given the edge's clock and the producer's open key blocks.  text_rule: lone
    surrogates break a rule of its own; else the text that has one is no JSON.  not_json, not_ijson:
    the rules that a text breaks which is no JSON, or no I-JSON (None: the same).  form: of a valid
    one, as it is produced.  other_text: reads a text that is no JSON; raises ShapeError.
    from_output: makes a value of a line that a program prints, given a session and the clock.
    """

    name: str
    prepare: Callable[[Any, int], Prepared]
    problems: Callable[[Any, ServiceSettings], list[Problem]]
    most: int
    mask: Callable[[Any, Masker, int, Blocks], Any] | None = None
    text_rule: bool = True
    not_json: str = "json_invalid"
    form: Callable[[Any], Any] = lambda value: value
    not_ijson: str | None = None
    other_text: Callable[[bytes], Any] | None = None
    from_output: Callable[[str, str, int], Any] | None = None

    def unread(self, unparsed: Unparsed) -> Problem:
        """What is wrong with a text."""
        rule = self.not_ijson if unparsed.is_json else None
        return Problem(rule or self.not_json, "", unparsed.message)


class IngressTopic(NamedTuple):
    """A topic that users may write, and what its envelopes are."""

    topic: Topic
    kind: EnvelopeType


def as_sent(value: Any, now_ms: int) -> Prepared:
    """Prepare a value whose protocol fills nothing in and keeps unknown members."""
    return Prepared(value)


def check(
    kind: EnvelopeType, value: Any, now_ms: int, settings: ServiceSettings
) -> tuple[Prepared, list[Problem]]:
    """The value as the edge would produce it, and every rule it breaks, the first ones first."""
    if not kind.text_rule and has_lone_surrogate(value):
        message = "The text is not I-JSON: a string has a lone surrogate."
        return Prepared(value), [Problem("json_invalid", "", message)]
    prepared = kind.prepare(value, now_ms)
    return prepared, kind.problems(prepared.value, settings)[: kind.most]
