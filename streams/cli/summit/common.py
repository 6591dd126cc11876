"""Functions that the commands of Summit share: exit codes and access to the routes.

Exit codes: 0 done; 1 rejected, a run that ended otherwise, a check that does not hold; 2 bad input;
3 still pending; 4 the service is not reachable.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from streams.cli import common, text
from streams.cli.cells import Cell, Row
from streams.cli.summit.states import state_cell
from streams.errors import InfrastructureError, InvalidInput
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.routes.handle import Routes

REJECTED, BAD_INPUT, PENDING, UNREACHABLE = 1, 2, 3, 4
Json = dict[str, Any]


class SummitCommand(click.Command):
    """A command with the exit codes of Summit."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except InvalidInput as exc:
            fail(ctx, str(exc), BAD_INPUT)
        except InfrastructureError as exc:
            fail(ctx, f"{exc.code}: {exc}", UNREACHABLE)


def fail(ctx: click.Context, message: str, code: int) -> NoReturn:
    """Print one line on stderr and exit."""
    common.echo(f"headrace: {message}", err=True)
    ctx.exit(code)


@contextmanager
def open_routes(settings: Settings) -> Iterator[Routes]:
    """Open all routes over a view that is caught up; a wait may last as long as Summit allows."""
    from streams.routes.handle import Routes

    with common.open_log_and_view(settings) as (log, view):
        yield Routes(view, log, settings, common.now_ms, wait_s=settings.summit_wait_max_s)


def send_envelopes(routes: Routes, method: str, path: str, body: Any = None) -> Json:
    """Send envelopes and return the response: `positions`, and `verdicts` if they came in time.

    Raises InvalidInput with the rules that the envelopes break.
    """
    from schemas import Problem

    settings = routes.settings
    answer = routes.handle(method, path, "", {"Prefer": f"wait={settings.summit_wait_s}"}, body)
    if answer.status == 422:
        errors = answer.body.get("errors") or [{**answer.body, "message": answer.body["detail"]}]
        problems = [Problem(e["rule"], e["path"], e["message"]) for e in errors]
        raise InvalidInput(
            problems, indexes=[e["index"] for e in errors] if len(errors) > 1 else ()
        )
    if answer.status >= 400:
        raise common.error_of_problem(answer.status, answer.body)
    response: Json = answer.body
    return response


def verdicts_of(ctx: click.Context, answer: Json) -> list[Json]:
    """Return the verdicts of a response; exit with PENDING if they did not come in time."""
    if "verdicts" not in answer:
        positions = ", ".join(answer["positions"])
        fail(ctx, f"no verdict is seen on {positions}; it is on the log", PENDING)
    verdicts: list[Json] = answer["verdicts"]
    return verdicts


def show_verdicts(
    answer: Json, titles: Sequence[str], rows: Sequence[Sequence[Any]], notes: Sequence[str | None]
) -> None:
    """Print the verdicts of a response.

    rows: as a pipe gets them; text has a sign for a verdict.  notes: below the rows of a text.
    """

    def render(body: Json, page: text.Page) -> None:
        cells = [
            Row(
                [
                    _verdict_cell(title, value, page)
                    for title, value in zip(titles, row, strict=True)
                ],
                note=page.message(note, "dim") if note else None,
            )
            for row, note in zip(rows, notes, strict=True)
        ]
        page.table(titles, cells)

    def pipe(body: Json) -> None:
        common.show_table(tuple(titles), [tuple(row) for row in rows])

    text.show(answer, render, pipe)


def _verdict_cell(title: str, value: Any, page: text.Page) -> Cell:
    match title:
        case "verdict":
            return page.verdict(value)
        case "status":
            return state_cell(value, page)
    return page.id(value)


def refusal_of(fact: Json) -> str | None:
    """Return why something was rejected, None of what was not."""
    return fact.get("message") if fact["verdict"] == "rejected" else None


def exit_if_rejected(ctx: click.Context, verdicts: list[Json]) -> None:
    """Exit with 1 if something was rejected."""
    if any(fact["verdict"] == "rejected" for fact in verdicts):
        ctx.exit(REJECTED)


def parse_argument(argument: str) -> Any:
    """Parse JSON, or read it from `@FILE`, as YAML if the suffix says so.  Raises InvalidInput."""
    from schemas import ShapeError
    from schemas.summit import read_json

    body = argument.encode(errors="surrogateescape")
    if argument.startswith("@"):
        path = Path(argument[1:])
        if not path.is_file():
            raise click.BadParameter(f"there is no file {path}")
        if path.suffix in (".yaml", ".yml"):
            return common.read_value(path, "json.parse")
        body = path.read_bytes()
    try:
        return read_json(body)
    except ShapeError as exc:
        raise InvalidInput([exc.problem]) from exc


def json_bytes(value: Any) -> bytes:
    return json.dumps(value).encode()
