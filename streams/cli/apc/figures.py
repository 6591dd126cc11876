"""The commands `headrace apc` that show what protocols and sessions come to."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import click

from streams.cli import common, lists, text
from streams.cli.cells import Cell, Row
from streams.cli.lists import Column
from streams.settings import Settings

_THROTTLE = (
    *lists.columns("updated_at", "session_id", "run_id", "generation", "protocol_id"),
    *lists.columns("from_swarm", "window", "accepted"),
    Column("rejected", "rejected", "message"),
    Column("top_k", "last_top_k"),
    Column("receivers", "receivers", "message"),
)
_DECISION = (
    *lists.columns("at", "kind", "protocol_id", "decision_id"),
    Column("decay", "decay", "message"),
    Column("arbitration", "arbitration", "message"),
)
_WIDE = 140
"""The width from which what the throttle refused has a column of its own."""
_DECISION_TITLES = ("at", "decision", "protocol", "outcome", "reason")


_SESSION = (
    Column("last", "last_at", "time"),
    Column("session", "session_id", "id"),
    Column("state", "state"),
    Column("packets", "packets", "number"),
    Column("refused", "rejected", "number"),
)


@click.command("sessions")
@lists.options
def sessions(**params: Any) -> None:
    """Show sessions with the number of their packets, the latest first.

    \b
    Example:
      headrace apc sessions
    """
    lists.show("/v1/apc/sessions", "sessions", _SESSION, **params)


@click.command("throttling")
@click.option("--session-id", metavar="ID", help="Of this session.")
@click.option("--run-id", metavar="ID", help="Of this run.")
@click.option("--generation", metavar="N", help="Of this generation.")
@click.option("--protocol-id", metavar="ID", help="Of this protocol.")
@click.option("--from-swarm", metavar="ID", help="Of this sender.")
@lists.options
def throttling(**params: Any) -> None:
    """Show which swarms received a protocol, and what the throttle refused.

    \b
    Example:
      headrace apc throttling --run-id run-01
    """
    answer = common.ask("/v1/apc/throttling", common.query_of(params), Settings.load())
    text.show(answer, _render_throttling, _pipe(_THROTTLE))


def _pipe(table_columns: tuple[Column, ...]) -> Any:
    def pipe(answer: Any) -> None:
        lists.show_items(table_columns, answer["items"])
        lists.show_next(answer["next"])

    return pipe


def _render_throttling(answer: Any, page: text.Page) -> None:
    titles = ("at", "session", "gen", "protocol", "from", "accepted")
    others = ("refused", "receivers") if page.fits(_WIDE) else ()
    rows = [_throttling_row(each, page) for each in answer["items"]]
    page.table((*titles, *others), rows, what="receivers")
    page.more(len(answer["items"]), answer["next"])


def _throttling_row(each: Any, page: text.Page) -> Row:
    cells = [
        page.time(each["updated_at"]),
        page.id(each["session_id"]),
        page.plain(each["generation"]),
        page.id(each["protocol_id"]),
        page.id(each["from_swarm"]),
        page.plain(each["accepted"]),
    ]
    refused, receivers = page.message(_counts(each["rejected"])), page.message(_receivers(each))
    if not page.fits(_WIDE):
        return Row(cells, page.note(page.joined("to", receivers), page.joined("refused", refused)))
    return Row([*cells, refused, receivers])


def _receivers(each: Any) -> str:
    names = ", ".join(receiver["to_swarm"] for receiver in each["receivers"]) or "none"
    return names if each["last_top_k"] is None else f"{names} (top_k {each['last_top_k']})"


def _counts(counts: Any) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


@click.command("decisions")
@click.option(
    "--kind",
    type=click.Choice(["arbitration", "decay"]),
    help="Decisions of this kind.",
)
@click.option("--protocol-id", metavar="ID", help="On this protocol.")
@click.option("--run-id", metavar="ID", help="In this run.")
@click.option("--project-id", metavar="ID", help="In this project.")
@lists.options
def decisions(**params: Any) -> None:
    """Show the arbitrations of transfers, and protocols that decayed or recovered, of all runs.

    \b
    Example:
      headrace apc decisions --kind decay
    """
    answer = common.ask("/v1/apc/decisions", common.query_of(params), Settings.load())
    text.show(answer, _render_decisions, _pipe(_DECISION))


def _render_decisions(answer: Any, page: text.Page) -> None:
    rows = [_decision_row(each, page) for each in answer["items"]]
    titles = _DECISION_TITLES[:-1] if page.is_narrow else _DECISION_TITLES
    page.table(titles, rows, what="decisions")
    page.more(len(rows), answer["next"])


def _decision_row(each: Any, page: text.Page) -> Row:
    """Return a row; a narrow page has the reason below it."""
    outcome, reason = _arbitration(each, page) if each["arbitration"] else _decay(each, page)
    cells = [
        page.time(each["at"]),
        page.plain(each["kind"]),
        page.id(each["protocol_id"]),
        outcome,
    ]
    if page.is_narrow:
        return Row(cells, reason._replace(style="dim"))
    return Row([*cells, reason])


def _decay(each: Any, page: text.Page) -> tuple[Cell, Cell]:
    decay = each["decay"]
    outcome = page.plain("decayed", "red") if decay["blocked"] else page.plain("recovered", "green")
    score, threshold = decay["effectiveness_score"], decay["score_threshold"]
    reasons = "".join(f"{reason}, " for reason in decay["reasons"])
    figures = f"effectiveness {score} of {threshold}, {decay['transfer_count']} transfers"
    return outcome, page.message(reasons + figures)


def _arbitration(each: Any, page: text.Page) -> tuple[Cell, Cell]:
    decision = each["arbitration"]
    counts = f"{decision['selected_count']} of {decision['candidate_count']}"
    outcome = page.joined("selected", page.plain(counts))
    chosen = ", ".join(page.id(packet_id).text for packet_id in decision["selected_packet_ids"])
    blocked = "".join(
        f"; blocked {one['protocol_id']}: {one['reason']}" for one in decision["blocked"]
    )
    run = page.id(decision["run_id"]).text
    message = f"run {run}, top_k {decision['top_k']}: {chosen or 'none'}{blocked}"
    return outcome, page.message(message)


@click.command("coordination")
@click.argument("session_id")
@text.options
@common.read_options
def coordination(session_id: str, after: str | None) -> None:
    """Show how far a session's swarms, and the agents in them, are coordinated.

    \b
    Example:
      headrace apc coordination sess-01
    """
    path = f"/v1/apc/sessions/{quote(session_id, safe='')}/coordination"
    answer = common.ask(path, common.query_of({"after": after}), Settings.load())
    text.show(answer, _render_coordination)


def _render_coordination(answer: Any, page: text.Page) -> None:
    inter = answer["inter"]
    if inter is not None:
        page.line(page.plain("session", "bold"), page.plain(inter["state"]))
        page.members(
            {
                "swarms": inter["swarms"],
                "ready": inter["swarms_ready"],
                "open vetoes": inter["open_vetoes"],
            },
            indent=2,
        )
        _render_history(inter["history"], page)
    for each in answer["intra"]:
        page.line(page.plain("agent", "bold"), page.id(each["agent_id"]), page.plain(each["state"]))
        _render_history(each["history"], page)


def _render_history(history: Any, page: text.Page) -> None:
    rows = [
        (
            page.time(step.get("at")),
            step.get("event"),
            _states(step, page),
        )
        for step in history
    ]
    if rows:
        page.table(("at", "event", "state" if page.is_narrow else "states"), rows, indent=2)


def _states(step: Any, page: text.Page) -> Cell:
    """Return the states of a step; on a narrow page, that before it is a line above."""
    to_state = page.plain(step.get("to_state"))
    if page.is_narrow:
        return to_state
    return page.joined(page.plain(step.get("from_state")), page.arrow, to_state)
