"""What is not stored while nothing can be masked.

An event may hold a secret in any of its strings, and no secret may reach a fact or a dead letter.
Finding secrets in free text takes an engine of masking rules; without one the choice is all or
nothing.  So thoughts, tool calls and sandbox output are not recorded at all, and of what is said
about a refused event only those strings are kept that have the form of an identifier, a time or
a few words; every other string gives way to a token.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from schemas.formats import is_saop_time, is_uuid
from schemas.rtes.rules import NOT_YET

TOKEN = f"[REDACTED:{NOT_YET.code}]"
RECORDABLE = "headrace.rtes.TaskTransition"
"""The one payload that holds identifiers and states only, which are kept as sent."""

_LONGEST = 64
_WORD = r"(?:[A-Za-z]+[0-9]{0,4}|[0-9]{1,8})"
_PLAIN = re.compile(rf"{_WORD}(?:[_/.: -]{_WORD})*|[0-9A-Fa-f]{{1,40}}|")
_IDENTITY = frozenset({"event_id", "session_id", "type"})


def plain(text: str) -> bool:
    """Whether a text is short and made of words and numbers, a uuid, a time or a commit hash."""
    if len(text) > _LONGEST:
        return False
    return bool(_PLAIN.fullmatch(text)) or is_uuid(text) or is_saop_time(text)


def text(value: str) -> str:
    """The text itself where it is plain, else the token."""
    return value if plain(value) else TOKEN


def figures(value: Any) -> Any:
    """JSON with every string that is not plain replaced; member names are the rule's own."""
    match value:
        case str():
            return text(value)
        case Mapping():
            return {name: figures(member) for name, member in value.items()}
        case list() | tuple():
            return [figures(item) for item in value]
    return value


def event(json_event: Mapping[str, Any], *, valid: bool) -> Mapping[str, Any]:
    """A refused event as it is stored.

    Of a valid one plain strings stay; of any other only its type and ids stay, where plain.
    """
    return {name: _member(name, value, valid) for name, value in json_event.items()}


def _member(name: str, value: Any, valid: bool) -> Any:
    match value:
        case str():
            return text(value) if valid or name in _IDENTITY else TOKEN
        case Mapping() if name == "arguments":
            return TOKEN  # its member names are the sender's, so they could not stay either
        case Mapping():
            return event(value, valid=valid)
        case list():
            return [_member("", item, valid) for item in value]
    return value


def pointer(path: str) -> str:
    """A JSON Pointer without the sender's own member names."""
    head, arguments, _ = path.partition("/arguments")
    return head + arguments


def dead_letter(value: bytes | None) -> bytes | None:
    """Undecodable bytes as they are stored; a null value holds nothing and stays one."""
    return None if value is None else TOKEN.encode()
