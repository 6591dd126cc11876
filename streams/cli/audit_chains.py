"""The output of `headrace audit verify` about chains of checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schemas.formats import iso_ms
from streams.cli import common, text

if TYPE_CHECKING:
    from streams.ops.audit import AuditResult
    from streams.ops.audit.verify import ChainStatus

_COLUMNS = ("place", "checkpoints", "covered to", "records", "sealed at", "not covered")


def show_result(result: AuditResult) -> None:
    """Print what was found, in the form that was chosen."""
    match text.form():
        case text.Form.JSON:
            members = {
                "holds": not result.findings,
                "covered": not result.uncovered,
                "findings": [each._asdict() for each in result.findings],
                "partitions": [_members_of(each) for each in result.partitions],
            }
            common.show_json(members)
        case text.Form.TEXT:
            _show_text(result, text.new_page())
        case text.Form.PIPE:
            _show_plain(result)


def _show_text(result: AuditResult, page: text.Page) -> None:
    unsound = {finding.place for finding in result.findings}
    rows = [
        (
            page.check(each.place not in unsound if each.sequence else None),
            page.plain(each.place),
            page.number(each.sequence),
            page.number(each.offset),
            page.number(each.records),
            page.time(each.at),
            page.number(each.beyond),
        )
        for each in result.partitions
        if each.sequence or each.beyond
    ]
    page.table(("", *_COLUMNS), rows)
    for finding in result.findings:
        page.line(
            page.check(False),
            page.plain(finding.place),
            page.plain(finding.code, "red"),
            page.plain(finding.what),
        )
    for each in result.uncovered:
        since = page.time(iso_ms(each.uncovered_since or 0)).text
        page.line(
            page.dash,
            page.plain(each.place),
            page.plain("not_covered", "yellow"),
            f"no checkpoint covers the last {each.beyond:,} records, the oldest of {since}",
        )
    if result.uncovered:
        page.line(page.arrow, "write a checkpoint: headrace audit write --once")
    if not result.findings:
        records = sum(each.records for each in result.partitions)
        sealed = page.plain(f"{records:,} records are as they were sealed", "green")
        page.line(page.check(True), sealed)


def _show_plain(result: AuditResult) -> None:
    partitions = [each for each in result.partitions if each.sequence or each.beyond]
    common.show_table(
        _COLUMNS,
        [
            tuple("-" if cell is None else str(cell) for cell in partition)
            for partition in (each[: len(_COLUMNS)] for each in partitions)
        ],
    )
    for finding in result.findings:
        common.echo(f"{finding.place}: {finding.code}: {finding.what}")
    for each in result.uncovered:
        since = iso_ms(each.uncovered_since or 0)
        common.echo(
            f"{each.place}: not_covered: no checkpoint covers the last {each.beyond} records, the"
            f" oldest of {since}"
        )
    if not result.findings:
        covered = sum(each.records for each in result.partitions)
        uncovered = sum(each.beyond for each in result.uncovered)
        beside = f"; {uncovered} are not covered, and were not checked" if uncovered else ""
        common.echo(f"{covered} records are as they were sealed{beside}")


def _members_of(status: ChainStatus) -> dict[str, Any]:
    since = status.uncovered_since
    return {**status._asdict(), "uncovered_since": None if since is None else iso_ms(since)}
