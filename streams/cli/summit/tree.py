"""`headrace summit tree`."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import partial
from typing import Any
from urllib.parse import quote

import click

from streams.cli import common, lists, text
from streams.cli.cells import Cell
from streams.cli.summit.common import SummitCommand
from streams.cli.summit.states import state_cell
from streams.cli.tree_stems import ASCII, stems
from streams.settings import Settings

_TITLES = ("run", "agent", "state", "tokens", "usd", "tree usd")


@click.command("tree", cls=SummitCommand)
@click.argument("run")
@lists.options
def command(run: str, **params: Any) -> None:
    """Show a run and the runs below it, with what each has used, and the budget of the first.

    The last column has what a run has cost together with those that count for it.

    \b
    Example:
      headrace summit tree run-7f2
    """
    settings = Settings.load()
    path = f"/v1/summit/runs/{quote(run, safe='')}"
    answer = common.ask(f"{path}/tree", common.query_of(params), settings)
    limits: Any = (
        None if text.form() is text.Form.JSON else common.ask(path, "", settings)["budget"]
    )
    text.show(answer, partial(_render, limits or {}), pipe=None)


def _render(limits: Mapping[str, Any], answer: Any, page: text.Page) -> None:
    items = answer["items"]
    drawn = stems([item["depth"] for item in items])
    page.table(_TITLES, [_row(item, stem, page) for item, stem in zip(items, drawn, strict=True)])
    tokens = page.number(sum(item["tokens"] for item in items)).text
    usd = page.number(float(sum(Decimal(item["usd"]) for item in items))).text
    used = f"{text.plural(len(items), 'run')}, {tokens} tokens, {usd} usd"
    page.line(page.joined(used, *_budget(limits, page)))
    page.more(len(items), answer["next"])


def _budget(limits: Mapping[str, Any], page: text.Page) -> list[str]:
    """Return what the first run may use; nothing if it has no limits."""
    parts = [
        f"{page.number(limit).text} {name}" for name, limit in limits.items() if limit is not None
    ]
    return [f"(budget of the first run: {', '.join(parts)})"] if parts else []


def _row(item: Any, stem: str, page: text.Page) -> tuple[Any, ...]:
    run = f"{stem.translate(ASCII) if page.ascii else stem}{page.id(item['runId']).text}"
    return (
        Cell(run, flexible=True),
        page.id(item["agentId"]),
        state_cell(item["status"], page),
        page.number(item["tokens"]),
        page.number(float(item["usd"])),
        page.number(None if item["treeUsd"] is None else float(item["treeUsd"])),
    )
