"""`headrace topics acls`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click

from streams.cli import common
from streams.errors import UsageError
from streams.settings import Settings

_PRINCIPAL = re.compile(r"[A-Za-z]+:\S([^\n]*\S)?")
"""The name in a certificate may have spaces."""


def _role_option(role: str, help: str) -> Callable[[Any], Any]:
    return click.option(
        f"--{role}", role, multiple=True, metavar="PRINCIPAL", callback=_check_principals, help=help
    )


def _check_principals(
    ctx: click.Context, parameter: click.Parameter, principals: tuple[str, ...]
) -> Any:
    for principal in principals:
        if not _PRINCIPAL.fullmatch(principal):
            raise click.BadParameter(f"{principal} is no principal, e.g. User:{parameter.name}")
    return principals


@click.command("acls")
@_role_option("service", "Of the workers.")
@_role_option("gateway", "Of the gateways.")
@_role_option("agent", "Sends commands and reads inboxes on Kafka itself.")
@_role_option("reader", "Reads what was decided: queries, tails, sinks.")
@_role_option("operator", "Creates topics, sends every command, redrives, verifies.")
@_role_option("auditor", "Writes the transparency log (HEADRACE_TLOG_POLICY).")
@click.option("--apply", "applies", is_flag=True, help="Add the ACLs that are missing on Kafka.")
@click.option("--script", "as_script", is_flag=True, help="Print calls of kafka-acls.sh.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def command(applies: bool, as_script: bool, as_json: bool, **named: tuple[str, ...]) -> None:
    """Print the Kafka ACLs of each principal, derived from the topology.

    Each option can be repeated, and one principal can have several roles.  Without options, all
    roles are printed, with example principals.  Only --apply connects to Kafka; it only adds ACLs,
    and needs a principal that may alter ACLs.

    \b
    Example:
      headrace topics acls
      headrace topics acls --service User:headrace --agent User:alice --agent User:bob --apply
    """
    from streams.ops.acls import PLACEHOLDERS, grants_of, script
    from topology.acls import Role

    settings = Settings.load()
    principals = {Role(role): names for role, names in named.items() if names}
    if applies and not principals:
        raise UsageError("--apply needs principals", advice="Name them, e.g. --service User:NAME.")
    grants = grants_of(principals or PLACEHOLDERS, settings.prefix)
    if applies:
        _apply(settings, [acl for grant in grants for acl in grant.acls()])
    elif as_script:
        for line in script(grants, settings.bootstrap or "localhost:9092"):
            common.echo(line)
    elif as_json:
        for grant in grants:
            common.echo(common.json_line({"principal": grant.principal, **grant.what._asdict()}))
    else:
        rows = [(g.principal, *g.what[:4], ", ".join(g.what.operations)) for g in grants]
        titles = ("principal", "role", "resource", "pattern", "name", "operations")
        common.show_table(titles, rows)


def _apply(settings: Settings, acls: list[Any]) -> None:
    with common.connect(settings) as log:
        admin = log.admin()
        existing = admin.acls(acls)
        missing = [acl for acl in dict.fromkeys(acls) if acl not in existing]
        admin.add_acls(missing)
    common.echo(f"{len(missing)} ACLs added, {len(existing)} were there")
