"""Envelopes on the log: append one, wait for its verdict, make the reply (ASAP guide, 6.3)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from schemas.asap import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    Envelope,
    TaskResponse,
    TaskStatus,
    TaskUpdate,
    UpdateType,
    canonical_form,
    json_form,
    reply_to,
    rules,
    task_key,
    with_trace,
)
from streams.api import prefer
from streams.asap.faults import TASK_FAILED, RpcFault
from streams.asap.on_log import lookups
from streams.asap.on_log.host import Host
from streams.asap.on_log.lookups import EnvelopeVerdict
from streams.asap.stream import Hosted, Served
from streams.errors import InfrastructureError, InvalidInput, OutputTooLarge
from streams.views.values import Json

VERDICT_TIMEOUT = "asap:transport/verdict_timeout"
LOG_UNAVAILABLE = "asap:transport/log_unavailable"
TASK_TIMEOUT = "asap:execution/task_timeout"
CALL_TIMED_OUT = "MCP call timed out"
_CALLS = ("McpToolCall", "McpResourceFetch")
_ANSWERS = ("McpToolResult", "McpResourceData")
_QUESTIONS = ("StateQuery", "StateRestore")


class _EnvelopeRequest(NamedTuple):
    """One envelope and its request.  wait_s: for the result; None without `Prefer: wait`."""

    envelope: Envelope
    hosted: Hosted
    headers: Mapping[str, str]
    wait_s: int | None

    @property
    def kind(self) -> str:
        return self.envelope.canonical_type or ""

    @property
    def is_hosted(self) -> bool:
        """Return whether the recipient is the server's own agent and has a handler for it."""
        envelope, hosted = self.envelope, self.hosted
        return envelope.recipient == hosted.manifest.id and hosted.handles(envelope.payload_type)


class LogStream:
    """A `streams.asap.stream.Stream` on a host."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._verdict_s = host.settings.asap_verdict_timeout_ms / 1000

    async def serve(self, envelope: Envelope, hosted: Hosted, headers: Mapping[str, str]) -> Served:
        wait_s = prefer.wait_s(headers, self._host.settings.asap_max_wait_seconds)
        request = _EnvelopeRequest(with_trace(envelope), hosted, headers, wait_s)
        verdict = await self._append_and_decide(envelope, headers)
        reply = await self._reply(request, verdict)
        more = {
            "verdict": verdict.verdict,
            "task_id": verdict.task_id,
            "position": verdict.position,
        }
        waited = wait_s is not None and request.kind in ("TaskRequest", *_CALLS)
        return Served(reply, more, prefer.applied_header(wait_s or 0) if waited else {})

    async def _append_and_decide(
        self, envelope: Envelope, headers: Mapping[str, str]
    ) -> EnvelopeVerdict:
        """Append an envelope and return its verdict, accepted or duplicate.

        Raises RpcFault: row 12, and what 6.3 adds.
        """
        try:
            position = await self._host.append(json_form(envelope), headers)
        except InvalidInput as exc:
            rule, _, message = exc.problems[0]
            raise _rejection(message, rule, rules.ASAP_ERRORS.get(rule)) from exc
        except OutputTooLarge as exc:
            rule = rules.ENVELOPE_TOO_LARGE.code
            raise _rejection(exc.message, rule, rules.ASAP_ERRORS[rule]) from exc
        except InfrastructureError as exc:
            raise RpcFault(INTERNAL_ERROR, "log_unavailable", str(exc), LOG_UNAVAILABLE) from exc
        verdict = await self._host.find(
            lookups.verdict_row(position),
            lambda view: lookups.verdict(view, position),
            self._verdict_s,
        )
        if verdict is None:
            raise self._timeout_fault("verdict", position)
        if verdict.verdict == "rejected":
            detail = verdict.detail or verdict.rule
            raise _rejection(detail, verdict.rule, verdict.asap_error, position)
        return verdict

    async def _reply(self, request: _EnvelopeRequest, verdict: EnvelopeVerdict) -> Envelope:
        first = verdict.verdict == "accepted"
        if request.kind == "TaskRequest":
            if first and request.is_hosted:
                return await self._handle_task(request)
            return await self._task_reply(request, verdict)
        if request.kind in _QUESTIONS:
            return await self._state_answer(request, verdict)
        if request.kind in _CALLS:
            if first and request.is_hosted:
                return await self._handle(request)
            return await self._call_answer(request)
        if request.kind in _ANSWERS:
            return _envelope(canonical_form(request.envelope))
        return await self._status_update(request, verdict)

    async def _task_reply(self, request: _EnvelopeRequest, verdict: EnvelopeVerdict) -> Envelope:
        """Return the response, if there is one in time; else an update with the task's status."""
        task_id, first = verdict.task_id or request.envelope.id, verdict.verdict == "accepted"
        if not first:
            await self._host.settle(verdict.position, self._verdict_s)
        if request.wait_s is not None or not first:
            envelope = await self._host.find(
                lookups.response_row(task_id),
                lambda view: lookups.response(view, task_id),
                request.wait_s or 0,
            )
            if envelope is not None:
                return _envelope(envelope)
        if first and request.wait_s is None:
            return self._update(request, task_id, verdict.status or TaskStatus.SUBMITTED)
        return await self._status_update(request, verdict._replace(status=None))

    async def _status_update(self, request: _EnvelopeRequest, verdict: EnvelopeVerdict) -> Envelope:
        """Return an update with the status in the verdict, or else in the task's row."""
        task_id, status = verdict.task_id or task_key(request.envelope), verdict.status
        if status is None:
            row = lookups.task_row(task_id)
            status = await self._host.find(
                row, lambda view: lookups.status(view, task_id), self._verdict_s
            )
        if status is None:
            raise self._timeout_fault("task", verdict.position)
        return self._update(request, task_id, status)

    def _update(self, request: _EnvelopeRequest, task_id: str, status: str) -> Envelope:
        update = TaskUpdate(
            task_id=task_id, update_type=UpdateType.STATUS_CHANGE, status=TaskStatus(status)
        )
        made = reply_to(request.envelope, update, sender=request.hosted.manifest.id)
        now = datetime.fromtimestamp(self._host.now_ms() / 1000, UTC)
        return made.model_copy(update={"id": self._host.new_id(), "timestamp": now})

    async def _state_answer(self, request: _EnvelopeRequest, verdict: EnvelopeVerdict) -> Envelope:
        """Return the service's own answer to a StateQuery or StateRestore."""
        asker, envelope_id = request.envelope.sender, request.envelope.id
        envelope = await self._host.find(
            lookups.answer_row(asker, envelope_id),
            lambda view: lookups.answer(view, asker, envelope_id),
            self._verdict_s,
        )
        if envelope is None:
            raise self._timeout_fault("answer", verdict.position)
        return _envelope(envelope)

    async def _call_answer(self, request: _EnvelopeRequest) -> Envelope:
        call_key = task_key(request.envelope)
        settings = self._host.settings
        seconds = settings.asap_call_wait_seconds if request.wait_s is None else request.wait_s
        end = await self._host.find(
            lookups.call_row(call_key), lambda view: lookups.call_end(view, call_key), seconds
        )
        if end is None:
            message = f"The call {call_key} was not answered within {seconds} s; it stays open."
            raise _call_timeout(message, call_key, "open")
        if end["envelope"] is None:
            message = f"The call {call_key} has timed out: nobody answered it in its time."
            raise _call_timeout(message, call_key, "timed_out")
        return _envelope(end["envelope"])

    async def _handle(self, request: _EnvelopeRequest) -> Envelope:
        """Let the hosted agent handle the envelope, and append its reply to the log."""
        reply = await request.hosted.handle(request.envelope)
        agent = request.hosted.manifest.id
        if reply.sender != agent:
            message = f"The handler answered as {reply.sender}, not as {agent}"
            raise RpcFault(INTERNAL_ERROR, "handler_error", message, TASK_FAILED, type="Envelope")
        try:
            await self._append_and_decide(reply, request.headers)
        except RpcFault as exc:
            if exc.kind != "rejected":
                raise
            data = {"type": "Envelope", **exc.more}
            raise RpcFault(
                INTERNAL_ERROR, "handler_error", exc.error, exc.asap_error, **data
            ) from exc
        return reply

    async def _handle_task(self, request: _EnvelopeRequest) -> Envelope:
        try:
            return await self._handle(request)
        except RpcFault as exc:
            if exc.kind == "handler_error":
                await self._fail(request, exc)
            raise

    async def _fail(self, request: _EnvelopeRequest, fault: RpcFault) -> None:
        """Fail the task in the name of its worker, if it has not ended."""
        result = {"error": fault.error, "type": fault.more.get("type")}
        failed = TaskResponse(task_id=request.envelope.id, status=TaskStatus.FAILED, result=result)
        reply = reply_to(request.envelope, failed, sender=request.hosted.manifest.id)
        try:
            await self._append_and_decide(reply, request.headers)
        except RpcFault:
            return  # the task has ended, or its timer will end it

    def _timeout_fault(self, what: str, position: str) -> RpcFault:
        message = f"The {what} was not seen within {self._verdict_s:g} s."
        return RpcFault(
            INTERNAL_ERROR, "verdict_timeout", message, VERDICT_TIMEOUT, position=position
        )


def _call_timeout(message: str, call_key: str, state: str) -> RpcFault:
    """Return a fault that says what timed out; JSON-RPC has no code for that but -32603."""
    return RpcFault(
        INTERNAL_ERROR,
        "task_timeout",
        message,
        TASK_TIMEOUT,
        CALL_TIMED_OUT,
        call_key=call_key,
        state=state,
    )


def _rejection(
    message: str, rule: str, asap_error: str | None, position: str | None = None
) -> RpcFault:
    where = {} if position is None else {"position": position}
    return RpcFault(INVALID_PARAMS, "rejected", message, asap_error, rule=rule, **where)


def _envelope(form: Json) -> Envelope:
    return Envelope.model_validate(form)
