"""Functions that commands share: access to the log, a view, and printing."""

from __future__ import annotations

import json
import re
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

import click

from streams.cli import numbers
from streams.errors import StateLocked, UsageError
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.cli.gateway_client import NoGateway
    from streams.engine.kafka import KafkaLog
    from streams.engine.log import Log
    from streams.view_store.view import View

CATCH_UP_S = 30.0
STEP_S = 0.2


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def show_json(value: Any) -> None:
    """Print JSON indented by 2."""
    echo_block(json_text(value))


def write_json(value: Any, path: Path) -> None:
    """Write the text that `show_json` prints to a file too, and say so on stderr."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json_text(value) + "\n", encoding="utf-8")
    echo(f"wrote {path}", err=True)


def read_value(path: Path, not_json: str = "json_invalid") -> Any:
    """Return the JSON value in a file, or the YAML value if the file's suffix is .yaml or .yml.

    not_json: the rule that is broken by a text that cannot be parsed.
    Raises InvalidInput for such a text, and for YAML that is not a JSON value.
    """
    from schemas import Problem, ShapeError, parse_ijson
    from streams.errors import InvalidInput

    text = path.read_bytes()
    try:
        return parse_ijson(_from_yaml(text) if path.suffix in (".yaml", ".yml") else text)
    except ShapeError as exc:
        raise InvalidInput([exc.problem._replace(rule=not_json)]) from exc
    except ValueError as exc:
        raise InvalidInput([Problem(not_json, "", str(exc))]) from exc


_MAX_YAML_BYTES = 1 << 26


def _from_yaml(body: bytes) -> str:
    """Return the JSON text of YAML 1.2, in which times are text.  Raises ValueError."""
    from schemas.yaml_reader import NotYaml, read_yaml

    try:
        return json.dumps(read_yaml(body, _MAX_YAML_BYTES), ensure_ascii=False)
    except NotYaml as exc:
        raise ValueError(f"not YAML that JSON can say: the text {exc}") from exc
    except RecursionError as exc:
        raise ValueError("not YAML that JSON can say: the text nests too deeply") from exc


def json_text(value: Any) -> str:
    return _escape_json(json.dumps(value, indent=2, ensure_ascii=False))


def json_line(value: Any) -> str:
    return _escape_json(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _escape_json(text: str) -> str:
    """Return the same JSON with all control characters escaped; JSON itself escapes C0 only.

    Numbers below 1 lose their exponents.
    """
    text = numbers.without_exponents(text)
    if text.isascii() and "\x7f" not in text:
        return text
    return _NOT_IN_JSON.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


LINES = "\n\t"
"""What `printable` keeps in texts of several lines."""
_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters, line separators, and characters that change the direction of text."""
_NOT_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Those of them that JSON leaves as they are."""


def printable(text: str, keep: str = "") -> str:
    """Return a text that came from outside with its control characters escaped, as `\\x1b`.

    So it cannot move the cursor, change the terminal's settings, or reorder what stands beside it.
    keep: characters that the layout allows.
    """

    def escaped(match: re.Match[str]) -> str:
        character = match.group()
        if character in keep:
            return character
        code = ord(character)
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"

    return _UNPRINTABLE.sub(escaped, text)


def echo(line: object = "", *, err: bool = False) -> None:
    """Print one line that may contain what others sent, its control characters escaped.

    These include line breaks: what others sent cannot look like a further line of ours.
    """
    click.echo(printable(str(line)), err=err)


def echo_block(text: str, *, err: bool = False) -> None:
    """Print a text of several lines whose line breaks are ours, or belong to one value."""
    click.echo(printable(text, LINES), err=err)


def show_members(members: Mapping[str, Any], indent: int = 0) -> None:
    """Print one member per line; values that are not strings are printed as compact JSON."""
    width = max((len(printable(name)) for name in members), default=0)
    for name, value in members.items():
        echo(f"{'':{indent}}{printable(name):<{width}}  {_render(value)}")


def _render(value: Any) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else json_line(value)


def show_table(titles: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    """Print aligned columns of text."""
    cells = [titles, *[tuple(printable(str(cell)) for cell in row) for row in rows]]
    widths = [max(len(row[n]) for row in cells) for n in range(len(titles))]
    for row in cells:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(padded).rstrip())


@contextmanager
def connect(settings: Settings) -> Iterator[KafkaLog]:
    """Connect to the log.  Raises BrokerUnavailable when no broker answers."""
    from streams.log.connecting import connect
    from streams.registry.binding import COMMAND_S, use_registry

    log = connect(settings)
    try:
        with use_registry(settings, COMMAND_S):
            yield log
    finally:
        log.close()


@contextmanager
def open_view(log: Log, settings: Settings) -> Iterator[View]:
    """Open a view and read it up to the end offsets of all topics.

    It is stored in the state directory; while another process uses that one, a temporary directory
    is used instead.  It follows the transparency log too, if the settings name a policy.
    """
    from streams.engine.store import DirectoryLock, limit_block_cache
    from streams.view_store.transparency import followed_log
    from streams.view_store.view import View, checks_of

    followed, aside = followed_log(settings), settings.view_set_aside
    limit_block_cache(settings.block_cache_mib << 20)
    with tempfile.TemporaryDirectory(prefix="headrace-view-") as folder:
        directory = settings.state_dir / "view"
        lock: DirectoryLock | None = None
        try:
            lock = DirectoryLock(directory)
        except StateLocked:
            directory = Path(folder)
        try:
            path, prefix, macs = directory / "rows", settings.prefix, checks_of(settings)
            with View(log, path, prefix, set_aside=aside, transparency=followed, macs=macs) as view:
                view.catch_up(CATCH_UP_S)
                yield view
        finally:
            if lock is not None:
                lock.release()


@contextmanager
def open_log_and_view(
    settings: Settings, after: str | None = None
) -> Iterator[tuple[KafkaLog, View]]:
    """Open the log, and a view that is caught up and has seen the verdict on the record at `after`.

    Raises QueryError for an impossible position, ViewBehind when the verdict is not seen in time.
    """
    from streams.routes.handle import WAIT_S
    from streams.routes.table import check_after
    from streams.views.parse import parse_position

    with connect(settings) as log, open_view(log, settings) as view:
        if after is not None:
            position = parse_position(after)
            partitions = {topic.name: topic.partitions for topic in log.topics().values()}
            check_after(position, settings.prefix, partitions)
            view.wait(position, WAIT_S)
        yield log, view


def step_until(view: View, is_met: Callable[[], bool], limit_s: float) -> bool:
    """Let a view follow the log until a condition is met, and return whether it was met in time.

    Once it is met, the view is caught up with all topics.
    """
    deadline = time.monotonic() + limit_s
    while not is_met():
        if time.monotonic() >= deadline:
            return False
        view.step(STEP_S)
    view.catch_up(CATCH_UP_S)
    return True


def ask(path: str, query: str, settings: Settings) -> Any:
    """Return the response body of a read route, from a gateway or else from an own view.

    Raises the error of a problem: 404 is a negative answer, 422 wrong usage, 504 infrastructure;
    GatewayUnavailable when the gateway that the user named does not answer.
    """
    from streams.cli.gateway_client import NoGateway

    body = ask_gateway(path, query, settings)
    return _ask_log(path, query, settings, body) if isinstance(body, NoGateway) else body


def ask_gateway(path: str, query: str, settings: Settings) -> Any | NoGateway:
    """Return the response body of a read route, if a gateway can be asked; errors as in `ask`."""
    from streams.cli import gateway_client

    answer = gateway_client.ask(path, _with_fresh(query), settings)
    return (
        answer
        if isinstance(answer, gateway_client.NoGateway)
        else _body_of(answer.status, answer.body)
    )


def post_to_gateway(path: str, value: Any, settings: Settings) -> Any | NoGateway:
    """Return the response body to a query that is a POST request; errors as in `ask`."""
    from streams.cli import gateway_client

    answer = gateway_client.ask(path, "", settings, value)
    return (
        answer
        if isinstance(answer, gateway_client.NoGateway)
        else _body_of(answer.status, answer.body)
    )


def _ask_log(path: str, query: str, settings: Settings, missing: NoGateway) -> Any:
    """Return the response body of a read route over an own view."""
    from streams.routes.handle import Routes

    started_s = time.monotonic()
    with connect(settings) as log, open_view(log, settings) as view:
        echo(remark_of(missing, time.monotonic() - started_s), err=True)
        answer = Routes(view, log, settings, now_ms).handle("GET", path, query)
    return _body_of(answer.status, answer.body)


def remark_of(missing: NoGateway, elapsed_s: float) -> str:
    """Return what is said on stderr when the log is read instead of asking a gateway."""
    why = f" could be asked ({missing.reason})" if missing.reason else ""
    return f"no gateway{why}: read the log in {elapsed_s:.1f} s"


def _body_of(status: int, body: Any) -> Any:
    if status != 200:
        raise error_of_problem(status, body)
    return body


def _with_fresh(query: str) -> str:
    """Add `fresh=true` to a query, unless it is about the past or says so itself."""
    names = {name for name, _ in parse_qsl(query, keep_blank_values=True)}
    if names & {"as_of", "fresh"}:
        return query
    return f"{query}&fresh=true" if query else "fresh=true"


def query_of(params: Mapping[str, Any]) -> str:
    """Return the query string of these parameters; those that are None are left out."""
    texts = {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in params.items()
        if value is not None
    }
    return urlencode(texts)


def error_of_problem(status: int, body: Any) -> Exception:
    """Return the exception for a problem (RFC 9457)."""
    from streams.errors import (
        Conflict,
        Forbidden,
        Gone,
        InfrastructureError,
        NotFound,
        Unauthenticated,
    )

    detail = f"{body['path']}: {body['detail']}" if "path" in body else body["detail"]
    match status:
        case 401:
            return Unauthenticated(detail, body["rule"])
        case 403:
            return Forbidden(detail, body["rule"])
        case 404:
            known = body["rule"] != "path_unknown"
            return NotFound(detail, body["rule"]) if known else UsageError(detail)
        case 409:
            return Conflict(detail, body["rule"])
        case 410:
            return Gone(detail, body["rule"])
        case 405 | 422:
            return UsageError(detail)
        case _:
            return InfrastructureError(detail)


@contextmanager
def interrupts() -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C and SIGTERM set, instead of interrupting the work."""
    event = threading.Event()
    previous_handlers = [
        (number, signal.signal(number, lambda *_: event.set()))
        for number in (signal.SIGINT, signal.SIGTERM)
    ]
    try:
        yield event
    finally:
        for number, handler in previous_handlers:
            signal.signal(number, handler)


def read_options(function: Any) -> Any:
    """Add `--after POSITION`, and the choice of the gateway that is asked."""
    from streams.cli import gateway_client

    return after_option(gateway_client.options(function))


def after_option(function: Any) -> Any:
    """Add `--after POSITION`: read your own write."""
    return click.option(
        "--after",
        metavar="POSITION",
        help="First wait for the verdict on the record at topic/partition/offset.",
    )(function)


def as_of_option(function: Any) -> Any:
    """Add `--as-of POINT`: show an item as of an earlier time."""
    return click.option(
        "--as-of",
        metavar="POINT",
        help="Show the state at a position (topic/partition/offset) or a time (ISO 8601).",
    )(function)


def out_option(function: Any) -> Any:
    """Add `--out FILE`: write the answer to a file too."""
    return click.option(
        "--out",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Also write the JSON to this file.",
    )(function)
