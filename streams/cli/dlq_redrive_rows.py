"""The runs and the output of `headrace dlq redrive`."""

from __future__ import annotations

import os
import pwd
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

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
from streams.ops.redrive.redriven import sent_back
from streams.settings import Settings
from streams.telemetry.progress import progress

_SETTLED = (RedriveStatus.DONE,)


class Row(NamedTuple):
    """A dead letter and what became of it.

    outcome: `sent`, the verdict of a dry run, or why it is not sent.  detail: its new position, or
    the message of the verdict.
    """

    dead_letter: DeadLetter
    outcome: str
    detail: str | None = None
    rule: str | None = None

    @property
    def needs_attention(self) -> bool:
        status = self.dead_letter.standing
        return status not in (RedriveStatus.READY, *_SETTLED) or self.outcome == "dead_letter"


def user_name() -> str:
    """Return the name of the user who runs the command."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def run(
    log: Log, settings: Settings, selection: Selection, request: RedriveRequest
) -> Iterator[Row]:
    with Redrive(log, settings, common.now_ms) as redrive, progress("redrive") as bar:
        letters = dead_letters(log, settings.prefix, selection, redrive.done)
        for dead_letter, position in redrive.send(letters, request):
            bar.advance()
            yield Row(dead_letter, "sent" if position else dead_letter.standing.value, position)


def dry_run(log: Log, settings: Settings, selection: Selection) -> Iterator[Row]:
    from streams.protocols.commands import all_processors, bind_files

    bind_files(settings)
    done = sent_back(log, settings.prefix)
    with tempfile.TemporaryDirectory(prefix="headrace-redrive-") as folder:
        letters = dead_letters(log, settings.prefix, selection, done)
        now_ms = common.now_ms()
        with progress("dry run") as bar:
            for dead_letter, verdict in simulate(
                letters, log, settings, all_processors(), Path(folder), now_ms
            ):
                bar.advance()
                yield _row(dead_letter, verdict)


def _row(dead_letter: DeadLetter, verdict: Verdict | None) -> Row:
    if verdict is None:
        return Row(dead_letter, dead_letter.standing.value)
    return Row(dead_letter, verdict.verdict, verdict.message, verdict.rule)


def show(rows: Iterator[Row], as_json: bool) -> bool:
    """Print rows as they come; return whether none needs attention."""
    counts: Counter[str] = Counter()
    clean = True
    for row in rows:
        counts[row.outcome] += 1
        clean = clean and not row.needs_attention
        common.echo(common.json_line(_json(row)) if as_json else _line(row))
    if not as_json:
        total = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
        common.echo(total or "no dead letters")
    return clean


def _json(row: Row) -> dict[str, Any]:
    dead_letter = row.dead_letter
    return {
        "position": dead_letter.place,
        "source": dead_letter.source,
        "topic": dead_letter.topic.name,
        "code": dead_letter.code,
        "outcome": row.outcome,
        "rule": row.rule,
        "told": row.detail,
    }


def _line(row: Row) -> str:
    cells = (row.dead_letter.place, row.dead_letter.code, row.outcome, row.rule, row.detail)
    return "  ".join(text for text in cells if text)
