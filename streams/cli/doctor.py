"""`headrace doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from streams.cli import common, text
from streams.cli.cells import Cell

if TYPE_CHECKING:
    from streams.ops.doctor.findings import Check


@click.command("doctor")
@text.options
@click.pass_context
def command(ctx: click.Context) -> None:
    """Check the requirements of headrace, and say what to do about problems.

    Checks the codec, the policy, Java, Maven and Docker, ports, the state directory, the broker
    and its version, topics and their settings, the schema registry, tokens.  Changes nothing.
    Exits with 1 when a check fails; warnings are not failures.

    \b
    Example:
      headrace doctor
    """
    from streams.ops.doctor import Level, examine

    form, page = text.form(), text.new_page()
    worst = False
    for finding in examine():
        worst = worst or finding.level is Level.FAIL
        match form:
            case text.Form.JSON:
                common.echo(common.json_line(finding._asdict()))
            case text.Form.TEXT:
                _show(finding, page)
            case text.Form.PIPE:
                _show_plain(finding)
    ctx.exit(1 if worst else 0)


def _show(finding: Check, page: text.Page) -> None:
    sign = {"ok": page.check(True), "fail": page.check(False)}.get(
        finding.level.value, Cell("!", "yellow")
    )
    page.line(sign, page.plain(f"{finding.check:<15}"), page.plain(finding.said))
    if finding.advice:
        page.line(page.plain(f"{page.arrow} {finding.advice}", "yellow"), indent=20)


def _show_plain(finding: Check) -> None:
    common.echo(f"{finding.level:<4}  {finding.check:<15}  {finding.said}")
    if finding.advice:
        common.echo(f"{'':23}→ {finding.advice}")
