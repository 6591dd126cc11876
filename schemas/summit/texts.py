"""Forms of Summit's texts (spec 1, 2): ids, names, versions, times."""

from __future__ import annotations

import re

from schemas.formats import parse_time

_AGENT_ID = re.compile(r"[a-z0-9-]{1,100}")
_NUMBER = "(?:0|[1-9][0-9]{0,8})"
_VERSION = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
_TOOL_CALL_ID = re.compile(r"[!-~]{1,128}")
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ROLE = re.compile(r"researcher|critic|writer|router|x-[a-z0-9-]{1,60}")
_CAPABILITY = re.compile(r"[a-z0-9-]+:[a-z0-9-]+")
_RESOURCE = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?Z")
_POSITION = re.compile(r"[A-Za-z0-9._-]{1,249}/[0-9]{1,10}/[0-9]{1,19}")


def is_agent_id(text: str) -> bool:
    return _AGENT_ID.fullmatch(text) is not None


def is_version(text: str) -> bool:
    """`x.y.z`, each at most 999,999,999 and without leading zeros."""
    return _VERSION.fullmatch(text) is not None


def is_id(text: str) -> bool:
    """A runId, traceId or replyId."""
    return _ID.fullmatch(text) is not None


def is_tool_call_id(text: str) -> bool:
    return _TOOL_CALL_ID.fullmatch(text) is not None


def is_tool_name(text: str) -> bool:
    return _TOOL_NAME.fullmatch(text) is not None


def is_role(text: str) -> bool:
    return _ROLE.fullmatch(text) is not None


def is_capability(text: str) -> bool:
    return len(text) <= 128 and _CAPABILITY.fullmatch(text) is not None


def is_resource(text: str) -> bool:
    return _RESOURCE.fullmatch(text) is not None


def is_time(text: str) -> bool:
    """`YYYY-MM-DDThh:mm:ss[.f{1,9}]Z` of a real date and time."""
    return _TIME.fullmatch(text) is not None and parse_time(text) is not None


def is_position(text: str) -> bool:
    """`<topic>/<partition>/<offset>`."""
    return _POSITION.fullmatch(text) is not None
