"""`GET /v1/overview`: what was decided in a window of time, and what is open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from schemas.formats import iso_ms
from streams.api.route import Call, Query, Route
from streams.log.state import Backlog, backlogs
from streams.protocols.queries import QUERIES
from streams.routes.log import process_of
from streams.view_store.service_rows import FACTS
from streams.views.query_params import one_of
from streams.views.service.counters import (
    HOUR,
    MINUTE,
    TEN_MINUTES,
    BucketSize,
    Counts,
    counts_between,
)
from streams.views.service.verdicts import (
    ACCEPTED,
    DUPLICATE,
    REJECTED,
    VERDICTS,
    FactReading,
    Subject,
)

Json = dict[str, Any]
MOST_RULES = 50


class Window(NamedTuple):
    """A window of time: how many buckets of a size, the last of which holds the present."""

    size: BucketSize
    buckets: int


WINDOWS: Mapping[str, Window] = {
    "15m": Window(MINUTE, 15),
    "1h": Window(MINUTE, 60),
    "6h": Window(TEN_MINUTES, 36),
    "24h": Window(TEN_MINUTES, 144),
    "7d": Window(HOUR, 168),
}
DEFAULT_WINDOW = "15m"
_SUBJECTS: Mapping[str, Subject] = {
    topic: facts.reading.subject
    for topic, facts in FACTS.items()
    if isinstance(facts.reading, FactReading)
}
"""By topic of facts, without prefix."""


def read_overview(call: Call) -> Json:
    """Return the figures of a window.  Raises BrokerUnavailable if Kafka does not say the lag."""
    window = WINDOWS[call.params.text("window") or DEFAULT_WINDOW]
    last = window.size.bucket(call.now)
    first = last - window.buckets + 1
    buckets = dict(counts_between(call.view, window.size, first, last))
    total: Counter[tuple[str, str, str]] = Counter()
    for counts in buckets.values():
        total.update(counts)
    verdicts = _sum_by_verdict(total, Subject.COMMANDS)
    events = _sum_by_verdict(total, Subject.EVENTS)
    step_ms = window.size.seconds * 1000
    return {
        "from": iso_ms(first * step_ms),
        "to": iso_ms((last + 1) * step_ms),
        "step_s": window.size.seconds,
        "commands": sum(verdicts[verdict] for verdict in VERDICTS),
        **{verdict: verdicts[verdict] for verdict in VERDICTS},
        "events": {
            "recorded": events[ACCEPTED],
            **{verdict: events[verdict] for verdict in (DUPLICATE, REJECTED)},
        },
        "series": _series(buckets, range(first, last + 1)),
        "rules": _rules(total),
        "open": list(_open_work(call)),
        **{
            name: read(call.view, total) for side in QUERIES for name, read in side.overview.items()
        },
        **_state_of_log(call),
    }


def _sum_by_verdict(counts: Counts, subject: Subject) -> Counter[str]:
    sums: Counter[str] = Counter()
    for (topic, verdict, _), count in counts.items():
        if _SUBJECTS.get(topic) is subject:
            sums[verdict] += count
    return sums


def _series(buckets: Mapping[int, Counts], numbers: range) -> list[Json]:
    """Return the counts of each bucket by protocol and verdict, of commands alone."""
    series: dict[tuple[str, str], list[int]] = {}
    for index, number in enumerate(numbers):
        for (topic, verdict, _), count in buckets.get(number, {}).items():
            if _SUBJECTS.get(topic) is Subject.COMMANDS:
                name = FACTS[topic].protocol, verdict
                series.setdefault(name, [0] * len(numbers))[index] += count
    return [
        {"protocol": protocol, "verdict": verdict, "counts": counts}
        for (protocol, verdict), counts in sorted(series.items())
    ]


def _rules(counts: Counts) -> list[Json]:
    """Return the most frequent rules, the most frequent first."""
    about_records = (Subject.COMMANDS, Subject.EVENTS)
    rules = [
        (-n, labels) for labels, n in counts.items() if _SUBJECTS.get(labels[0]) in about_records
    ]
    return [
        {
            "protocol": FACTS[topic].protocol,
            "topic": topic,
            "verdict": verdict,
            "rule": rule,
            "count": -negative,
        }
        for negative, (topic, verdict, rule) in sorted(rules)[:MOST_RULES]
    ]


def _open_work(call: Call) -> Iterable[Json]:
    for side in QUERIES:
        for work in side.open_work:
            for state, count in work.counts(call.view).items():
                yield {"protocol": side.name, "kind": work.kind, "state": state, "count": count}


def _state_of_log(call: Call) -> Json:
    """Return the members that are no function of the log."""
    process = process_of(call)
    assert call.log is not None, "a process with a log answers this"
    processors = backlogs(call.log, process.log())
    letters = [
        {"topic": topic, "count": count}
        for topic, count in sorted(process.dead_letters().items())
        if count
    ]
    behind = [_backlog_json(backlog, call.now) for backlog in processors]
    return {
        "dead_letters": letters,
        "lag": {"view": process.view().lag, "processors": behind},
    }


def _backlog_json(backlog: Backlog, now: int) -> Json:
    oldest_s = None if backlog.oldest_ms is None else max(0, now - backlog.oldest_ms) / 1000
    return {"name": backlog.name, "records": backlog.records, "oldest_s": oldest_s}


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/overview",
        "read_overview",
        Query(read_overview, asks_kafka=True),
        "what was decided in a window of time, by protocol and rule, and what is open; `lag` and"
        " `dead_letters` are of now",
        (one_of("window", f"how far back; by default {DEFAULT_WINDOW}", tuple(WINDOWS)),),
        "Overview",
    ),
)
