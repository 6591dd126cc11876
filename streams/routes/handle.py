"""The table over one view and one log, one request after the other: for `query` and `play`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from streams.api import prefer
from streams.api.problems import Response, failed, no_route, unanswered
from streams.api.route import Call, Order, Produce, Put, Query, Refused, Verdicts, Wait
from streams.engine.log import Log
from streams.engine.records import Output, Record, position
from streams.errors import HeadraceError
from streams.routes.past import looking_back
from streams.routes.produce import accepted, placed, sending_of, trace_of
from streams.routes.table import Asked, NoRoute, asked, check_after, find
from streams.settings import Settings
from streams.view_store.view import View
from streams.views.params import parse_position

Append = Callable[[Sequence[Output]], Sequence[Record]]
WAIT_S = 10.0
"""How long `?after=` waits."""


@dataclass(frozen=True)
class Routes:
    """clock: ms since the epoch.  wait_s: the bound of `?after=`.

    append: how records get on the log (default: the log's own append).
    rest: lets whoever judges them do so before an answer that is waited for.
    """

    view: View
    log: Log
    settings: Settings
    clock: Callable[[], int]
    wait_s: float = WAIT_S
    append: Append | None = field(default=None)
    rest: Callable[[], object] = field(default=lambda: None)

    def handle(
        self,
        method: str,
        path: str,
        query: str = "",
        headers: Mapping[str, str] | None = None,
        body: Any = None,
    ) -> Response:
        """path and query as in the request line, percent-encoded; body is JSON text or a value."""
        try:
            return self._answer(asked(*find(method, path), query), headers or {}, body)
        except NoRoute as exc:
            return no_route(str(exc), exc.allowed)
        except Refused as exc:
            return exc.response
        except HeadraceError as exc:
            return failed(exc)

    def _answer(self, asked: Asked, headers: Mapping[str, str], body: Any) -> Response:
        action = asked.route.action
        if isinstance(action, Produce):
            return self._produce(action, asked, headers, body)
        if asked.after is not None:
            there = {topic.name: topic.partitions for topic in self.log.topics().values()}
            check_after(asked.after, self.settings.prefix, there)
            self.view.wait(asked.after, self.wait_s)
        call = Call(self.view, self.settings, self.clock(), asked.ids, asked.params, body)
        if isinstance(action, Order):
            return self._order(action, call, headers)
        if isinstance(action, Put):
            done = placed(self._put(action.command(call), headers), action.wait is not None)
            return done if action.wait is None else self._verdicts(action.wait, headers, done)
        call = looking_back(call, asked, self.log)
        found = action.answer(call)
        more = action.headers(found) if isinstance(action, Query) and action.headers else {}
        return Response(200, found, more)

    def _produce(
        self, action: Produce, asked: Asked, headers: Mapping[str, str], body: Any
    ) -> Response:
        sending = sending_of(action, body, headers, self.clock(), self.settings)
        done = accepted((self.append or self.log.append)(sending.outputs), action.terms)
        if isinstance(action.wait, Verdicts):
            done = self._verdicts(action.wait, headers, done)
        elif action.wait is not None and sending.single:
            call = Call(self.view, self.settings, self.clock(), asked.ids, asked.params)
            done = self._awaited(action.wait, call, sending.values[0], headers, done)
        return done._replace(headers={**done.headers, **sending.headers})

    def _awaited(
        self, wait: Wait, call: Call, value: Any, headers: Mapping[str, str], sent: Response
    ) -> Response:
        """What is there once all is at rest, as nothing else will come."""
        seconds = prefer.wait_s(headers, wait.most_s(self.settings))
        if seconds is None:
            return sent
        self.rest()
        cause = sent.body["positions"][0]
        try:
            self.view.wait(parse_position(cause), min(seconds, self.wait_s))
            found = wait.answer(call, value, cause)
        except HeadraceError:
            found = None
        found = found or Response(202, {**sent.body, **wait.late(self.view, value)})
        return found._replace(headers={**found.headers, **prefer.applied(seconds)})

    def _verdicts(self, wait: Verdicts, headers: Mapping[str, str], sent: Response) -> Response:
        seconds = prefer.wait_s(headers, wait.most_s(self.settings))
        if seconds is None:
            return sent
        self.rest()
        try:
            for cause in sent.body["positions"]:
                self.view.wait(parse_position(cause), min(seconds, self.wait_s))
            found = wait.answer(self.view, sent)
        except HeadraceError:
            found = sent
        return found._replace(headers={**found.headers, **prefer.applied(seconds)})

    def _order(self, order: Order, call: Call, headers: Mapping[str, str]) -> Response:
        output = order.command(call)
        cause = position(self._put(output, headers))
        try:
            self.view.wait(parse_position(cause), self.wait_s)
            return order.answer(call, output, cause)
        except HeadraceError as exc:
            return unanswered(exc, cause)

    def _put(self, output: Output, headers: Mapping[str, str]) -> Record:
        traced = output._replace(headers=[*output.headers, *trace_of(headers)])
        (record,) = (self.append or self.log.append)([traced])
        return record
