"""The chains of checkpoints of `headrace audit`: what they are read from, and the output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from schemas.formats import iso_ms
from streams.cli import common, text
from streams.errors import UsageError

if TYPE_CHECKING:
    from streams.engine.log import Log
    from streams.engine.records import Record, TopicPartition
    from streams.ops.audit import AuditResult
    from streams.ops.audit.verify import ChainStatus
    from streams.settings import Settings

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


def read_chains(log: Log, settings: Settings, tps: list[TopicPartition]) -> list[Mapping[str, Any]]:
    """Return the checkpoints of these partitions."""
    from streams.ops.audit import checkpoints

    partitions = set(tps)
    every = checkpoints(log, settings.prefix)
    return [each for each in every if (each["topic"], each["partition"]) in partitions]


def find_covered(log: Log, settings: Settings, names: tuple[str, ...]) -> list[TopicPartition]:
    """Return the partitions of topics with chains; of all of them without names."""
    from streams.log.reading import partitions
    from streams.ops.audit import COVERED
    from topology.topics import full_name

    covered = [full_name(topic, settings.prefix) for topic in COVERED]
    unknown = sorted(set(names) - set(covered))
    if unknown:
        raise UsageError(f"{unknown[0]} is not covered; covered are {', '.join(covered)}")
    return partitions(log, names or covered)


def read_facts(log: Log, tps: list[TopicPartition]) -> Iterator[Record]:
    """Yield all records of the partitions, with a progress bar."""
    from streams.log.reading import records
    from streams.telemetry.progress import count_items

    ends, starts = log.ends(tps), log.starts(tps)
    total = sum(ends[tp] - starts[tp] for tp in tps)
    yield from count_items(records(log, tps, ends, starts), "verify", total)
