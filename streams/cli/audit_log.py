"""The transparency log that `headrace audit write` writes where a policy is set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from streams.cli import common
from streams.errors import UsageError

if TYPE_CHECKING:
    from streams.engine.records import TopicPartition
    from streams.ops.tlog.log_keys import LogKeys
    from streams.ops.tlog.writer import Round
    from streams.settings import Settings


def write_log(
    settings: Settings,
    once: bool,
    every_s: float,
    gaps: Sequence[str],
    previous: Sequence[Path] | None,
    as_json: bool,
) -> None:
    """Write the transparency log until Ctrl-C; with `once`, until no record is left.

    gaps: topic/partition, each to go on without its first records.
    previous: public keys of chains of checkpoints, besides the log's; None: no chain is checked.
    """
    from streams.engine.metrics_server import serve_registry
    from streams.ops.audit import keys_of
    from streams.ops.tlog.chains import chain_keys
    from streams.ops.tlog.errors import NotWitnessed
    from streams.ops.tlog.log_keys import load_log_keys
    from streams.ops.tlog.tile_directory import TileDirectory
    from streams.ops.tlog.witness_client import WitnessClient
    from streams.ops.tlog.writer import AT_ONCE, LogWriter
    from streams.ops.tlog.writer_metrics import WriterMetrics

    if settings.crash_at:
        from streams.ops.tlog import crash_points

        crash_points.install(settings.crash_at)
    keys = load_log_keys(settings)
    timeout_s, authorities = settings.tlog_witness_timeout_s, settings.tlog_witness_ca
    accepted_gaps = [_parse_partition(gap) for gap in gaps]
    chains = None if previous is None else chain_keys(keys, keys_of(previous))
    metrics = WriterMetrics()
    directory = TileDirectory(settings.tlog_dir or settings.state_dir / "tlog")
    with (
        common.interrupts() as stopped,
        common.connect(settings) as log,
        WitnessClient(keys.policy, timeout_s, authorities) as witnesses,
        LogWriter(
            log, settings.prefix, keys, directory, common.now_ms, accepted_gaps, witnesses, chains
        ) as writer,
        serve_registry(settings.metrics, metrics.registry, lambda: {"ready": True}),
    ):
        while True:
            result = writer.round()
            metrics.count(result)
            if result.records or result.note is not None or result.lacks_quorum:
                _print_round(keys, result, as_json)
            more = result.records >= AT_ONCE
            if stopped.is_set() or (not more and (once or stopped.wait(every_s))):
                break
    if once and result.lacks_quorum:
        message = f"not_witnessed: the checkpoint of {result.size} entries is not published"
        raise NotWitnessed(message)


def _parse_partition(text: str) -> TopicPartition:
    from streams.engine.records import TopicPartition

    topic, _, number = text.rpartition("/")
    if not topic or not (number.isascii() and number.isdecimal() and len(number) < 10):
        raise UsageError(f"--accept-gap {text}: it is TOPIC/PARTITION, as apc.events/0")
    return TopicPartition(topic, int(number))


def _print_round(keys: LogKeys, result: Round, as_json: bool) -> None:
    from streams.ops.tlog.note import to_base64

    published = result.note is not None
    root = to_base64(result.root)
    if as_json:
        members = {
            "origin": keys.origin,
            "first": result.first,
            "size": result.size,
            "root": root,
            "records": result.records,
            "published": published,
            "witnesses": [
                {"name": each.name, "result": each.outcome, "detail": each.detail}
                for each in result.witnesses
            ],
            "note": None if result.note is None else result.note.encode().decode(),
        }
        common.echo(common.json_line(members))
        return
    common.echo(
        f"size {result.size} (+{result.records}) root {root}"
        f" {'published' if published else 'not published'}{_render_witnesses(result)}"
    )


def _render_witnesses(result: Round) -> str:
    """Return which witnesses have cosigned, and why others have not; nothing without any."""
    cosigned = [each.name for each in result.witnesses if each.signature is not None]
    missing = [
        f"{each.name} ({each.outcome}: {each.detail})"
        for each in result.witnesses
        if each.signature is None
    ]
    parts = [f", cosigned by {' '.join(cosigned)}"] if cosigned else []
    return "".join([*parts, *([f", without {', '.join(missing)}"] if missing else [])])
