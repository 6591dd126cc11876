"""One thing for people: its state, its steps, why its last verdict is so, and its links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.cli.cells import Cell, Row
from streams.cli.text import Page

Json = Mapping[str, Any]
_TITLES = ("#", "time", "event", "states", "verdict", "rule", "cause")
_NARROW_TITLES = ("#", "time", "event", "state", "verdict", "cause")
_WIDE = 110
"""The width from which a step has all of its columns."""
_TIMES = (("started_at", "started"), ("ended_at", "ended"), ("due_at", "due"))


def show_thing(thing: Json, page: Page) -> None:
    """Print a thing as `GET /v1/things/{node}` returns it."""
    _show_head(thing, page)
    if thing["steps"]:
        page.line(Cell(""))
        _show_steps(thing["steps"], page)
    if thing["verdicts"]:
        page.line(Cell(""))
        show_verdict(thing["verdicts"][0], page)
    if thing["links"]:
        page.line(Cell(""))
        _show_links(thing["links"], page)
    page.more(len(thing["steps"]), thing["next"])


def _show_head(thing: Json, page: Page) -> None:
    state = page.plain(thing["state"], "bold green" if thing["terminal"] else "bold")
    page.line(
        page.plain(thing["node"].partition(":")[0].upper(), "dim"),
        page.id(thing["title"], "bold"),
        state,
    )
    agents = [
        page.joined(page.plain(each["role"]), page.plain(each["id"])) for each in thing["agents"]
    ]
    where = [
        page.joined(name, page.id(thing[member]))
        for name, member in (("session", "session_id"), ("trace", "trace"))
        if thing[member]
    ]
    if agents or where:
        page.flow(*agents, *where)
    times = [
        page.joined(word, page.time(thing[member])) for member, word in _TIMES if thing[member]
    ]
    if times:
        page.flow(*times)
    page.flow(
        page.joined("node", page.plain(thing["node"])), page.joined("api", page.plain(thing["api"]))
    )


def _show_steps(steps: list[Json], page: Page) -> None:
    is_narrow = page.width is not None and page.width < _WIDE
    titles = _NARROW_TITLES if is_narrow else _TITLES
    page.table(
        titles, [_narrow_step(each, page) if is_narrow else _step(each, page) for each in steps]
    )


def _step(step: Json, page: Page) -> Row:
    return Row(
        [
            page.number(step["n"]),
            page.time(step["at"]),
            page.plain(step["event"]),
            page.joined(page.plain(step["from"]), page.arrow, page.plain(step["to"])),
            page.verdict(step["verdict"]),
            page.plain(rule_beside(step)),
            page.plain(step["cause"]),
        ],
        note=page.message(step["message"], "dim") if step["message"] else None,
    )


def _narrow_step(step: Json, page: Page) -> Row:
    """Return a step with its rule below it, and without the state before, which is a line above."""
    rule, message = rule_beside(step), step["message"]
    if rule and not (message or "").startswith(rule):
        message = f"{rule}: {message}" if message else rule
    return Row(
        [
            page.number(step["n"]),
            page.time(step["at"]),
            page.message(step["event"]),
            page.message(step["to"]),
            page.verdict(step["verdict"]),
            page.plain(step["cause"]),
        ],
        note=page.message(message, "dim") if message else None,
    )


def rule_beside(ruling: Json) -> str | None:
    """Return the rule of a verdict, unless it only repeats it."""
    rule: str | None = ruling["rule"]
    return None if rule == ruling["verdict"] else rule


def show_verdict(verdict: Json, page: Page) -> None:
    """Print why a verdict is so: rule, message, checks, errors, figures, cause and fact."""
    fault = [page.joined("fault:", page.plain(verdict["fault"]))] if verdict["fault"] else []
    rule = [page.plain(name)] if (name := rule_beside(verdict)) else []
    page.line(page.plain("why", "bold"), page.verdict(verdict["verdict"]), *rule, *fault)
    if verdict["message"]:
        page.line(page.message(verdict["message"]), indent=2)
    _show_checks(verdict["checks"], page)
    errors = [
        (
            page.plain(each.get("rule")),
            page.plain(each.get("path")),
            page.message(each.get("message")),
        )
        for each in verdict["errors"]
    ]
    if len(errors) > 1 or (errors and verdict["errors"][0].get("message") != verdict["message"]):
        page.table(("rule", "path", "message"), errors, indent=2)
    if verdict["figures"] and not verdict["checks"]:
        page.members(verdict["figures"], indent=2)
    page.flow(*_origin(verdict, page), indent=2)


def _show_checks(checks: list[Json], page: Page) -> None:
    """Print checks with their signs, and with values and bounds where any has one."""
    measures = [
        name for name in ("value", "bound") if any(check[name] is not None for check in checks)
    ]
    rows = [
        (
            page.check(check["holds"]),
            page.plain(check["name"]),
            *(page.plain(check[name]) for name in measures),
        )
        for check in checks
    ]
    if rows:
        page.table(("", "check", *measures), rows, indent=2)


def _origin(verdict: Json, page: Page) -> list[Cell]:
    by = f"by {verdict['principal']}" if verdict["principal"] else None
    cause = page.joined("cause", page.plain(verdict["cause"]))
    if by is not None:
        cause = page.joined(cause, page.plain(by))
    return [cause, page.joined("fact", page.plain(verdict["fact"]))]


def _show_links(links: list[Json], page: Page) -> None:
    rows = [
        (
            "came of" if each["direction"] == "out" else "led to",
            page.plain(each["relation"]),
            page.id(each["node"]),
        )
        for each in links
    ]
    page.table(("related", "relation", "node"), rows)
