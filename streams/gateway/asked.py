"""What a request is known by, in the log and to whoever sent it: correlation ids.

`X-Request-Id` is the client's own if it has the form of an id, else one that is made here; every
answer bears it.  `traceparent` (W3C Trace Context) goes on into the records.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import NamedTuple

from streams.engine.headers import TRACEPARENT
from streams.engine.records import Record, position
from streams.routes.produce import trace_of
from streams.telemetry.logs import masked

HEADER = b"x-request-id"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/+=-]{0,127}")


class Asked(NamedTuple):
    """ids: as fields of a log line.  positions: of the records that the request has produced.

    headers: of the answer, whatever it will be; what the request is about, once that is known.
    """

    ids: dict[str, str]
    positions: list[str]
    headers: dict[str, str]

    @property
    def request_id(self) -> str:
        return self.ids["request_id"]


ASKED: ContextVar[Asked | None] = ContextVar("asked", default=None)
"""The request that is being answered."""


def asking(headers: Iterable[tuple[bytes, bytes]]) -> Asked:
    """headers: of the request, names in lower case."""
    given = dict(headers)
    wanted = given.get(HEADER, b"").decode("latin-1")
    ids = {"request_id": wanted if _is_id(wanted) else str(uuid.uuid4())}
    if TRACEPARENT.encode() in given:
        traced = trace_of({TRACEPARENT: given[TRACEPARENT.encode()].decode("latin-1")})
        ids |= {name: value.decode() for name, value in traced}
    return Asked(ids, [], {})


def _is_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None and masked(text) == text


def produced(records: Sequence[Record]) -> None:
    """The request being answered, if there is one, has put these on the log."""
    asked = ASKED.get()
    if asked is not None:
        asked.positions.extend(map(position, records))


def about(headers: Mapping[str, str]) -> None:
    """The answer to the request being answered, if there is one, bears these: a failure, too."""
    asked = ASKED.get()
    if asked is not None:
        asked.headers.update(headers)
