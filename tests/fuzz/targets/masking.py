"""Text and JSON of any kind through the masker: never an error, and masked twice is masked once."""

from __future__ import annotations

from typing import Any

from streams.masking.configured import masker_for
from streams.masking.examples import examples_of
from streams.masking.rules import ALL
from streams.processing.lines import Unparsed, read_value
from streams.settings import Settings
from tests.fuzz.json_inputs import mutated as mutate

__all__ = ["mutate", "run", "seeds"]

MASKER = masker_for(Settings())


def seeds() -> list[bytes]:
    return [b"\0" + case.text.encode() for rule in ALL for case in examples_of(rule)]


def run(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape" if data[:1] > b"\x80" else "replace")
    once = MASKER.text(text)
    assert MASKER.text(once) == once
    block: Any = None
    for line in text.split("\n")[:50]:
        masked, block = MASKER.pulse(line, block, 0)
        assert MASKER.text(masked) == masked or block is not None
    letter = MASKER.dead_letter(data)
    assert MASKER.dead_letter(letter) == letter
    value = read_value(data[1:])
    if not isinstance(value, Unparsed):
        everything = MASKER.everything(value)
        assert MASKER.everything(everything) == everything or value != value
    if isinstance(value, dict):
        clean, _ = MASKER.arguments(value)
        assert MASKER.arguments(clean)[0] == clean
