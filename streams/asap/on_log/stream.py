"""What comes of an envelope that is put on the log, as its sender is told (asap spec 6.3)."""

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
)
from streams.api import prefer
from streams.asap.faults import TASK_FAILED, RpcFault
from streams.asap.on_log import looks
from streams.asap.on_log.host import Host
from streams.asap.on_log.looks import Decided
from streams.asap.stream import Hosted, Served
from streams.errors import InfrastructureError, InvalidInput, OutputTooLarge
from streams.views.values import Json

VERDICT_TIMEOUT = "asap:transport/verdict_timeout"
LOG_UNAVAILABLE = "asap:transport/log_unavailable"
TASK_TIMEOUT = "asap:execution/task_timeout"
_CALLS = ("McpToolCall", "McpResourceFetch")
_ANSWERS = ("McpToolResult", "McpResourceData")
_QUESTIONS = ("StateQuery", "StateRestore")


class _Case(NamedTuple):
    """One envelope on its way.  wait_s: for what comes of it; None: nobody asked to wait."""

    envelope: Envelope
    hosted: Hosted
    headers: Mapping[str, str]
    wait_s: int | None

    @property
    def kind(self) -> str:
        return self.envelope.canonical_type or ""

    @property
    def is_hosted(self) -> bool:
        """Whether it is for the agent that the server speaks for, and there is a handler."""
        envelope, hosted = self.envelope, self.hosted
        return envelope.recipient == hosted.manifest.id and hosted.handles(envelope.payload_type)


class LogStream:
    """A `streams.asap.stream.Stream` on a host."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._verdict_s = host.settings.asap_verdict_timeout_ms / 1000

    async def serve(self, envelope: Envelope, hosted: Hosted, headers: Mapping[str, str]) -> Served:
        wait_s = prefer.wait_s(headers, self._host.settings.asap_max_wait_seconds)
        case = _Case(envelope, hosted, headers, wait_s)
        decided = await self._decided(envelope, headers)
        reply = await self._reply(case, decided)
        more = {
            "verdict": decided.verdict,
            "task_id": decided.task_id,
            "position": decided.position,
        }
        waited = wait_s is not None and case.kind in ("TaskRequest", *_CALLS)
        return Served(reply, more, prefer.applied(wait_s or 0) if waited else {})

    async def _decided(self, envelope: Envelope, headers: Mapping[str, str]) -> Decided:
        """Accepted or duplicate.  Raises Fault: row 12, and what 6.3 adds."""
        try:
            position = await self._host.append(json_form(envelope), headers)
        except InvalidInput as exc:
            rule, _, message = exc.problems[0]
            raise _rejected(message, rule, rules.ASAP_ERRORS.get(rule)) from exc
        except OutputTooLarge as exc:
            rule = rules.ENVELOPE_TOO_LARGE.code
            raise _rejected(exc.message, rule, rules.ASAP_ERRORS[rule]) from exc
        except InfrastructureError as exc:
            raise RpcFault(INTERNAL_ERROR, "log_unavailable", str(exc), LOG_UNAVAILABLE) from exc
        decided = await self._host.find(
            looks.verdict_row(position),
            lambda view: looks.verdict(view, position),
            self._verdict_s,
        )
        if decided is None:
            raise self._unseen("verdict", position)
        if decided.verdict == "rejected":
            detail = decided.detail or decided.rule
            raise _rejected(detail, decided.rule, decided.asap_error, position)
        return decided

    async def _reply(self, case: _Case, decided: Decided) -> Envelope:
        first = decided.verdict == "accepted"
        if case.kind == "TaskRequest":
            if first and case.is_hosted:
                return await self._task_handled(case)
            return await self._task(case, decided)
        if case.kind in _QUESTIONS:
            return await self._answer(case, decided)
        if case.kind in _CALLS:
            if first and case.is_hosted:
                return await self._handled(case)
            return await self._call_answer(case)
        if case.kind in _ANSWERS:
            return _envelope(canonical_form(case.envelope))
        return await self._standing(case, decided)

    async def _task(self, case: _Case, decided: Decided) -> Envelope:
        """The response, if it is there or comes in time; else how the task stands."""
        task_id, first = decided.task_id or case.envelope.id, decided.verdict == "accepted"
        if not first:
            await self._host.settle(decided.position, self._verdict_s)
        if case.wait_s is not None or not first:
            found = await self._host.find(
                looks.response_row(task_id),
                lambda view: looks.response(view, task_id),
                case.wait_s or 0,
            )
            if found is not None:
                return _envelope(found)
        if first and case.wait_s is None:
            return self._update(case, task_id, decided.status or TaskStatus.SUBMITTED)
        return await self._standing(case, decided._replace(status=None))

    async def _standing(self, case: _Case, decided: Decided) -> Envelope:
        """The status that the verdict tells, or the task's row."""
        task_id, status = decided.task_id or task_key(case.envelope), decided.status
        if status is None:
            row = looks.task_row(task_id)
            status = await self._host.find(
                row, lambda view: looks.status(view, task_id), self._verdict_s
            )
        if status is None:
            raise self._unseen("task", decided.position)
        return self._update(case, task_id, status)

    def _update(self, case: _Case, task_id: str, status: str) -> Envelope:
        update = TaskUpdate(
            task_id=task_id, update_type=UpdateType.STATUS_CHANGE, status=TaskStatus(status)
        )
        made = reply_to(case.envelope, update, sender=case.hosted.manifest.id)
        now = datetime.fromtimestamp(self._host.now_ms() / 1000, UTC)
        return made.model_copy(update={"id": self._host.new_id(), "timestamp": now})

    async def _answer(self, case: _Case, decided: Decided) -> Envelope:
        """The service's own envelope about a state."""
        asker, asked = case.envelope.sender, case.envelope.id
        found = await self._host.find(
            looks.answer_row(asker, asked),
            lambda view: looks.answer(view, asker, asked),
            self._verdict_s,
        )
        if found is None:
            raise self._unseen("answer", decided.position)
        return _envelope(found)

    async def _call_answer(self, case: _Case) -> Envelope:
        call_key = task_key(case.envelope)
        settings = self._host.settings
        seconds = settings.asap_call_wait_seconds if case.wait_s is None else case.wait_s
        end = await self._host.find(
            looks.call_row(call_key), lambda view: looks.call_end(view, call_key), seconds
        )
        if end is None or end["envelope"] is None:
            message = f"The call {call_key} was not answered within {seconds} s."
            if end is not None:
                message = f"The call {call_key} has timed out."
            raise RpcFault(INTERNAL_ERROR, "task_timeout", message, TASK_TIMEOUT)
        return _envelope(end["envelope"])

    async def _handled(self, case: _Case) -> Envelope:
        """The reply of the agent that is hosted, once the log has taken it."""
        reply = await case.hosted.handle(case.envelope)
        own = case.hosted.manifest.id
        if reply.sender != own:
            message = f"The handler answered as {reply.sender}, not as {own}"
            raise RpcFault(INTERNAL_ERROR, "handler_error", message, TASK_FAILED, type="Envelope")
        try:
            await self._decided(reply, case.headers)
        except RpcFault as exc:
            if exc.kind != "rejected":
                raise
            told = {"type": "Envelope", **exc.more}
            raise RpcFault(
                INTERNAL_ERROR, "handler_error", exc.error, exc.asap_error, **told
            ) from exc
        return reply

    async def _task_handled(self, case: _Case) -> Envelope:
        try:
            return await self._handled(case)
        except RpcFault as exc:
            if exc.kind == "handler_error":
                await self._fail(case, exc)
            raise

    async def _fail(self, case: _Case, fault: RpcFault) -> None:
        """End the task as its worker, if it can still be ended."""
        told = {"error": fault.error, "type": fault.more.get("type")}
        failed = TaskResponse(task_id=case.envelope.id, status=TaskStatus.FAILED, result=told)
        reply = reply_to(case.envelope, failed, sender=case.hosted.manifest.id)
        try:
            await self._decided(reply, case.headers)
        except RpcFault:
            return  # the task's timer ends it, or something has ended it already

    def _unseen(self, what: str, position: str) -> RpcFault:
        message = f"The {what} was not seen within {self._verdict_s:g} s."
        return RpcFault(
            INTERNAL_ERROR, "verdict_timeout", message, VERDICT_TIMEOUT, position=position
        )


def _rejected(
    message: str, rule: str, asap_error: str | None, position: str | None = None
) -> RpcFault:
    where = {} if position is None else {"position": position}
    return RpcFault(INVALID_PARAMS, "rejected", message, asap_error, rule=rule, **where)


def _envelope(form: Json) -> Envelope:
    return Envelope.model_validate(form)
