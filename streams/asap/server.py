"""The core of an ASAP server, without HTTP: from the body of a request to its response.

The checks run in the order of the table in ASAP guide, 6.2.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from schemas.asap import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Envelope,
    HandlerNotFoundError,
    MalformedEnvelopeError,
    Manifest,
    json_form,
    normalize_payload_type,
    with_trace,
)
from streams.api.jsonrpc import ErrorObject, build_error, build_result
from streams.asap.auth import Authenticator, TokenValidator
from streams.asap.faults import (
    HANDLER_NOT_FOUND,
    MALFORMED,
    PERMISSION_DENIED,
    TASK_FAILED,
    ReadIds,
    RpcFault,
    handler_fault,
)
from streams.asap.jsonrpc import dump_json
from streams.asap.metrics import ServerMetrics
from streams.asap.registry import HandlerRegistry
from streams.asap.reply_cache import ReplyCache
from streams.asap.request import (
    envelope_from_params,
    params_from_request,
    parse_request,
    read_ids,
    read_request_id,
)
from streams.asap.stream import Hosted, Served, Stream

UNKNOWN = "unknown"
"""The metrics' payload type for a type that neither ASAP nor a handler knows."""

log = logging.getLogger(__name__)


class Reply(NamedTuple):
    """A JSON-RPC response.  headers: of HTTP, whose status is 200."""

    body: Any
    headers: Mapping[str, str]

    def text(self) -> bytes:
        return dump_json(self.body)


@dataclass
class _RequestState:
    """The members of a request that have been read."""

    id: str | int | None = None
    ids: ReadIds = field(default_factory=ReadIds)
    payload_type: str = UNKNOWN


class Server:
    """An ASAP server for one agent.

    stream: decides envelopes; without one the handlers answer and nothing is stored.
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
        self._authenticator = Authenticator(manifest, validator)
        self._stream = stream
        self._replies = ReplyCache()
        self._hosted = Hosted(manifest, registry.has_handler, self._run_handler)

    def manifest_json(self) -> dict[str, Any]:
        return self.manifest.model_dump(mode="json")

    async def answer(self, body: bytes, headers: Mapping[str, str]) -> Reply:
        """Return the response to the body of a request."""
        request, start = _RequestState(), time.perf_counter()
        try:
            reply, kind = await self._respond(request, body, headers), None
        except RpcFault as exc:
            reply, kind = _error(request, exc), exc.kind
        except Exception as exc:
            log.exception("a request has failed")
            fault = RpcFault(INTERNAL_ERROR, "internal_error", f"A fault of the server: {exc}")
            reply, kind = _error(request, fault), fault.kind
        self.metrics.observe_request(request.payload_type, kind, time.perf_counter() - start)
        return reply

    async def _respond(
        self, state: _RequestState, body: bytes, headers: Mapping[str, str]
    ) -> Reply:
        message = parse_request(body)
        state.id, state.ids = read_request_id(message), read_ids(message)
        params = params_from_request(message)
        state.payload_type = self._label(params.payload_type)
        lowered = {name.lower(): value for name, value in headers.items()}
        sender = await self._authenticator.check(lowered)
        envelope, key = envelope_from_params(params)
        if sender is not None and sender != envelope.sender:
            raise _other_sender()
        traced = with_trace(envelope)
        state.ids = ReadIds(envelope.correlation_id or envelope.id, traced.trace_id)
        self._check_payload(envelope)
        served = await self._serve(envelope, key, lowered)
        result = {"envelope": json_form(served.reply), **served.more}
        if traced is not envelope:
            result["filled"] = ["trace_id"]
        return Reply(build_result(state.id, result, id_last=True), served.headers)

    def _label(self, payload_type: str | None) -> str:
        """Return the metric label of a payload type; the set of labels must stay bounded."""
        if payload_type is None:
            return UNKNOWN
        registered = self._registry.registered_as(payload_type)
        return normalize_payload_type(payload_type) or registered or UNKNOWN

    def _check_payload(self, envelope: Envelope) -> None:
        """Check that the payload type has a handler, and the payload its form (rows 10 and 11)."""
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
            errors = exc.details["validation_errors"]
            message = "Invalid payload"
            raise RpcFault(
                INVALID_PARAMS, "invalid_payload", message, MALFORMED, validation_errors=errors
            ) from exc

    async def _serve(
        self, envelope: Envelope, key: str | None, headers: Mapping[str, str]
    ) -> Served:
        if self._stream is not None and envelope.canonical_type is not None:
            return await self._stream.serve(envelope, self._hosted, headers)
        traced = with_trace(envelope)
        reply = await self._replies.get_or_make(traced, key, lambda: self._run_handler(traced))
        if self._stream is None:
            return Served(reply, {}, {})
        return Served(reply, {"verdict": None, "task_id": None, "position": None}, {})

    async def _run_handler(self, envelope: Envelope) -> Envelope:
        """Run the handler and check that it returns an envelope (rows 13 and 14)."""
        try:
            reply: Any = await self._registry.dispatch_async(envelope, self.manifest)
            if isinstance(reply, Envelope):
                json_form(reply)  # raises if it cannot be sent
                return _correlated(reply, envelope)
        except asyncio.CancelledError as exc:
            if _is_cancelled():
                raise
            raise handler_fault(exc) from exc
        except Exception as exc:
            raise handler_fault(exc) from exc
        name = type(reply).__name__
        message = f"The handler of {envelope.payload_type} returned no Envelope: {name}"
        raise RpcFault(INTERNAL_ERROR, "handler_error", message, TASK_FAILED, type=name)


def _correlated(reply: Envelope, envelope: Envelope) -> Envelope:
    """Return a handler's reply with the ids that it left out."""
    left_out = {
        name: id
        for name, id in (("correlation_id", envelope.id), ("trace_id", envelope.trace_id))
        if getattr(reply, name) is None
    }
    return reply.model_copy(update=left_out) if left_out else reply


def _is_cancelled() -> bool:
    """Return whether the current task is being cancelled, not one that a handler waited for."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _other_sender() -> RpcFault:
    message = "Sender does not match authenticated identity"
    return RpcFault(INVALID_PARAMS, "sender_mismatch", message, PERMISSION_DENIED, status_code=403)


def _error(request: _RequestState, fault: RpcFault) -> Reply:
    error = ErrorObject(fault.code, fault.message, fault.data(request.ids))
    return Reply(build_error(request.id, error, id_last=True), {})
