"""What `headrace dlq redrive` does and shows."""

from __future__ import annotations

import os
import pwd
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click

from streams.cli import common
from streams.engine.log import Log
from streams.ops.redrive import (
    DeadLetter,
    Redrive,
    RedriveRequest,
    RedriveStatus,
    Selection,
    Verdict,
    dead_letters,
    simulate,
)
from streams.ops.redrive.redrive import sent_back
from streams.settings import Settings
from streams.telemetry.progress import progress

_QUIET = (RedriveStatus.DONE,)


class Row(NamedTuple):
    """outcome: `sent`, the verdict of a dry run, or why it is not sent.  told: its position, or
    what the verdict says."""

    letter: DeadLetter
    outcome: str
    told: str | None = None
    rule: str | None = None

    @property
    def bad(self) -> bool:
        standing = self.letter.standing
        return standing not in (RedriveStatus.READY, *_QUIET) or self.outcome == "dead_letter"


def user() -> str:
    """The name of whoever runs this."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def run(log: Log, settings: Settings, wanted: Selection, order: RedriveRequest) -> Iterator[Row]:
    with Redrive(log, settings, common.now_ms) as redrive, progress("redrive") as bar:
        found = dead_letters(log, settings.prefix, wanted, redrive.done)
        for letter, place in redrive.send(found, order):
            bar.advance()
            yield Row(letter, "sent" if place else letter.standing.value, place)


def dry_run(log: Log, settings: Settings, wanted: Selection) -> Iterator[Row]:
    from streams.protocols.commands import all_processors, bind_files

    bind_files(settings)
    done = sent_back(log, settings.prefix)
    with tempfile.TemporaryDirectory(prefix="headrace-redrive-") as folder:
        found = dead_letters(log, settings.prefix, wanted, done)
        at = common.now_ms()
        with progress("dry run") as bar:
            for letter, verdict in simulate(
                found, log, settings, all_processors(), Path(folder), at
            ):
                bar.advance()
                yield _told(letter, verdict)


def _told(letter: DeadLetter, verdict: Verdict | None) -> Row:
    if verdict is None:
        return Row(letter, letter.standing.value)
    return Row(letter, verdict.verdict, verdict.message, verdict.rule)


def show(rows: Iterator[Row], as_json: bool) -> bool:
    """Print each as it comes; false when something is left that ought not to be."""
    counts: Counter[str] = Counter()
    clean = True
    for row in rows:
        counts[row.outcome] += 1
        clean = clean and not row.bad
        click.echo(common.json_line(_json(row)) if as_json else _line(row))
    if not as_json:
        total = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
        click.echo(total or "no dead letters")
    return clean


def _json(row: Row) -> dict[str, Any]:
    letter = row.letter
    return {
        "position": letter.place,
        "source": letter.source,
        "topic": letter.topic.name,
        "code": letter.code,
        "outcome": row.outcome,
        "rule": row.rule,
        "told": row.told,
    }


def _line(row: Row) -> str:
    shown = (row.letter.place, row.letter.code, row.outcome, row.rule, row.told)
    return "  ".join(text for text in shown if text)
