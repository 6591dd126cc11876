"""The core of an ASAP server, without HTTP: from the body of a request to its answer.

The order of the checks is that of the table in asap spec 6.2.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from schemas.asap import (
    ERROR_MESSAGES,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Envelope,
    HandlerNotFoundError,
    MalformedEnvelopeError,
    Manifest,
    json_form,
    normalize_payload_type,
)
from streams.api.jsonrpc import UNKNOWN_ERROR, ErrorObject, build_error, build_result
from streams.asap.auth import Authenticator, TokenValidator
from streams.asap.faults import (
    HANDLER_NOT_FOUND,
    MALFORMED,
    PERMISSION_DENIED,
    TASK_FAILED,
    RpcFault,
    of_handler,
)
from streams.asap.jsonrpc import dumped
from streams.asap.metrics import ServerMetrics
from streams.asap.registry import HandlerRegistry
from streams.asap.replies import Replies
from streams.asap.request import correlation_of, envelope_of, id_of, params_of, parsed
from streams.asap.stream import Hosted, Served, Stream

UNKNOWN = "unknown"
"""The payload type of the metrics where it is none that ASAP or a handler knows."""

log = logging.getLogger(__name__)


class Reply(NamedTuple):
    """body: JSON.  headers: of HTTP, whose status is 200."""

    body: Any
    headers: Mapping[str, str]

    def text(self) -> bytes:
        return dumped(self.body)


@dataclass
class _Asked:
    """What is known of a request so far."""

    id: str | int | None = None
    correlation_id: str | None = None
    payload_type: str = UNKNOWN


class Server:
    """stream: decides envelopes; without one the handlers answer and nothing is kept.

    Raises ValueError when the manifest has auth and there is no validator.
    """

    def __init__(
        self,
        manifest: Manifest,
        registry: HandlerRegistry,
        validator: TokenValidator | None = None,
        stream: Stream | None = None,
    ) -> None:
        self.manifest = manifest
        self.metrics = ServerMetrics()
        self._registry = registry
        self._door = Authenticator(manifest, validator)
        self._stream = stream
        self._replies = Replies()
        self._hosted = Hosted(manifest, registry.has_handler, self._handled)

    def manifest_json(self) -> dict[str, Any]:
        return self.manifest.model_dump(mode="json")

    async def answer(self, body: bytes, headers: Mapping[str, str]) -> Reply:
        """headers: of the request."""
        asked, begun = _Asked(), time.perf_counter()
        try:
            reply, kind = await self._success(asked, body, headers), None
        except RpcFault as exc:
            reply, kind = _error(asked, exc), exc.kind
        except Exception as exc:
            log.exception("a request has failed")
            fault = RpcFault(INTERNAL_ERROR, "internal_error", f"A fault of the server: {exc}")
            reply, kind = _error(asked, fault), fault.kind
        self.metrics.answered(asked.payload_type, kind, time.perf_counter() - begun)
        return reply

    async def _success(self, asked: _Asked, body: bytes, headers: Mapping[str, str]) -> Reply:
        request = parsed(body)
        asked.id, asked.correlation_id = id_of(request), correlation_of(request)
        params = params_of(request)
        asked.payload_type = self._label(params.payload_type)
        given = {name.lower(): value for name, value in headers.items()}
        sender = await self._door.check(given)
        envelope, key = envelope_of(params)
        if sender is not None and sender != envelope.sender:
            raise _other_sender()
        self._check_payload(envelope)
        served = await self._served(envelope, key, given)
        result = {"envelope": json_form(served.reply), **served.more}
        return Reply(build_result(asked.id, result, id_last=True), served.headers)

    def _label(self, payload_type: str | None) -> str:
        """Only so many different ones: a label lives as long as the process."""
        if payload_type is None:
            return UNKNOWN
        own = self._registry.registered_as(payload_type)
        return normalize_payload_type(payload_type) or own or UNKNOWN

    def _check_payload(self, envelope: Envelope) -> None:
        """Rows 10 and 11."""
        name = envelope.payload_type
        taken = self._stream is not None and envelope.canonical_type is not None
        if not taken and not self._registry.has_handler(name):
            message = str(HandlerNotFoundError(name))
            raise RpcFault(
                METHOD_NOT_FOUND,
                "handler_not_found",
                message,
                HANDLER_NOT_FOUND,
                payload_type=name,
            )
        if envelope.canonical_type is None:
            return
        try:
            envelope.typed_payload()
        except MalformedEnvelopeError as exc:
            found = exc.details["validation_errors"]
            message = "Invalid payload"
            raise RpcFault(
                INVALID_PARAMS, "invalid_payload", message, MALFORMED, validation_errors=found
            ) from exc

    async def _served(
        self, envelope: Envelope, key: str | None, headers: Mapping[str, str]
    ) -> Served:
        if self._stream is None:
            reply = await self._replies.once(envelope, key, lambda: self._handled(envelope))
            return Served(reply, {}, {})
        if envelope.canonical_type is None:
            reply = await self._replies.once(envelope, key, lambda: self._handled(envelope))
            return Served(reply, {"verdict": None, "task_id": None, "position": None}, {})
        return await self._stream.serve(envelope, self._hosted, headers)

    async def _handled(self, envelope: Envelope) -> Envelope:
        """Rows 13 and 14."""
        try:
            reply: Any = await self._registry.dispatch_async(envelope, self.manifest)
            if isinstance(reply, Envelope):
                json_form(reply)  # it can be sent
                return reply
        except asyncio.CancelledError as exc:
            if _is_cancelled():
                raise
            raise of_handler(exc) from exc
        except Exception as exc:
            raise of_handler(exc) from exc
        name = type(reply).__name__
        message = f"The handler of {envelope.payload_type} returned no Envelope: {name}"
        raise RpcFault(INTERNAL_ERROR, "handler_error", message, TASK_FAILED, type=name)


def _is_cancelled() -> bool:
    """Whether it is this task that is to end, and not one that a handler waited for."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _other_sender() -> RpcFault:
    message = "Sender does not match authenticated identity"
    return RpcFault(INVALID_PARAMS, "sender_mismatch", message, PERMISSION_DENIED, status_code=403)


def _error(asked: _Asked, fault: RpcFault) -> Reply:
    message = ERROR_MESSAGES.get(fault.code, UNKNOWN_ERROR)
    error = ErrorObject(fault.code, message, fault.data(asked.correlation_id))
    return Reply(build_error(asked.id, error, id_last=True), {})
