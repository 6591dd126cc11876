"""`headrace sap result`."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import click

from streams.cli import common, lists, text
from streams.errors import NotFound
from streams.settings import Settings


@click.command("result")
@click.argument("task_id", metavar="TASKID")
@click.option(
    "--seq", type=click.IntRange(1), metavar="N", help="Show this outcome instead of the last."
)
@text.options
@common.read_options
def command(task_id: str, seq: int | None, after: str | None) -> None:
    """Show an outcome of a task, in a pipe as JSON.

    \b
    Examples:
      headrace sap result 7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0a
      headrace sap result 7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0a --seq 1
    """
    path = f"/v1/sap/tasks/{quote(task_id, safe='')}"
    outcomes = common.ask(path, common.query_of({"after": after}), Settings.load())["outcomes"]
    if not outcomes:
        raise NotFound(f"task {task_id} has no outcome")
    if seq is not None and seq > len(outcomes):
        raise NotFound(f"task {task_id} has no outcome {seq}; the last is {len(outcomes)}")
    text.show(outcomes[-1 if seq is None else seq - 1], _render)


def _render(outcome: Any, page: text.Page) -> None:
    meta = outcome["meta"]["headrace"]
    evidence = outcome["constitutionalEvidence"]
    page.line(
        page.joined("outcome", page.plain(meta["seq"]), "of", page.id(outcome["taskId"])),
        page.plain(outcome["status"], "bold"),
        page.plain(evidence["alignment"]),
        page.time(outcome["reportedAt"]),
    )
    page.line(page.joined("by", page.id(outcome["producer"]["agentId"])), page.plain(meta["rule"]))
    for title, value in (("output", outcome.get("output")), ("error", outcome.get("error"))):
        if value is not None:
            page.line(page.plain(title, "bold"))
            lists.show_value(page, value, indent=2)
    _show_evidence(evidence, page)
    page.line(page.plain("decided", "bold"))
    lists.show_member_lines(page, meta, indent=2)


def _show_evidence(evidence: Any, page: text.Page) -> None:
    checks = [
        (
            page.check({"PASS": True, "FAIL": False}.get(check["status"])),
            page.plain(check["principle"]),
            page.message(check.get("notes")),
        )
        for check in evidence["policyChecks"]
    ]
    if checks:
        page.line(page.plain("checks", "bold"))
        page.table(("", "principle", "notes"), checks, indent=2)
    for violation in evidence["violations"]:
        principle, severity = (page.plain(violation[name]) for name in ("principle", "severity"))
        page.line(page.joined("violation of", principle, severity, style="red"))
