"""The masker of texts, pulses, tool arguments and dead letters (SAOP guide, 4.7 and 5.4)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from streams.masking import pem
from streams.masking.assigned import ASSIGNMENT
from streams.masking.colours import map_to_line, strip_colours
from streams.masking.find import spans_of, without
from streams.masking.json_values import count_leaves, mask_value
from streams.masking.own_rules import OwnRule, mask_own
from streams.masking.pem import Block
from streams.masking.rules import ALL, ORDER
from streams.masking.tokens import TOKEN, replace_spans, token

PASSES = 16  # only a text constructed for it needs more
_BREAK = re.compile(r"(\r\n|\n|\r)")


def count_tokens(text: str) -> int:
    """Count the replacement tokens in a text."""
    return sum(1 for _ in TOKEN.finditer(text))


def has_token(text: str) -> bool:
    """Return whether a text contains a replacement token."""
    return TOKEN.search(text) is not None


class Masker:
    """Replaces secrets by `[REDACTED:<rule>]` in any text, idempotently.

    key: makes the suffix that distinguishes secrets; without a key there is no suffix.  arguments:
    whether tool arguments are masked.  pem_lines, pem_s: the pulses and seconds after which an open
    private key block counts as closed.  disabled: names of shipped rules that replace nothing.
    policy_rules: those that the policy adds.
    """

    __slots__ = ("_arguments", "_disabled", "_key", "_own", "_pem_lines", "_pem_ms")

    def __init__(
        self,
        key: bytes | None = None,
        arguments: bool = True,
        pem_lines: int = 400,
        pem_s: float = 600,
        disabled: frozenset[str] = frozenset(),
        policy_rules: Sequence[OwnRule] = (),
    ) -> None:
        self._key = key or None
        self._arguments = arguments
        self._pem_lines = pem_lines
        self._pem_ms = pem_s * 1000
        self._disabled = frozenset(ORDER[name] for name in disabled)
        self._own = policy_rules

    def text(self, text: str) -> str:
        """Mask a text of any number of lines on its own.  A private key in it becomes one token."""
        return self._lines(text, None, 0)[0]

    def pulse(self, line: str, block: Block | None, now_ms: int) -> tuple[str, Block | None]:
        """Mask a session's next pulse; return it and the private key block that is open after it.

        block: the block that is open before it.  now_ms: the time of the pulse's record.
        """
        if block and (block.pulses >= self._pem_lines or now_ms - block.opened_ms > self._pem_ms):
            block = None
        masked, block = self._lines(line, block, now_ms)
        if block is None or block.pulses + 1 >= self._pem_lines:
            return masked, None
        return masked, block._replace(pulses=block.pulses + 1)

    def arguments(self, value: dict[str, Any]) -> tuple[dict[str, Any], int]:
        """Mask tool arguments; return them and the number of leaves that then contain a token."""
        masked = self.everything(value) if self._arguments else value
        return masked, count_leaves(masked, self.has_token)

    def has_token(self, text: str) -> bool:
        """Return whether a text contains a replacement token of this masker's rules."""
        return (self._own[0].tokens if self._own else TOKEN).search(text) is not None

    def everything(self, value: Any) -> Any:
        """Mask a JSON value: every string and member name, and all values under secret names."""
        return mask_value(value, self.text, self._token)

    def dead_letter(self, data: bytes) -> bytes:
        """Decode any bytes as UTF-8, with invalid bytes escaped, and return the masked text."""
        text = data.decode("utf-8", "backslashreplace")
        return self._lines(text, None, 0, loose=True)[0].encode("utf-8", "backslashreplace")

    def _token(self, rule: int, text: str) -> str:
        if rule in self._disabled:
            return self.text(text)
        return token(ALL[rule], text, self._key)

    def _lines(
        self, text: str, block: Block | None, now_ms: int, loose: bool = False
    ) -> tuple[str, Block | None]:
        if "\n" not in text and "\r" not in text:
            return self._line(text, block, now_ms, loose)
        wholes = without(pem.wholes(text), self._disabled)
        parts = _BREAK.split(replace_spans(text, wholes, self._key))
        for number in range(0, len(parts), 2):
            parts[number], block = self._line(parts[number], block, now_ms, loose)
        return "".join(parts), block

    def _line(
        self, line: str, block: Block | None, now_ms: int, loose: bool
    ) -> tuple[str, Block | None]:
        prefix, disabled = None if block is None else block.prefix, self._disabled
        line = mask_own(line, self._own, self._key) if self._own else line
        if not (spans := spans_of(plain := strip_colours(line), prefix, loose, disabled)):
            return line, pem.block_after(plain, block, now_ms)
        for _ in range(PASSES):
            line = replace_spans(line, map_to_line(line, spans), self._key)
            if not (spans := spans_of(plain := strip_colours(line), prefix, loose, disabled)):
                return line, pem.block_after(plain, block, now_ms)
        return token(ALL[ASSIGNMENT], line, self._key), block
