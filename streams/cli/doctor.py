"""`headrace doctor`."""

from __future__ import annotations

import click

from streams.cli import common


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Check the requirements of headrace, and say what to do about problems.

    Checks Java, Maven and Docker, ports, the state directory, the broker and its version, topics
    and their settings, the schema registry, tokens.  Changes nothing.  Exits with 1 when a check
    fails; warnings are not failures.

    \b
    Example:
      headrace doctor
    """
    from streams.ops.doctor import Level, examine

    worst = False
    for finding in examine():
        worst = worst or finding.level is Level.FAIL
        if as_json:
            common.echo(common.json_line(finding._asdict()))
            continue
        common.echo(f"{finding.level:<4}  {finding.check:<15}  {finding.said}")
        if finding.advice:
            common.echo(f"{'':23}→ {finding.advice}")
    ctx.exit(1 if worst else 0)
