"""A fast test for the rules that can match a text; almost always none can."""

from __future__ import annotations

import re
from collections.abc import Iterable

from streams.masking.entropy import may_have_run
from streams.masking.rules import ALL, ORDER

HIGH_ENTROPY = ORDER["high_entropy"]


def _any_of(triggers: Iterable[str]) -> re.Pattern[str]:
    """Compile alternatives grouped by their first characters, which makes the search faster."""
    groups: dict[str, list[str]] = {}
    for trigger in sorted(set(triggers)):
        groups.setdefault(trigger[:1], []).append(re.escape(trigger[1:]))
    return re.compile(
        "|".join(f"{re.escape(of)}(?:{'|'.join(ends)})" for of, ends in groups.items())
    )


_TRIGGERS = [(trigger, number) for number, rule in enumerate(ALL) for trigger in rule.triggers]
_WORDS = [(word, number) for number, rule in enumerate(ALL) for word in rule.words]
_TRIGGER = _any_of(trigger for trigger, _ in _TRIGGERS)
_WORD = _any_of(word for word, _ in _WORDS)


def _normalise(text: str) -> str:
    return text.lower().replace("_", "").replace(".", "").replace("-", "")


def is_suspect(text: str) -> bool:
    """Return whether any rule can match; cheap, since almost no line has a secret."""
    return (
        _TRIGGER.search(text) is not None
        or _WORD.search(_normalise(text)) is not None
        or may_have_run(text)
    )


def suspected_in(text: str) -> set[int]:
    """Return the rules that can match."""
    folded = _normalise(text)
    numbers = {number for trigger, number in _TRIGGERS if trigger in text}
    numbers.update(number for word, number in _WORDS if word in folded)
    return numbers | {HIGH_ENTROPY} if may_have_run(text) else numbers
