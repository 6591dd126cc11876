"""`headrace sap learning`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from streams.cli import common, lists, text
from streams.errors import NotFound, UsageError

_COLUMNS = lists.columns(
    *("territory", "fingerprint", "outcomes", "computed", "cacheHits", "ratings.mean"),
    *("approved", "rejected", "bestTaskId", "playbook.version"),
)


def _row(item: Any, page: text.Page) -> tuple[Any, ...]:
    reviews = item["approved"] + item["rejected"]
    playbook = item["playbook"] or {}
    return (
        page.plain(item["territory"]),
        page.id(item["fingerprint"]),
        page.number(item["outcomes"]),
        page.number(item["cacheHits"]),
        page.number(item["ratings"]["mean"]),
        page.plain(f"{item['approved']} of {reviews}" if reviews else None),
        page.id(item["bestTaskId"]),
        page.number(playbook.get("version")),
    )


_TABLE = lists.TextTable(
    ("territory", "fingerprint", "outcomes", "hits", "rating", "approved", "best", "playbook"), _row
)
_EVERY = (*lists.columns("capability"), *_COLUMNS)
_HEURISTICS = lists.columns(
    *("capability", "version", "derivedAt", "volatileKeys", "blockedKeys", "extraChecks", "cause")
)


def _row_of_every(item: Any, page: text.Page) -> tuple[Any, ...]:
    territory, fingerprint, outcomes, hits, rating, *_, playbook = _row(item, page)
    figures = (outcomes, hits, rating, playbook)
    return (page.message(item["capability"]), territory, fingerprint, *figures)


def _heuristics_row(item: Any, page: text.Page) -> tuple[Any, ...]:
    return (
        page.message(item["capability"]),
        page.number(item["version"]),
        page.time(item["derivedAt"]),
        page.message(", ".join(item["volatileKeys"]) or None),
        page.message(", ".join(item["blockedKeys"]) or None),
        page.message(", ".join(item["extraChecks"]) or None),
        page.plain(item["cause"]),
    )


_EVERY_TABLE = lists.TextTable(
    ("capability", "territory", "fingerprint", "outcomes", "hits", "rating", "playbook"),
    _row_of_every,
)
_HEURISTICS_TABLE = lists.TextTable(
    ("capability", "version", "derived", "volatile", "blocked", "checks", "cause"), _heuristics_row
)
_DERIVED = ("extractorVersion", "volatileKeys", "blockedKeys", "thresholds", "extraChecks")


@click.command("learning")
@click.argument("capability", required=False)
@click.option("--territory", metavar="T", help="Only this territory; '' for tasks without one.")
@click.option("--fingerprint", metavar="F", help="Only tasks with this essence of the payload.")
@click.option(
    "--heuristics", is_flag=True, help="Show every version of the derived values, with reasons."
)
@lists.options
def command(capability: str | None, heuristics: bool, **params: Any) -> None:
    """Show what the service learned about a capability, or about all.

    \b
    Examples:
      headrace sap learning
      headrace sap learning consult.align --territory EUFM
      headrace sap learning consult.align --heuristics
    """
    if heuristics:
        if capability is None:
            raise UsageError("--heuristics shows one capability; name it")
        _show_heuristics(capability, params["after"])
    elif capability is None:
        lists.show("/v1/sap/learning", "outcomes", _EVERY, text_table=_EVERY_TABLE, **params)
    else:
        params["capability"] = capability
        lists.show("/v1/sap/learning", "outcomes", _COLUMNS, text_table=_TABLE, **params)


@click.command("heuristics")
@click.argument("capability", required=False)
@lists.options
def heuristics_command(capability: str | None, **params: Any) -> None:
    """Show the values that are derived for a capability, version by version, with reasons.

    Without CAPABILITY, list the versions of all capabilities.

    \b
    Examples:
      headrace sap heuristics
      headrace sap heuristics consult.align
    """
    if capability is None:
        table = _HEURISTICS_TABLE
        lists.show("/v1/sap/heuristics", "heuristics", _HEURISTICS, text_table=table, **params)
    else:
        _show_heuristics(capability, params["after"])


def _show_heuristics(capability: str, after: str | None) -> None:
    rows = lists.every_item("/v1/sap/heuristics", capability=capability, after=after)
    versions = list(_with_changes(rows))
    if not versions:
        raise NotFound(f"nothing was derived for {capability}")
    text.show({"items": versions}, _render_heuristics, _pipe_heuristics)


def _render_heuristics(answer: Any, page: text.Page) -> None:
    for each in answer["items"]:
        page.line(
            page.joined("version", page.plain(each["version"]), style="bold"),
            page.time(each["derivedAt"]),
            page.joined("of", page.plain(each["cause"])),
        )
        page.members(each["changed"], indent=2)
        page.line("basis", indent=2)
        page.members(each["basis"], indent=4)


def _pipe_heuristics(answer: Any) -> None:
    for each in answer["items"]:
        common.echo(f"version {each['version']} at {each['derivedAt']}, of {each['cause']}")
        common.show_members({**each["changed"], "basis": each["basis"]}, indent=2)


def _with_changes(versions: Iterable[Any]) -> Iterable[Any]:
    """Add to each version the values that differ from those of the previous version."""
    previous: dict[str, Any] = {"extractorVersion": 0, "thresholds": {}}
    for each in versions:
        changed = {name: each[name] for name in _DERIVED if each[name] != previous.get(name, [])}
        yield {**each, "changed": changed}
        previous = each
