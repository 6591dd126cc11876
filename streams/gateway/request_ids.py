"""Correlation ids of a request: X-Request-Id and traceparent.

The gateway takes the client's `X-Request-Id` if it has the form of an id, and makes one
otherwise; every response carries it.  `traceparent` (W3C Trace Context) is copied to the records.
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


class RequestIds(NamedTuple):
    """The ids of one request, and what its handler adds for the response and the access log.

    ids: fields of a log line.  positions: positions of the records that the request has produced.
    headers: headers that the response gets whatever its status, such as the correlation id.
    """

    ids: dict[str, str]
    positions: list[str]
    headers: dict[str, str]

    @property
    def request_id(self) -> str:
        return self.ids["request_id"]


REQUEST_IDS: ContextVar[RequestIds | None] = ContextVar("asked", default=None)
"""The ids of the request that is being answered."""


def read_request_ids(headers: Iterable[tuple[bytes, bytes]]) -> RequestIds:
    """Return the ids in the request's headers, whose names are in lower case."""
    by_name = dict(headers)
    request_id = by_name.get(HEADER, b"").decode("latin-1")
    ids = {"request_id": request_id if _is_id(request_id) else str(uuid.uuid4())}
    if TRACEPARENT.encode() in by_name:
        traced = trace_of({TRACEPARENT: by_name[TRACEPARENT.encode()].decode("latin-1")})
        ids |= {name: value.decode() for name, value in traced}
    return RequestIds(ids, [], {})


def _is_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None and masked(text) == text


def add_positions(records: Sequence[Record]) -> None:
    """Add the positions of produced records to the current request, if there is one."""
    request = REQUEST_IDS.get()
    if request is not None:
        request.positions.extend(map(position, records))


def set_response_headers(headers: Mapping[str, str]) -> None:
    """Add headers to the response of the current request, if there is one, also if it fails."""
    request = REQUEST_IDS.get()
    if request is not None:
        request.headers.update(headers)
