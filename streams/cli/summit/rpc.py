"""JSON-RPC from the command line: queries of a gateway, and its server over Kafka and a view."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from streams.cli import common, text
from streams.cli.summit.common import BAD_INPUT, PENDING, REJECTED, UNREACHABLE, fail, json_bytes
from streams.errors import ViewNotReady
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.cli.gateway_client import NoGateway
    from streams.engine.log import Log
    from streams.engine.records import Output
    from streams.view_store.view import View
    from streams.views.reads import ReadOnlyStore

T = TypeVar("T")
PATH = "/summit"
"""`streams.summit.rpc.PATH`, which is not imported where a gateway answers."""
_CAUGHT_UP = "/v1/summit/agents"
"""A route that waits for what was on the log when it was asked, which `POST /summit` cannot."""
Json = dict[str, Any]
Ask = Callable[[str, Json, Mapping[str, str]], Json]


class CommandHost:
    """A `streams.summit.rpc.Host` whose methods block: the command does nothing else."""

    def __init__(self, settings: Settings, log: Log, view: View) -> None:
        self._settings = settings
        self._log = log
        self._view = view

    @property
    def settings(self) -> Settings:
        return self._settings

    async def append(self, outputs: Sequence[Output]) -> list[str]:
        from streams.engine.records import position

        return [position(record) for record in self._log.append(outputs)]

    async def find(
        self, row: bytes, look: Callable[[ReadOnlyStore], T | None], seconds: float
    ) -> T | None:
        common.step_until(self._view, lambda: look(self._view) is not None, seconds)
        return look(self._view)

    async def read(self, look: Callable[[ReadOnlyStore], T], after: str | None = None) -> T:
        if after is not None:
            raise ViewNotReady("the command line takes --after for that")
        return look(self._view)


@contextmanager
def open_rpc(settings: Settings, after: str | None = None) -> Iterator[Ask]:
    """Yield a function from method, params and headers to the JSON-RPC response."""
    from streams.api.jsonrpc import build_request
    from streams.asap.blocking import run_without_loop
    from streams.summit.rpc import Server

    with common.open_log_and_view(settings, after) as (log, view):
        server = Server(CommandHost(settings, log, view))

        def ask(method: str, params: Json, headers: Mapping[str, str]) -> Json:
            request = build_request(method, params, "cli")
            response: Json = run_without_loop(server.answer(json_bytes(request), headers)).body
            return response

        yield ask


def result_of(ctx: click.Context, response: Json) -> Any:
    """Return the result; for an error, print it on stderr and exit with its code."""
    if "error" in response:
        error = response["error"]
        rule, message = error["data"]["rule"], error["message"]
        fail(ctx, message if rule in message else f"{rule}: {message}", _code(error))
    return response["result"]


def _code(error: Json) -> int:
    rule, data = error["data"]["rule"], error["data"]
    if rule == "run.pending":
        return PENDING
    if rule.startswith("service."):
        return UNREACHABLE
    is_refused = "position" in data or rule.endswith(".unknown")
    return REJECTED if is_refused else BAD_INPUT


def show_query(
    ctx: click.Context,
    method: str,
    after: str | None,
    render: Callable[[Any, text.Page], None] | None = None,
    **members: Any,
) -> Any:
    """Print and return the answer to a query, of a gateway or else of an own view.

    render: prints it for people; None: they get JSON too.
    members: params; those that are None are left out.
    """
    params = {name: value for name, value in members.items() if value is not None}
    answer = result_of(ctx, _query(method, params, after))
    text.show(answer, render or _show_json)
    return answer


def _query(method: str, params: Json, after: str | None) -> Any:
    """Return the JSON-RPC response to a query."""
    from streams.api.jsonrpc import build_request
    from streams.cli.gateway_client import NoGateway

    settings = Settings.load()
    response = common.ask_gateway(
        _CAUGHT_UP, common.query_of({"limit": 1, "after": after}), settings
    )
    if not isinstance(response, NoGateway):
        response = common.post_to_gateway(PATH, build_request(method, params, "cli"), settings)
    if isinstance(response, NoGateway):
        response = _query_log(method, params, after, response, settings)
    return response


def _query_log(
    method: str, params: Json, after: str | None, missing: NoGateway, settings: Settings
) -> Json:
    started_s = time.monotonic()
    with open_rpc(settings, after) as ask:
        common.echo(common.remark_of(missing, time.monotonic() - started_s), err=True)
        return ask(method, params, {})


def _show_json(answer: Any, page: text.Page) -> None:
    common.show_json(answer)
