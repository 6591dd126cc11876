"""The check of the transparency log: of its newest checkpoints and batches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from schemas import Undecodable, decode
from schemas.formats import iso_ms
from streams.engine.log import Log
from streams.engine.records import Record
from streams.errors import HeadraceError
from streams.log.fetching import read_offsets
from streams.log.newest import newest_first
from streams.log.reading import partitions
from streams.ops.audit.verify import UNCOVERED_MS
from streams.ops.doctor.findings import Check, fail, failed, ok, warn
from streams.ops.tlog.heads import SignedHead, parse_head
from streams.ops.tlog.log_keys import choose_origin
from streams.ops.tlog.logged_topics import logged_topics
from streams.ops.tlog.policy import Policy, load_policy
from streams.ops.tlog.receipt import judge_note
from streams.settings.service import ServiceSettings
from topology.core import AUDIT_ENTRIES, AUDIT_TREE_HEADS
from topology.declarations import Topic
from topology.topics import full_name

NAME = "tlog"
_MINUTE_MS, _PATIENCE_S = 60_000, 3.0
_MAX_CHECKED = 1000
"""The most records of a topic that are looked at, the newest."""
_VERIFY = "`headrace audit verify` compares the whole log with its checkpoints."
_WRITE = "See whether `headrace audit write` runs, and what it says."


def now_ms() -> int:
    return int(time.time() * 1000)


class _DatedHead(NamedTuple):
    """A checkpoint and the time of its publication."""

    head: SignedHead
    at_ms: int


def check_log(
    log: Log, settings: ServiceSettings, clock: Callable[[], int] = now_ms
) -> Iterator[Check]:
    """Check the newest records of the transparency log, if the settings name a policy.

    clock: ms since the epoch.
    """
    if settings.tlog_policy is None:
        return
    try:
        policy = load_policy(settings.tlog_policy)
        origin = choose_origin(policy, settings.tlog_origin)
        heads = _read_heads(log, settings.prefix, policy, origin)
        yield _check_heads(heads, policy, origin)
        yield from _check_age(log, settings.prefix, heads, clock())
        yield from _check_batches(log, settings.prefix, policy, origin)
    except HeadraceError as exc:
        yield failed(NAME, exc)


def _read_heads(log: Log, prefix: str, policy: Policy, origin: str) -> list[_DatedHead]:
    """Return the newest checkpoints that a key of the log has signed, the newest first."""
    heads = []
    for value in _decode_newest(log, AUDIT_TREE_HEADS, prefix):
        head = None if value is None else parse_head(value["note"].encode(), policy, origin)
        if value is not None and head is not None:
            heads.append(_DatedHead(head, value["at"]))
    return heads


def _check_heads(heads: list[_DatedHead], policy: Policy, origin: str) -> Check:
    roots: dict[int, bytes] = {}
    for head, _ in heads:
        checkpoint = head.checkpoint
        if roots.setdefault(checkpoint.size, checkpoint.root) != checkpoint.root:
            message = f"two signed checkpoints of {checkpoint.size} entries contradict each other"
            return fail(NAME, message, _VERIFY)
    if not heads:
        return warn(NAME, f"no checkpoint of {origin} is published", _WRITE)
    head, at_ms = heads[0]
    judgement = judge_note(head.note, head.checkpoint, policy)
    newest = f"the newest checkpoint, of {head.checkpoint.size} entries at {iso_ms(at_ms)},"
    if judgement.fault is not None:
        return fail(NAME, f"{newest} is not accepted: {judgement.detail}", _WRITE)
    names = ", ".join(each.name for each in judgement.cosignatures) or "nobody"
    return ok(NAME, f"{newest} is cosigned by {names}")


def _check_age(log: Log, prefix: str, heads: list[_DatedHead], now: int) -> Iterator[Check]:
    """Check that no fact has been there for ten minutes that came after the newest checkpoint.

    Clocks may differ by a minute.
    """
    if not heads:
        return
    tps = partitions(log, sorted(logged_topics(prefix)))
    with log.reader(dict.fromkeys(tps, 0)) as reader:
        firsts = reader.first_since(heads[0].at_ms + _MINUTE_MS)
    records = (
        next(read_offsets(log, tp, [offset], _PATIENCE_S), None) for tp, offset in firsts.items()
    )
    oldest = min((record.timestamp for record in records if record is not None), default=now)
    if oldest < now - UNCOVERED_MS:
        message = f"facts since {iso_ms(oldest)} have no published entry"
        yield warn(NAME, message, _WRITE)


def _check_batches(log: Log, prefix: str, policy: Policy, origin: str) -> Iterator[Check]:
    """Check that the newest batches name the log and a key of it."""
    ids = {key.id for key in policy.keys_of(origin)}
    batches = list(_decode_newest(log, AUDIT_ENTRIES, prefix))
    foreign = [
        value
        for value in batches
        if value is None or value["origin"] != origin or value["key_id"] not in ids
    ]
    if foreign:
        message = f"{len(foreign)} of the newest {len(batches)} batches of entries do not count"
        yield warn(NAME, message, "Find out who may write there: `headrace topics acls`.")


def _decode_newest(log: Log, topic: Topic, prefix: str) -> Iterator[dict[str, Any] | None]:
    """Yield the values of the newest records of a topic, None for what is no record of it."""
    tps = partitions(log, [full_name(topic, prefix)])
    return (_decode(record, topic) for record in islice(newest_first(log, tps), _MAX_CHECKED))


def _decode(record: Record, topic: Topic) -> dict[str, Any] | None:
    try:
        value: dict[str, Any] = decode(record.value, topic.record or "").value
    except Undecodable:
        return None
    return value
