"""What the commands of Summit share: exit codes, and the routes that they go through.

Exit codes: 0 done; 1 rejected, a run that ended otherwise, a check that does not hold; 2 bad input;
3 still pending; 4 the service is not reachable.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from streams.cli import common
from streams.errors import InfrastructureError, InvalidInput
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.routes.handle import Routes

REJECTED, BAD_INPUT, PENDING, AWAY = 1, 2, 3, 4
Json = dict[str, Any]

json_option = click.option("--json", "as_json", is_flag=True, help="Print the response as JSON.")


class SummitCommand(click.Command):
    """With the exit codes of Summit."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except InvalidInput as exc:
            fail(ctx, str(exc), BAD_INPUT)
        except InfrastructureError as exc:
            fail(ctx, f"{exc.code}: {exc}", AWAY)


def fail(ctx: click.Context, text: str, code: int) -> NoReturn:
    """One line on stderr, and the exit code."""
    click.echo(f"headrace: {text}", err=True)
    ctx.exit(code)


@contextmanager
def routes_over(settings: Settings) -> Iterator[Routes]:
    """All routes, over a view that has seen everything; a wait lasts as long as was asked for."""
    from streams.routes.handle import Routes

    with common.looking(settings) as (log, view):
        yield Routes(view, log, settings, common.now_ms, wait_s=settings.summit_wait_max_s)


def sent(routes: Routes, method: str, path: str, body: Any = None) -> Json:
    """What is answered to envelopes: `positions`, and `verdicts` if they came in time.

    Raises InvalidInput with the rules that they break.
    """
    from schemas import Problem

    settings = routes.settings
    answer = routes.handle(method, path, "", {"Prefer": f"wait={settings.summit_wait_s}"}, body)
    if answer.status == 422:
        whole = answer.body.get("errors") or [{**answer.body, "message": answer.body["detail"]}]
        problems = [Problem(e["rule"], e["path"], e["message"]) for e in whole]
        raise InvalidInput(problems, indexes=[e["index"] for e in whole] if len(whole) > 1 else ())
    if answer.status >= 400:
        raise common.refused(answer.status, answer.body)
    found: Json = answer.body
    return found


def judged(ctx: click.Context, answer: Json) -> list[Json]:
    """The verdicts of an answer; ends the command when they did not come in time."""
    if "verdicts" not in answer:
        where = ", ".join(answer["positions"])
        fail(ctx, f"no verdict is seen on {where}; it is on the log", PENDING)
    found: list[Json] = answer["verdicts"]
    return found


def leave(ctx: click.Context, verdicts: list[Json]) -> None:
    """With 1 when something was rejected."""
    if any(fact["verdict"] == "rejected" for fact in verdicts):
        ctx.exit(REJECTED)


def value_of(text: str) -> Any:
    """JSON, or `@FILE` with JSON, or YAML if its name says so.  Raises InvalidInput."""
    from schemas import ShapeError
    from schemas.summit import read_json

    body = text.encode(errors="surrogateescape")
    if text.startswith("@"):
        path = Path(text[1:])
        if not path.is_file():
            raise click.BadParameter(f"there is no file {path}")
        if path.suffix in (".yaml", ".yml"):
            return common.read_value(path, "json.parse")
        body = path.read_bytes()
    try:
        return read_json(body)
    except ShapeError as exc:
        raise InvalidInput([exc.problem]) from exc


def text_of(value: Any) -> bytes:
    return json.dumps(value).encode()
