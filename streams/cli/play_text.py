"""A run of a scenario for people: a line for each of its lines, and a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from streams.api.core_lines import dead_letter_line
from streams.api.lines import Line, count_of, duration, verdict_line
from streams.cli import common
from streams.cli.cells import GAP
from streams.cli.line_text import clock_time, line_cells
from streams.cli.record_lines import LINES
from streams.cli.text import Page
from streams.doors.playing import SERVERS
from streams.play.lines import parse_line
from streams.play.scenario import START_MS, open_scenario
from streams.settings import Settings
from topology import topics
from topology.declarations import Topic, TopicKind
from topology.verdicts import VERDICTS

Json = dict[str, Any]
_COUNTED = {"accepted": "accepted", "duplicate": "duplicate", "rejected": "refused"}
_INDENT = " " * 6


def show_scenario(lines: Iterable[str], settings: Settings, page: Page) -> None:
    """Run a scenario and print it.  Raises SettingsError, LineError."""
    counts: Counter[str] = Counter()
    with open_scenario(settings, servers=SERVERS) as scenario:
        for number, text in enumerate(lines, 1):
            if text.strip():
                outputs = scenario.line(number, text)
                counts.update(_show_line(number, parse_line(text), outputs, settings, page))
        _show_summary(counts, scenario.now)


def _show_line(
    number: int, line: Json, outputs: Sequence[Json], settings: Settings, page: Page
) -> Counter[str]:
    """Print a line and what came of it, and return what it counts for."""
    counts = Counter(lines=1, records=sum("headers" in output for output in outputs))
    head = f"{number:>3}"
    if "topic" in line:
        result, outcome = _outcome(str(line["topic"]), outputs, settings.prefix)
        counts[outcome] += 1
        _show(head, str(line["topic"]), result, page)
    elif "query" in line:
        answer = next(output for output in outputs if "query" in output)
        _show(head, "query", Line(who=str(answer["query"]), text=str(answer["status"])), page)
        body = common.json_text(answer["body"])
        common.echo_block("\n".join(_INDENT + each for each in body.splitlines()))
    elif "advance_ms" in line:
        advance = Line(who=duration(line["advance_ms"]), text=_rules(outputs, settings.prefix))
        _show(head, "advance", advance, page)
    else:
        _show(head, "restart", Line(who="all tables restored from the log"), page)
    return counts


def _show(head: str, subject: str, line: Line, page: Page) -> None:
    start = [page.plain(head, "dim"), page.plain(f"{subject:<11}", "dim")]
    cells = line_cells(line, page)
    width = sum(cell.width + GAP for cell in (*start, *cells)) - GAP
    if line.rule and line.what.strip() and page.width is not None and width > page.width:
        cells = line_cells(replace(line, what=""), page)  # the rule rather than the description
    *others, last = cells
    page.line(*start, *others, last._replace(flexible=True))


def _outcome(name: str, outputs: Sequence[Json], prefix: str) -> tuple[Line, str]:
    """Return the line of a record's verdict, and what it counts as."""
    for output in outputs:
        if output.get("topic", "") is None:
            problem = output["rejected"]
            reason = f"{problem['path']}: {problem['message']}".removeprefix(": ")
            return verdict_line("", "", "rejected", problem["rule"], reason), "refused"
    topic = topics.BY_NAME[name]
    for output in outputs:
        written = _topic_of(output, prefix)
        if written is None or not _is_caused_by(output, prefix + name):
            continue
        if written.name == f"{name}.dlq":
            headers = output["headers"]
            code = headers.get("kafka_dlt-exception-fqcn", "")
            return dead_letter_line(
                "", code, headers.get("kafka_dlt-exception-message", "")
            ), "dead"
        if written in VERDICTS.get(topic, ()):
            return _verdict(written, output["value"])
    return Line(who="", text="no verdict", reason=count_of(len(outputs), "record")), "undecided"


def _verdict(topic: Topic, value: Json) -> tuple[Line, str]:
    line = LINES[topic.name](value)
    verdict = value.get("verdict", "accepted")
    if "verdict" not in value:
        line = verdict_line(
            line.who, f"{line.sign or ''} {line.text}".strip(), verdict, None, line.place
        )
    return line, _COUNTED.get(verdict, "undecided")


def _is_caused_by(output: Json, input_name: str) -> bool:
    """Return whether the record's cause, or the original of a dead letter, is on the topic."""
    headers = output["headers"]
    original = headers.get("kafka_dlt-original-topic")
    cause = str(headers.get("headrace-cause") or original or "")
    return cause.rpartition("/")[0].rpartition("/")[0] == input_name or original == input_name


def _topic_of(output: Json, prefix: str) -> Topic | None:
    return topics.BY_NAME.get(str(output.get("topic") or "").removeprefix(prefix))


def _rules(outputs: Sequence[Json], prefix: str) -> str:
    """Return the rules of the facts that timers wrote, and how often each."""
    rules: Counter[str] = Counter()
    for output in outputs:
        topic = _topic_of(output, prefix)
        if topic is not None and topic.kind is TopicKind.FACT and topic.name != "rtes.events":
            value = output["value"] or {}
            rules[str(value.get("rule") or topic.name)] += 1
    names = [rule if count == 1 else f"{count} × {rule}" for rule, count in rules.items()]
    return ", ".join(names) or "no timer was due"


def _show_summary(counts: Counter[str], now_ms: int) -> None:
    verdicts = [f"{counts[word]} {word}" for word in ("accepted", "duplicate", "refused")]
    text = ", ".join([*verdicts, count_of(counts["dead"], "dead letter")])
    if counts["undecided"]:
        text += f", {counts['undecided']} without a verdict"
    lines, records = count_of(counts["lines"], "line"), count_of(counts["records"], "record")
    common.echo(
        f"{lines}: {text}; {records}; clock {_clock(now_ms)}. All records: --json", err=True
    )


def _clock(now_ms: int) -> str:
    """Return the time of a scenario's clock, with its date if that is not the first day."""
    at, start = (datetime.fromtimestamp(ms / 1000, UTC).date() for ms in (now_ms, START_MS))
    time = clock_time(now_ms)
    return time if at == start else f"{at} {time}"
