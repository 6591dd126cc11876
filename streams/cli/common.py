"""What commands share: the log they talk to, the view they ask, how they print."""

from __future__ import annotations

import json
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from streams.errors import StateLocked, UsageError
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.engine.kafka import KafkaLog
    from streams.engine.log import Log
    from streams.view_store.view import View

CATCH_UP_S = 30.0
STEP_S = 0.2


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def show_json(value: Any, out: Path | None = None) -> None:
    """Indented by 2, on stdout; the same text to `out` too, which is told on stderr."""
    text = json_text(value)
    click.echo(text)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text + "\n", encoding="utf-8")
        click.echo(f"wrote {out}", err=True)


def read_value(path: Path, not_json: str = "json_invalid") -> Any:
    """The JSON value in a file; in YAML if its name says so.

    not_json: the rule that text breaks which is neither.

    Raises InvalidInput when it is neither, or is no JSON value.
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
    return json.dumps(value, indent=2, ensure_ascii=False)


def json_line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def show_members(members: Mapping[str, Any], indent: int = 0) -> None:
    """One on each line; what is no text as compact JSON."""
    width = max(map(len, members), default=0)
    for name, value in members.items():
        click.echo(f"{'':{indent}}{name:<{width}}  {_shown(value)}")


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else json_line(value)


def show_table(titles: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    """Columns of text, as wide as they must be."""
    cells = [titles, *[tuple(str(cell) for cell in row) for row in rows]]
    widths = [max(len(row[n]) for row in cells) for n in range(len(titles))]
    for row in cells:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(padded).rstrip())


@contextmanager
def connect(settings: Settings) -> Iterator[KafkaLog]:
    """The log.  Raises BrokerUnavailable when no broker answers."""
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
    """A view at the ends that the topics have now.

    It is kept under the state directory; while another process has that one, it is a private
    temporary one.
    """
    from streams.engine.store import DirectoryLock, limit_block_cache
    from streams.view_store.view import View

    limit_block_cache(settings.block_cache_mib << 20)
    with tempfile.TemporaryDirectory(prefix="headrace-view-") as folder:
        kept = settings.state_dir / "view"
        lock: DirectoryLock | None = None
        try:
            lock = DirectoryLock(kept)
        except StateLocked:
            kept = Path(folder)
        try:
            with View(log, kept / "rows", settings.prefix) as view:
                view.catch_up(CATCH_UP_S)
                yield view
        finally:
            if lock is not None:
                lock.release()


@contextmanager
def looking(settings: Settings, after: str | None = None) -> Iterator[tuple[KafkaLog, View]]:
    """The log, and a view that has seen all of it, and what was decided about that position.

    Raises QueryError for a position that cannot be, ViewBehind when that is not seen in time.
    """
    from streams.routes.handle import WAIT_S
    from streams.routes.table import check_after
    from streams.views.parse import parse_position

    with connect(settings) as log, open_view(log, settings) as view:
        if after is not None:
            wanted = parse_position(after)
            there = {topic.name: topic.partitions for topic in log.topics().values()}
            check_after(wanted, settings.prefix, there)
            view.wait(wanted, WAIT_S)
        yield log, view


def step_until(view: View, there: Callable[[], bool], most_s: float) -> bool:
    """Let a view follow the log until something, and all beside it, is there; False when time is
    up."""
    deadline = time.monotonic() + most_s
    while not there():
        if time.monotonic() >= deadline:
            return False
        view.step(STEP_S)
    view.catch_up(CATCH_UP_S)
    return True


def ask(path: str, query: str, settings: Settings) -> Any:
    """The answer of a read route.

    Raises what the problem says: 404 is a negative answer, 422 wrong usage, 504 infrastructure.
    """
    from streams.routes.handle import Routes

    with connect(settings) as log, open_view(log, settings) as view:
        answer = Routes(view, log, settings, now_ms).handle("GET", path, query)
    if answer.status != 200:
        raise refused(answer.status, answer.body)
    return answer.body


def refused(status: int, body: Any) -> Exception:
    """What a problem (RFC 9457) says."""
    from streams.errors import Conflict, Gone, InfrastructureError, NotFound

    detail = f"{body['path']}: {body['detail']}" if "path" in body else body["detail"]
    match status:
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
    """Inside, Ctrl-C and SIGTERM only set the event, so that work ends where it can."""
    event = threading.Event()
    before = [
        (number, signal.signal(number, lambda *_: event.set()))
        for number in (signal.SIGINT, signal.SIGTERM)
    ]
    try:
        yield event
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def after_option(function: Any) -> Any:
    """`--after POSITION`: read your own write."""
    return click.option(
        "--after",
        metavar="POSITION",
        help="First wait for the verdict on the record at topic/partition/offset.",
    )(function)


def as_of_option(function: Any) -> Any:
    """`--as-of POINT`: one thing as it was."""
    return click.option(
        "--as-of",
        metavar="POINT",
        help="Show the state at a position (topic/partition/offset) or a time (ISO 8601).",
    )(function)


def out_option(function: Any) -> Any:
    """`--out FILE`: the answer in a file too."""
    return click.option(
        "--out",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Also write the JSON to this file.",
    )(function)
