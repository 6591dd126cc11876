"""`headrace audit verify` against a transparency log, or an export of one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas.formats import iso_ms
from streams.cli import common, text
from streams.errors import UsageError
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.cli.text import Page
    from streams.engine.log import Log
    from streams.engine.records import TopicPartition
    from streams.ops.audit.verify import Violation
    from streams.ops.tlog.verify import LogResult

_COLUMNS = ("place", "covered to", "records", "not covered")


def verify_against_log(
    settings: Settings, policy_file: Path, names: tuple[str, ...], findings: Iterable[Violation]
) -> bool:
    """Print how the records compare with their log; return whether they are as they were logged.

    names: topics; none for all.  findings: those of the chains of checkpoints, if they were asked
    for.
    """
    from streams.ops.tlog.log_keys import choose_origin
    from streams.ops.tlog.policy import load_policy
    from streams.ops.tlog.verify import verify_log

    policy = load_policy(policy_file)
    origin = choose_origin(policy, settings.tlog_origin)
    check_logged(settings, names)
    with common.connect(settings) as log:
        covered = find_logged(log, settings, ())
        tps = [tp for tp in covered if not names or tp.topic in names]
        result = verify_log(log, settings.prefix, policy, origin, covered, tps)
    return _show(result._replace(findings=(*result.findings, *findings)))


def verify_exported(folder: Path, policy_file: Path | None, names: tuple[str, ...]) -> bool:
    """Print how an export compares with itself and its checkpoint; return whether it holds.

    policy_file: by default the one in the export, which only says that the export is whole.
    """
    from streams.ops.tlog.export import POLICY
    from streams.ops.tlog.export_check import verify_export
    from streams.ops.tlog.policy import load_policy

    if policy_file is None:
        common.echo(
            "The policy of the export itself is used: give your own with --policy.", err=True
        )
    return _show(verify_export(folder, load_policy(policy_file or folder / POLICY), names))


def check_logged(settings: Settings, names: tuple[str, ...]) -> None:
    """Raise UsageError if one of the topics has no entries in a log."""
    from streams.ops.tlog.logged_topics import logged_topics

    logged = logged_topics(settings.prefix)
    unknown = sorted(set(names) - logged)
    if unknown:
        raise UsageError(f"{unknown[0]} is not covered; covered are {', '.join(sorted(logged))}")


def find_logged(log: Log, settings: Settings, names: tuple[str, ...]) -> list[TopicPartition]:
    """Return the partitions of topics whose records have entries; of all of them without names."""
    from streams.log.reading import partitions
    from streams.ops.tlog.logged_topics import LOGGED
    from topology.topics import full_name

    return partitions(log, names or [full_name(topic, settings.prefix) for topic in LOGGED])


def _show(result: LogResult) -> bool:
    text.show(_as_json(result), _render, pipe=None)
    return not result.findings and result.head is not None


def _as_json(result: LogResult) -> dict[str, Any]:
    from streams.ops.tlog.note import to_base64

    checkpoint = None if result.head is None else result.head.checkpoint
    return {
        "holds": not result.findings and checkpoint is not None,
        "covered": not result.uncovered,
        "origin": result.origin,
        "sequenced": result.size,
        "size": checkpoint and checkpoint.size,
        "root": checkpoint and to_base64(checkpoint.root),
        "refused": result.refused,
        "findings": [each._asdict() for each in result.findings],
        "partitions": [
            {
                **asdict(each),
                "uncovered_since": each.uncovered_since and iso_ms(each.uncovered_since),
            }
            for each in result.partitions
        ],
    }


def _render(body: dict[str, Any], page: Page) -> None:
    unsound = {finding["place"] for finding in body["findings"]}
    rows = [
        (
            page.check(each["place"] not in unsound if each["covered_to"] else None),
            page.plain(each["place"]),
            page.number(each["covered_to"]),
            page.number(each["records"]),
            page.number(each["beyond"]),
        )
        for each in body["partitions"]
        if each["covered_to"] or each["beyond"]
    ]
    page.table(("", *_COLUMNS), rows)
    for finding in body["findings"]:
        place, code = page.plain(finding["place"]), page.plain(finding["code"], "red")
        page.line(page.check(False), place, code, page.plain(finding["what"]))
    for each in body["partitions"]:
        if each["beyond"]:
            since = page.time(each["uncovered_since"]).text
            count = text.plural(each["beyond"], "record")
            what = f"{count} without a published entry, the oldest of {since}"
            page.line(
                page.dash, page.plain(each["place"]), page.plain("not_covered", "yellow"), what
            )
    _render_end(body, page)


def _render_end(body: dict[str, Any], page: Page) -> None:
    if body["refused"]:
        page.line(page.dash, f"{text.plural(body['refused'], 'batch record')} that do not count")
    if body["size"] is None:
        page.line(page.check(False), page.plain("no checkpoint is published", "red"))
        page.line(page.arrow, "publish one: headrace audit write --once")
    elif body["holds"]:
        log = page.plain(body["origin"])
        count = sum(each["records"] for each in body["partitions"])
        logged = page.plain(f"{count:,} records are as they were logged", "green")
        page.line(page.check(True), logged, log, f"size {body['size']:,}")
