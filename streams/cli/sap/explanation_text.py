"""An explanation of a task of SAP for people: each command with its checks, the cache, outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.cli import lists
from streams.cli.cells import Cell, Row
from streams.cli.text import Page

Json = Mapping[str, Any]
_OUTCOMES = {"passed": True, "failed": False}
_STATUSES = {"PASS": True, "FAIL": False}


def show_explanation(answer: Json, page: Page) -> None:
    page.line(
        page.plain("SAP", "dim"),
        page.joined("task", page.id(answer["taskId"]), style="bold"),
        page.plain(answer["state"] or "not known", "bold"),
    )
    for command in answer["commands"]:
        page.line()
        _show_command(command, answer["constitution"], page)
    for verdict in answer["lookups"]:
        page.line()
        _show_lookup(verdict, page)
    if answer["outcomes"]:
        page.line()
        _show_outcomes(answer["outcomes"], page)


def _show_command(command: Json, constitution: str, page: Page) -> None:
    page.line(
        page.plain(command["subject"].lower(), "bold"),
        page.time(command["at"]),
        page.verdict(command["verdict"]),
        *([page.plain(rule)] if (rule := _rule_beside(command)) else []),
        page.plain(command["position"], "dim"),
    )
    for check in command["checks"]:
        _show_check(check, page)
    for warning in command["warnings"]:
        page.line(page.joined("warning:", page.message(warning), style="yellow"), indent=2)
    if command.get("accepted"):
        page.line(page.plain("fixed on acceptance"), indent=2)
        lists.show_member_lines(page, command["accepted"], indent=4)
    if command.get("evaluation"):
        _show_evaluation(command["evaluation"], constitution, page)


def _rule_beside(command: Json) -> str | None:
    """Return the rule of a verdict, unless it only repeats it."""
    rule: str = command["rule"]
    return None if rule == command["verdict"] else rule


def _show_check(check: Json, page: Page) -> None:
    """Print a check with its sign; what decided it stands below."""
    holds = _OUTCOMES.get(check["outcome"])
    outcome = [] if holds is not None else [page.plain(check["outcome"], "dim")]
    page.line(page.check(holds), page.plain(check["check"]), *outcome, indent=2)
    if check.get("reason"):
        rule = (
            [] if check["rule"] == check["check"] else [page.joined(page.plain(check["rule"]), ":")]
        )
        page.line(*rule, page.message(check["reason"]), indent=5)
    if check.get("figures"):
        lists.show_member_lines(page, check["figures"], indent=5)
    for error in (check.get("errors") or [])[1:]:
        place = page.joined(page.plain(error["rule"]), "at", page.plain(error["path"] or "/"))
        page.line(place, page.message(error["message"]), indent=5)


def _show_evaluation(evaluation: Json, constitution: str, page: Page) -> None:
    recorded = evaluation["constitution"]
    other: list[Cell | str] = (
        [] if recorded == constitution else ["weighed now by", page.plain(constitution)]
    )
    page.line(
        page.joined("constitution", page.plain(recorded), *other),
        page.plain(evaluation["alignment"], "bold"),
        indent=2,
    )
    rows = [
        [
            page.check(_STATUSES.get(step.get("status"))),
            page.plain(step["step"]),
            page.plain(step.get("name")),
            page.plain(step.get("vote")),
            page.message(step.get("notes")),
        ]
        for step in evaluation["steps"]
    ]
    if rows:
        page.table(("", "step", "name", "vote", "notes"), rows, indent=4)


def _show_lookup(verdict: Json, page: Page) -> None:
    leads = ["leads"] if verdict["leader"] else []
    page.line(
        page.plain("cache", "bold"),
        page.time(verdict["at"]),
        page.joined(page.plain(verdict["verdict"]), *leads, style="bold"),
        page.message(verdict["reason"]),
    )
    for each in verdict["candidates"]:
        age = page.joined(
            page.number(each["ageSec"]), "s old,", "fresh" if each["fresh"] else "stale"
        )
        version = page.joined("version", page.plain(each["version"]))
        page.line(page.check(each["fresh"]), version, age, page.plain(each["alignment"]), indent=2)
    for check in verdict["checks"] or []:
        holds = _STATUSES.get(check["status"])
        note = page.message(check.get("notes"))
        page.line(page.check(holds), page.plain(check["principle"]), note, indent=4)
    for violation in verdict["violations"] or []:
        principle, severity = (page.plain(violation[name]) for name in ("principle", "severity"))
        page.line(page.joined("violation of", principle, severity, style="red"), indent=4)


def _show_outcomes(outcomes: list[Json], page: Page) -> None:
    rows = [
        Row(
            [
                page.plain(each["seq"]),
                page.plain(each["status"]),
                page.plain(each["alignment"]),
                page.plain(each["rule"]),
                page.plain(each["cause"]),
            ],
            note=_error(each["error"], page) if each["error"] else None,
        )
        for each in outcomes
    ]
    page.table(("outcome", "status", "alignment", "rule", "cause"), rows)


def _error(error: Json, page: Page) -> Cell:
    text = ": ".join(str(error[name]) for name in ("code", "message") if error.get(name))
    return page.message(text, "red")
