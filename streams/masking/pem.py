"""Detection of private key blocks (SAOP guide, 4.7)."""

from __future__ import annotations

import re
from typing import NamedTuple

from streams.masking import rules
from streams.masking.tokens import TOKEN, Span

_NAME = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_BEGIN = rf"-----BEGIN {_NAME}"
_END = rf"-----END {_NAME}"
_MARK = re.compile(
    rf"(?P<begin>{_BEGIN})|(?P<end>{_END})|\[REDACTED:pem_(?:open|close)(?::[0-9a-f]{{8}})?\]"
)
_EITHER = re.compile(rf"(?P<begin>{_BEGIN})|{_END}")
_TOKEN = "[REDACTED:pem_"
_OPEN_OR_CLOSE = re.compile(r"\[REDACTED:pem_(?P<kind>open|close)(?::[0-9a-f]{8})?\]")
_BODY = re.compile(r"[A-Za-z0-9+/=]+")
_RUN = re.compile(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/=]{32}")
_HEADER = re.compile(r"[ \t]*(?:Proc-Type|DEK-Info|Version|Comment):")
WHOLE, OPEN, CLOSE = (rules.ORDER[name] for name in ("pem_private_key", "pem_open", "pem_close"))
UNKNOWN = -1  # length of a prefix that was masked


class Block(NamedTuple):
    """An open private key block, as a session stores it between two pulses.

    opened_ms: the time of the BEGIN.  pulses: the number of pulses so far, including the one with
    BEGIN.  prefix: the number of characters before BEGIN, -1 if they can no longer be counted.
    """

    opened_ms: int
    pulses: int
    prefix: int


class Marks(NamedTuple):
    """The marks of blocks on a line.  cuts: divide the line.  wholes: blocks inside one part."""

    cuts: list[Span]
    wholes: list[Span]


def marks(text: str) -> Marks:
    """Return where blocks begin and end on a line.  Tokens of an earlier masking are cuts too."""
    result = Marks([], [])
    if "-----" not in text and _TOKEN not in text:
        return result
    floor, begun = 0, -1
    for mark in _MARK.finditer(text):
        if mark["begin"]:
            begun = mark.start() if begun < 0 else begun
        elif mark["end"] and begun >= 0:
            result.wholes.append(Span(begun, mark.end(), WHOLE))
            floor, begun = mark.end(), -1
        elif mark["end"]:
            result.cuts.append(Span(floor, mark.end(), CLOSE))
            floor = mark.end()
        elif begun < 0:
            result.cuts.append(Span(*mark.span(), -1))
            floor = mark.end()
    if begun >= 0:
        result.cuts.append(Span(begun, len(text), OPEN))
    return result


def is_body(line: str, prefix: int) -> bool:
    """Return whether a line without marks belongs to the key while a block is open."""
    if _RUN.search(line) or _HEADER.match(line):
        return True
    after_prefix = (line.split() or [""])[-1] if prefix == UNKNOWN else line[prefix:]
    return any(_BODY.fullmatch(part.strip()) for part in (line, after_prefix)) or bool(
        _HEADER.match(after_prefix)
    )


def has_run(text: str) -> bool:
    return _RUN.search(text) is not None


def wholes(text: str) -> list[Span]:
    """Return the blocks that contain line breaks, in a text of several lines."""
    spans, begun = [], -1
    for mark in _EITHER.finditer(text):
        if mark["begin"]:
            begun = mark.start() if begun < 0 else begun
        elif begun >= 0:
            if "\n" in (block := text[begun : mark.end()]) or "\r" in block:
                spans.append(Span(begun, mark.end(), WHOLE))
            begun = -1
    return spans


def block_after(line: str, block: Block | None, now_ms: int) -> Block | None:
    """Return the open block after a masked line without colours, judged by its tokens alone."""
    if _TOKEN not in line or not (tokens := list(_OPEN_OR_CLOSE.finditer(line))):
        return block
    if tokens[-1]["kind"] == "close":
        return None
    prefix = line[: tokens[-1].start()]
    return Block(now_ms, 0, UNKNOWN if TOKEN.search(prefix) else len(prefix))
