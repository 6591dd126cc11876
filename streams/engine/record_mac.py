"""MACs of records: a header that only the service can make, at its place and once.

    headrace-mac: 1;<task>;<serial>;<the first 16 bytes of HMAC-SHA-256(key, M), base64url>
    M = "headrace-mac-1", then topic, record key, value, task, serial, each with its length

A serial is `opening * 2**32 + n`: the number of the task's opening, and of the record within it.
So serials of a task rise along every partition that it writes, and a record that is copied and
written again is recognised although its MAC is valid.  Sixteen bytes are enough against guesses,
and the header is on nearly every record.
"""

from __future__ import annotations

import hmac
import re
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from typing import NamedTuple

from schemas import native
from streams.engine.records import Headers
from topology.headers import MAC

HEADER = MAC.name
REDRIVE_TASK = -1
"""The task of records that an operator's redrive writes; its serials are times."""
MAC_BYTES = 16
_DOMAIN = b"headrace-mac-1"
_FORM = re.compile(rb"1;(-1|0|[1-9][0-9]{0,8});([1-9][0-9]{0,18});([A-Za-z0-9_-]{22})")
_OPENING_BITS = 32

MacInput = tuple[str, bytes | None, bytes | None, int, int]
"""Full topic name, key, value, task and serial of a record."""


class MacHeader(NamedTuple):
    """The parts of a header."""

    task: int
    serial: int
    mac: bytes


def split_mac_keys(setting: str | None) -> tuple[bytes, ...]:
    """Return the keys of HEADRACE_MAC_KEY, the first of which signs; none if it is unset."""
    return tuple(part.strip().encode() for part in (setting or "").split(",") if part.strip())


def python_record_macs(key: bytes, records: Sequence[MacInput]) -> list[bytes]:
    """Return the texts of the MACs of records: the reference of the compiled function."""
    return [_mac_text(key, *record) for record in records]


record_macs = native.choose_record_macs(python_record_macs)
"""Return the texts of the MACs of records under a key, by the fastest function there is."""


def _mac_text(
    key: bytes, topic: str, record_key: bytes | None, value: bytes | None, task: int, serial: int
) -> bytes:
    parts = [_DOMAIN]
    for part in (topic.encode(), record_key, value, b"%d" % task, b"%d" % serial):
        parts += (b"-",) if part is None else (b"+%d:" % len(part), part)
    digest = hmac.digest(key, b"".join(parts), "sha256")
    return urlsafe_b64encode(digest[:MAC_BYTES]).rstrip(b"=")


def first_serial(opening: int) -> int:
    """Return the first serial of a task's opening."""
    return (opening << _OPENING_BITS) + 1


def format_header(task: int, serial: int, mac: bytes) -> bytes:
    return b"1;%d;%d;%s" % (task, serial, mac)


def parse_header(text: bytes) -> MacHeader | None:
    """Return the parts of a header's text, None if it has another form."""
    match = _FORM.fullmatch(text)
    return match and MacHeader(int(match[1]), int(match[2]), match[3])


def mac_header(headers: Headers | None) -> bytes | None:
    """Return the text of the first MAC among the headers of a record, None if it has none."""
    for name, value in headers or ():
        if name == HEADER:
            return value or b""
    return None
