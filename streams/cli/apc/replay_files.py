"""The packets of a run from files: exports of the facts, and answers that were written before."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from streams.cli import common
from streams.engine.records import Record
from streams.errors import UsageError
from streams.ops.audit import segment
from streams.protocols.apc.queries.replay import answer_of, packets_in
from topology.apc import APC_EVENTS

Json = dict[str, Any]
_ANSWER = ("source", "run_id", "packets", "event_stream")
_NARROWED = ("session_id", "task_id")
_NEITHER = (
    "is neither a file of `headrace audit export` nor one of `headrace apc replay --out`"
    " (JSON lines or JSON, compressed if the name ends in .gz)"
)


class Sources(NamedTuple):
    """The files to read: exports, and answers by file."""

    exports: list[Path]
    answers: list[tuple[Path, Json]]


def replay_from(path: Path, filters: dict[str, str], limit: int) -> Json:
    """Return the answer about a run, from a file or from all files of a directory.

    Raises UsageError for what cannot be read, and for an answer that is only a part of what is
    asked for.
    """
    sources = _sources(path)
    parts = [packets_in(_facts(sources.exports), filters)]
    partial = []
    for file, answer in sources.answers:
        if answer["run_id"] == filters["run_id"]:
            if _is_narrower(answer, filters):
                partial.append((file, answer))
            parts.append(_matching(file, answer["packets"], filters))
    if partial and not parts[0] and len(partial) == len(parts) - 1:
        file, answer = partial[0]
        only = " and ".join(f"{name} {answer[name]}" for name in _NARROWED if answer.get(name))
        raise UsageError(
            f"{file} holds run {filters['run_id']} with {only} only",
            advice="Ask for the same with --session-id and --task-id, or give an export.",
        )
    return answer_of(_merged(parts), filters, limit)


def _sources(path: Path) -> Sources:
    sources = Sources([], [])
    files = sorted(each for each in path.iterdir() if each.is_file()) if path.is_dir() else [path]
    for file in files:
        if _is_export(file):
            sources.exports.append(file)
        elif (answer := _answer(file)) is not None:
            sources.answers.append((file, answer))
        elif path.is_dir():
            common.echo(f"passed over {file}, which {_NEITHER}", err=True)
        else:
            raise UsageError(f"{file} {_NEITHER}", advice="See `headrace apc replay --help`.")
    if not sources.exports and not sources.answers:
        raise UsageError(
            f"no file in {path} can be read", advice="See `headrace apc replay --help`."
        )
    return sources


def _is_export(file: Path) -> bool:
    try:
        with _open(file) as stream:
            first = json.loads(stream.readline(1000))
    except (ValueError, EOFError, zlib.error, OSError):
        return False
    return isinstance(first, dict) and "format" in first


def _answer(file: Path) -> Json | None:
    """Return the answer in a file, None if it holds none."""
    try:
        with _open(file) as stream:
            answer = json.load(stream)
    except (ValueError, EOFError, zlib.error, OSError, RecursionError):
        return None
    if isinstance(answer, dict) and all(name in answer for name in _ANSWER):
        return answer
    return None


def _open(file: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(file, "rb") if file.name.endswith(".gz") else file.open("rb"))


def _facts(exports: Iterable[Path]) -> Iterator[Record]:
    """Yield the facts about packets, each once, those of each partition in log order."""
    facts = {
        (record.topic, record.partition, record.offset): record
        for file in exports
        for record in segment.read(file).records
        if record.topic.endswith(APC_EVENTS.name)
    }
    return (facts[place] for place in sorted(facts))


def _is_narrower(answer: Json, filters: dict[str, str]) -> bool:
    """Return whether an answer was asked with a filter that this question has not."""
    return any(answer.get(name) not in (None, filters.get(name)) for name in _NARROWED)


def _matching(file: Path, packets: list[Json], filters: dict[str, str]) -> list[Json]:
    for name in _NARROWED:
        if name in filters:
            if any(name not in packet for packet in packets):
                raise UsageError(
                    f"{file} does not say the {name} of its packets",
                    advice="Version 0.2 wrote it; give an export, or leave the filter out.",
                )
            packets = [packet for packet in packets if packet[name] == filters[name]]
    return packets


def _merged(parts: list[list[Json]]) -> list[Json]:
    """Return the packets of all parts in log order; of two histories the longer one stands."""
    wholes = [part for part in parts if part]
    if len(wholes) <= 1:
        return wholes[0] if wholes else []
    packets: dict[tuple[Any, Any], Json] = {}
    for packet in (each for part in wholes for each in part):
        name = packet.get("session_id"), packet["packet_id"]
        other = packets.get(name)
        if other is None or len(packet["transitions"]) > len(other["transitions"]):
            packets[name] = packet
    return sorted(packets.values(), key=_log_order)


def _log_order(packet: Json) -> tuple[str, int, int]:
    _, partition, offset = packet.get("position", "/0/0").rsplit("/", 2)
    return packet["created_at"], int(partition), int(offset)
