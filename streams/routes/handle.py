"""A synchronous router over one view and one log, for `query` and `play`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from streams.api import prefer
from streams.api.problems import Response, error_response, no_route, outcome_unknown
from streams.api.route import (
    AwaitOutcome,
    AwaitVerdicts,
    Call,
    Produce,
    Query,
    Refused,
    ReplaceCommand,
    SyncCommand,
)
from streams.engine.log import Log
from streams.engine.records import Output, Record, position
from streams.errors import HeadraceError
from streams.routes.own_process import state_of_own_view
from streams.routes.past import as_of_call
from streams.routes.produce import accepted, command_response, notes_of, sending_of, trace_of
from streams.routes.table import MatchedRoute, NoRoute, check_after, find, match_request
from streams.settings import Settings
from streams.view_store.view import View
from streams.views.parse import parse_position

Append = Callable[[Sequence[Output]], Sequence[Record]]
WAIT_S = 10.0
"""The default limit of `?after=`, in seconds."""


@dataclass(frozen=True)
class Routes:
    """The routes over one view and one log.

    clock: returns ms since the epoch.  wait_s: the limit of `?after=`.
    append: appends records (default: the log's own append).
    run_until_idle: runs the processors until idle, before a response that is waited for.
    """

    view: View
    log: Log
    settings: Settings
    clock: Callable[[], int]
    wait_s: float = WAIT_S
    append: Append | None = field(default=None)
    run_until_idle: Callable[[], object] = field(default=lambda: None)

    def handle(
        self,
        method: str,
        path: str,
        query: str = "",
        headers: Mapping[str, str] | None = None,
        body: Any = None,
    ) -> Response:
        """Handle one request.

        path and query are percent-encoded as in the request line; body is JSON text or a value.
        """
        try:
            return self._answer(match_request(*find(method, path), query), headers or {}, body)
        except NoRoute as exc:
            return no_route(str(exc), exc.allowed)
        except Refused as exc:
            return exc.response
        except HeadraceError as exc:
            return error_response(exc)

    def _answer(self, matched: MatchedRoute, headers: Mapping[str, str], body: Any) -> Response:
        action = matched.route.action
        if isinstance(action, Produce):
            return self._produce(action, matched, headers, body)
        if matched.after is not None:
            partitions = {topic.name: topic.partitions for topic in self.log.topics().values()}
            check_after(matched.after, self.settings.prefix, partitions)
            self.view.wait(matched.after, self.wait_s)
        if matched.fresh:
            self.view.catch_up(self.wait_s)
        call = Call(
            self.view,
            self.settings,
            self.clock(),
            matched.ids,
            matched.params,
            body,
            log=self.log,
            process=state_of_own_view(self.view, self.log, self.settings.prefix, self.clock),
        )
        if isinstance(action, SyncCommand):
            return self._run_order(action, call, headers)
        if isinstance(action, ReplaceCommand):
            response = command_response(
                self._append_one(action.command(call), headers), action.wait is not None
            )
            return (
                response
                if action.wait is None
                else self._await_verdicts(action.wait, headers, response)
            )
        call = as_of_call(call, matched, self.log)
        content = action.answer(call)
        extra_headers = (
            action.headers(content) if isinstance(action, Query) and action.headers else {}
        )
        return Response(200, content, extra_headers)

    def _produce(
        self, action: Produce, matched: MatchedRoute, headers: Mapping[str, str], body: Any
    ) -> Response:
        now, params = self.clock(), matched.params
        sending = sending_of(action, body, headers, now, self.settings, params=params)
        written = (self.append or self.log.append)(sending.outputs)
        response = accepted(written, action.terms, notes_of(action, sending, self.settings))
        if isinstance(action.wait, AwaitVerdicts):
            response = self._await_verdicts(action.wait, headers, response)
        elif action.wait is not None and sending.single:
            call = Call(self.view, self.settings, self.clock(), matched.ids, matched.params)
            response = self._await_outcome(action.wait, call, sending.values[0], headers, response)
        return response._replace(headers={**response.headers, **sending.headers})

    def _await_outcome(
        self, wait: AwaitOutcome, call: Call, value: Any, headers: Mapping[str, str], sent: Response
    ) -> Response:
        """Return the outcome that exists once all processors are idle: no other will come."""
        seconds = prefer.wait_s(headers, wait.most_s(self.settings))
        if seconds is None:
            return sent
        self.run_until_idle()
        cause = sent.body["positions"][0]
        try:
            self.view.wait(parse_position(cause), min(seconds, self.wait_s))
            response = wait.answer(call, value, cause)
        except HeadraceError:
            response = None
        response = response or Response(
            202, {**sent.body, **wait.pending_members(self.view, value)}
        )
        return response._replace(headers={**response.headers, **prefer.applied_header(seconds)})

    def _await_verdicts(
        self, wait: AwaitVerdicts, headers: Mapping[str, str], sent: Response
    ) -> Response:
        seconds = prefer.wait_s(headers, wait.most_s(self.settings))
        if seconds is None:
            return sent
        self.run_until_idle()
        try:
            for cause in sent.body["positions"]:
                self.view.wait(parse_position(cause), min(seconds, self.wait_s))
            response = wait.answer(self.view, sent)
        except HeadraceError:
            response = sent
        return response._replace(headers={**response.headers, **prefer.applied_header(seconds)})

    def _run_order(self, order: SyncCommand, call: Call, headers: Mapping[str, str]) -> Response:
        output = order.command(call)
        cause = position(self._append_one(output, headers))
        try:
            self.view.wait(parse_position(cause), self.wait_s)
            return order.answer(call, output, cause)
        except HeadraceError as exc:
            return outcome_unknown(exc, cause)

    def _append_one(self, output: Output, headers: Mapping[str, str]) -> Record:
        traced = output._replace(headers=[*output.headers, *trace_of(headers)])
        (record,) = (self.append or self.log.append)([traced])
        return record
