"""Masks texts, pulses, tool arguments and dead letters (spec 4.7 and 5.4)."""

from __future__ import annotations

import re
from typing import Any

from streams.masking import pem
from streams.masking.assigned import ASSIGNMENT
from streams.masking.colours import in_line, shown
from streams.masking.find import spans_of
from streams.masking.json_values import count_leaves, masked_value
from streams.masking.pem import Block
from streams.masking.rules import ALL
from streams.masking.tokens import TOKEN, replaced, token

PASSES = 16  # no text needs more that was not made to need them
_BREAK = re.compile(r"(\r\n|\n|\r)")


def count_tokens(text: str) -> int:
    """How many replacement tokens are in a text."""
    return sum(1 for _ in TOKEN.finditer(text))


def has_token(text: str) -> bool:
    """Whether a replacement token is in a text."""
    return TOKEN.search(text) is not None


class Masker:
    """Replaces secrets by `[REDACTED:<rule>]`, in any text, idempotently.

    key: makes the suffix that tells secrets apart; without one there is none.  arguments: whether
    tool arguments are masked.  pem_lines, pem_s: pulses and seconds after which a private key block
    is taken for closed.
    """

    __slots__ = ("_arguments", "_key", "_pem_lines", "_pem_ms")

    def __init__(
        self,
        key: bytes | None = None,
        arguments: bool = True,
        pem_lines: int = 400,
        pem_s: float = 600,
    ) -> None:
        self._key = key or None
        self._arguments = arguments
        self._pem_lines = pem_lines
        self._pem_ms = pem_s * 1000

    def text(self, text: str) -> str:
        """A text of any number of lines, by itself.  A private key in it becomes one token."""
        return self._lines(text, None, 0)[0]

    def pulse(self, line: str, block: Block | None, now_ms: int) -> tuple[str, Block | None]:
        """The next pulse of a session: masked, and the private key block that is open after it.

        block: what the pulse before left.  now_ms: time of the pulse's record.
        """
        if block and (block.pulses >= self._pem_lines or now_ms - block.opened_ms > self._pem_ms):
            block = None
        masked, block = self._lines(line, block, now_ms)
        if block is None or block.pulses + 1 >= self._pem_lines:
            return masked, None
        return masked, block._replace(pulses=block.pulses + 1)

    def arguments(self, value: dict[str, Any]) -> tuple[dict[str, Any], int]:
        """Tool arguments, and how many of their leaf values hold a token after masking."""
        masked = self.everything(value) if self._arguments else value
        return masked, count_leaves(masked, has_token)

    def everything(self, value: Any) -> Any:
        """A JSON value: every string and member name, and what stands under secret names."""
        return masked_value(value, self.text, self._token)

    def dead_letter(self, data: bytes) -> bytes:
        """Bytes of any kind as masked UTF-8; what is not UTF-8 as `\\xNN`."""
        text = data.decode("utf-8", "backslashreplace")
        return self._lines(text, None, 0, loose=True)[0].encode("utf-8", "backslashreplace")

    def _token(self, rule: int, text: str) -> str:
        return token(ALL[rule], text, self._key)

    def _lines(
        self, text: str, block: Block | None, now_ms: int, loose: bool = False
    ) -> tuple[str, Block | None]:
        if "\n" not in text and "\r" not in text:
            return self._line(text, block, now_ms, loose)
        parts = _BREAK.split(replaced(text, pem.wholes(text), self._key))
        for number in range(0, len(parts), 2):
            parts[number], block = self._line(parts[number], block, now_ms, loose)
        return "".join(parts), block

    def _line(
        self, line: str, block: Block | None, now_ms: int, loose: bool
    ) -> tuple[str, Block | None]:
        prefix = None if block is None else block.prefix
        if not (spans := spans_of(plain := shown(line), prefix, loose)):
            return line, pem.after(plain, block, now_ms)
        for _ in range(PASSES):
            line = replaced(line, in_line(line, spans), self._key)
            if not (spans := spans_of(plain := shown(line), prefix, loose)):
                return line, pem.after(plain, block, now_ms)
        return self._token(ASSIGNMENT, line), block
