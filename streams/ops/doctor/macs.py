"""The check of MACs: whether a key is set, and the newest rows of each table."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from streams.engine.log import Log
from streams.engine.mac_checks import UNSIGNED_BEFORE, MacChecks
from streams.engine.records import TopicPartition, position
from streams.errors import HeadraceError
from streams.log.newest import newest_first
from streams.log.reading import partitions
from streams.ops.doctor.findings import Check, fail, failed, ok, warn
from streams.settings.service import ServiceSettings
from topology import topics
from topology.headers import has_mac
from topology.topics import full_name

NAME = "mac"
_MAX_CHECKED = 1000
"""The most records of a partition that are looked at, the newest."""
_ADVICE = (
    "Find out who may write there (`headrace topics acls`); `headrace verify` lists all that are"
    " refused; after a change of keys run `headrace topics sign`."
)


def check_macs(log: Log, settings: ServiceSettings) -> Iterator[Check]:
    """Check that a key is set, and that the newest rows have MACs under it."""
    tables = [topic for topic in topics.ALL if topic.compacted and has_mac(topic)]
    checks = MacChecks.of(settings, tables)
    if checks is None:
        message = "no key is set, so rows that somebody else writes look like those of a worker"
        yield warn(NAME, message, "Set HEADRACE_MAC_KEY; docs/audit.md says how to begin.")
        return
    try:
        tps = partitions(log, [full_name(topic, settings.prefix) for topic in tables])
        number, refused = 0, list[str]()
        for tp in tps:
            count, places = _refused_newest(log, tp, checks)
            number += count
            refused += places
        if refused:
            message = f"{len(refused)} of the newest {number} rows are refused, the first at"
            yield fail(NAME, f"{message} {refused[0]}", _ADVICE)
        else:
            yield ok(NAME, f"the newest {number} rows have MACs of the keys that are set")
    except HeadraceError as exc:
        yield failed(NAME, exc)


def _refused_newest(log: Log, tp: TopicPartition, checks: MacChecks) -> tuple[int, list[str]]:
    """Return the number of records looked at, and position and reason of each that is refused."""
    newest = list(islice(newest_first(log, [tp]), _MAX_CHECKED))
    newest.sort(key=lambda record: record.offset)
    reasons = checks.reasons(newest, {})
    return len(newest), [
        f"{position(record)}: {reason}"
        for record, reason in zip(newest, reasons, strict=True)
        if reason not in (None, UNSIGNED_BEFORE)
    ]
