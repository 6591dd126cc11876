"""`headrace dlq`."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from streams.cli import common, gateway_client, lists, text
from streams.cli.cells import Row
from streams.errors import UsageError
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.views.positions import Position


@click.group("dlq")
def command() -> None:
    """Show dead letters (records that could not be decided), and redrive them.

    \b
    Example:
      headrace dlq list
    """


_SUMMARY = "/v1/dead-letters/summary"
_MAX_LIMIT = 1000


@command.command("list")
@text.options
@gateway_client.options
def show_groups() -> None:
    """Count dead letters by topic and code.  With --json, one JSON object a line.

    \b
    Example:
      headrace dlq list --json
    """
    rows = _groups(Settings.load())
    match text.form():
        case text.Form.JSON:
            for group in rows:
                common.echo(common.json_line(group))
        case text.Form.TEXT:
            _show_groups(rows, text.new_page())
        case text.Form.PIPE:
            _show_groups_plain(rows)


def _groups(settings: Settings) -> list[dict[str, Any]]:
    """Return the counts of dead letters, from a gateway or else from the log."""
    rows: list[dict[str, Any]] = []
    params = {"limit": _MAX_LIMIT}
    while True:
        answer = common.ask_gateway(_SUMMARY, common.query_of(params), settings)
        if isinstance(answer, gateway_client.NoGateway):
            return _groups_on_log(settings, answer)
        rows += answer["items"]
        if answer["next"] is None:
            return rows
        params["cursor"] = answer["next"]


def _groups_on_log(settings: Settings, missing: gateway_client.NoGateway) -> list[dict[str, Any]]:
    from streams.log.dead_letters import groups

    started_s = time.monotonic()
    with common.connect(settings) as log:
        rows = groups(log, settings.prefix)
    common.echo(common.remark_of(missing, time.monotonic() - started_s), err=True)
    return rows


def _show_groups(rows: list[dict[str, Any]], page: text.Page) -> None:
    if not rows:
        page.line(page.joined(page.check(True), "no dead letters", style="green"))
        return
    titles = ("", "topic", "code", "count", "last")
    others = () if page.is_narrow else ("position", "message")
    page.table((*titles, *others), [_group_row(group, page) for group in rows])
    page.line(page.arrow, "one of them: headrace dlq show POSITION")
    page.line(page.arrow, "when the cause is fixed: headrace dlq redrive --code CODE --dry-run")


def _group_row(group: dict[str, Any], page: text.Page) -> Row:
    cells = [
        page.check(False),
        page.plain(group["topic"]),
        page.plain(group["code"], "red"),
        page.number(group["count"]),
        page.time(group["last"]),
    ]
    position, message = page.plain(group["position"]), page.message(group["message"])
    if page.is_narrow:
        return Row(cells, page.note(position, message, style=""))
    return Row([*cells, position, message])


def _show_groups_plain(rows: list[dict[str, Any]]) -> None:
    if not rows:
        common.echo("no dead letters")
        return
    titles = ("topic", "code", "count", "last", "position", "message")
    common.show_table(titles, [tuple(group[title] for title in titles) for group in rows])


_STATES = ("ready", "done", "failed_again", "undecodable", "masked", "gone", "no_record")
_RECORD = lists.columns("at", "position", "topic", "code", "state", "source", "key", "message")


@command.command("records")
@click.option("--topic", metavar="NAME", help="Only dead letters of this input topic.")
@click.option("--code", metavar="CODE", help="Only dead letters with this code.")
@click.option("--state", type=click.Choice(_STATES), help="Whether it can be redriven, or why not.")
@lists.options
def show_records(**params: Any) -> None:
    """Show single dead letters, the newest first.

    \b
    Examples:
      headrace dlq records --topic apc.packets --code decide_failed
      headrace dlq records --state ready
    """
    lists.show("/v1/dead-letters", "dead letters", _RECORD, text_table=_RECORDS, **params)


class _Records(lists.TextTable):
    """A table whose messages stand below the rows of a narrow page."""

    def show(self, page: text.Page, items: Iterable[Any], what: str) -> None:
        titles = self.titles[:-1] if page.is_narrow else self.titles
        page.table(titles, [self.row(item, page) for item in items], what=what)


def _record_row(item: Any, page: text.Page) -> Row:
    cells = [
        page.time(item["at"]),
        page.plain(item["position"]),
        page.plain(item["code"], "red"),
        page.plain(item["state"], "green" if item["state"] == "ready" else ""),
    ]
    message = page.message(item["message"])
    return Row(cells, message) if page.is_narrow else Row([*cells, message])


_RECORDS = _Records(("time", "position", "code", "state", "message"), _record_row)


@command.command("show")
@click.argument("position")
def show_one(position: str) -> None:
    """Show one dead letter, by its own position or the position of the original record.

    \b
    Example:
      headrace dlq show apc.packets/0/17
    """
    from streams.log.dead_letters import find_dead_letter

    settings = Settings.load()
    parsed = _parse_position(position)
    with common.connect(settings) as log:
        text.show_coloured_json(find_dead_letter(log, parsed, settings.prefix))


def _parse_position(text: str) -> Position:
    """Parse a position.  Raises UsageError for any other text."""
    from streams.views.parse import QueryError, parse_position

    try:
        return parse_position(text)
    except QueryError as exc:
        raise UsageError(f"{text} is not a position, topic/partition/offset") from exc


@command.command("redrive")
@click.argument("positions", nargs=-1, metavar="[POSITION]…")
@click.option("--topic", "names", multiple=True, help="Only dead letters of this input topic.")
@click.option("--code", "codes", multiple=True, help="Only dead letters with this code.")
@click.option(
    "--dry-run", is_flag=True, help="Send nothing; show the verdict that each would get now."
)
@click.option(
    "--again", is_flag=True, help="Include dead letters that failed again after a redrive."
)
@click.option(
    "--rate",
    type=click.FloatRange(0, min_open=True),
    default=100,
    show_default=True,
    help="Maximum number of records per second.",
)
@click.option("--reason", metavar="TEXT", help="Reason, stored in the fact about each redrive.")
@click.option("--operator", metavar="NAME", help="The operator; default: the user's name.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def redrive(
    positions: tuple[str, ...],
    names: tuple[str, ...],
    codes: tuple[str, ...],
    dry_run: bool,
    again: bool,
    rate: float,
    reason: str | None,
    operator: str | None,
    as_json: bool,
) -> None:
    """Send dead letters to their original topics again, after the cause is fixed.

    Each is sent at most once, however often this runs or is killed: audit.redrives records them.
    Without positions, topics or codes, all are selected.  Masked text cannot be sent again.  Exits
    with 1 when some cannot be sent, or would become dead letters again.

    \b
    Example:
      headrace dlq redrive --topic apc.packets --code decide_failed --dry-run
      headrace dlq redrive --topic apc.packets --code decide_failed --rate 50
    """
    from streams.cli import dlq_redrive_rows
    from streams.ops.redrive import RedriveRequest, Selection

    settings = Settings.load()
    prefix = settings.prefix
    topics = frozenset(name.removeprefix(prefix).removesuffix(".dlq") for name in names)
    selected = frozenset("/".join(map(str, _parse_position(text))) for text in positions)
    selection = Selection(topics, frozenset(codes), selected, again)
    selection.check()
    with common.connect(settings) as log:
        if dry_run:
            rows = dlq_redrive_rows.dry_run(log, settings, selection)
        else:
            request = RedriveRequest(operator or dlq_redrive_rows.user_name(), reason, rate)
            rows = dlq_redrive_rows.run(log, settings, selection, request)
        clean = dlq_redrive_rows.show(rows, as_json)
    if not clean:
        raise SystemExit(1)
