"""What a live query said after each line of a scenario is what it says looking back there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.formats import iso_ms
from streams.engine.records import TopicPartition
from streams.log.fetching import records_of
from streams.play.scenario import Scenario
from streams.protocols.commands import all_processors, bind_files
from streams.settings import Settings
from tests.examples import example_count

pytestmark = pytest.mark.slow

SCENARIOS = sorted((Path(__file__).resolve().parents[4] / "scenarios").glob("*.jsonl"))
Json = dict[str, Any]
GONE = 410


def things(output: Json) -> Iterator[str]:
    """The paths of what a record of a public table is about."""
    key = [quote(part, safe="%") for part in (output.get("key") or "").split("/")]
    match output.get("topic"):
        case "apc.packet-states":
            path = f"/v1/apc/sessions/{key[0]}/packets/{key[1]}"
            yield from (path, f"{path}/events?limit=1000")
        case "sap.task-states":
            yield f"/v1/sap/tasks/{key[0]}"
        case "sap.cache":
            yield from (f"/v1/sap/cache/{key[0]}", f"/v1/sap/cache/{key[0]}/versions")
        case "summit.runs":
            path = f"/v1/summit/runs/{quote(output['value']['runId'], safe='')}"
            yield from (path, f"{path}/events?limit=500")
        case "asap.tasks":
            path = f"/v1/asap/tasks/{quote(output['value']['task_id'], safe='')}"
            yield from (path, f"{path}/events?limit=1000")
        case "saop.tasks":
            task, session = output["value"]["task_id"], output["value"]["session_id"]
            named = f"session_id={quote(session, safe='')}&task_id={quote(task, safe='')}"
            yield f"/v1/saop/tasks?{named}"
        case "rtes.events" | "rtes.rejections":
            yield f"/v1/saop/sessions?session_id={key[0]}"


def ask(scenario: Scenario, path: str, as_of: str | None = None) -> tuple[int, Any]:
    more = "" if as_of is None else ("&" if "?" in path else "?") + f"as_of={quote(as_of, safe='')}"
    response = scenario.line(0, json.dumps({"query": f"GET {path}{more}"}))[0]
    body = response["body"]
    if response["status"] != 200:
        body = {name: body[name] for name in ("status", "rule")}
    return response["status"], _without_age(body)


def _without_age(body: Any) -> Any:
    """The age of a cached answer is counted to the moment of the question."""
    if isinstance(body, dict):
        return {name: _without_age(value) for name, value in body.items() if name != "ageSec"}
    return [_without_age(each) for each in body] if isinstance(body, list) else body


class Story:
    """A scenario, and what was said of each thing after each of its lines.

    said: by thing, (time, position of the line's record, answer).  late: times that facts bear
    which were written later, as a timeout's are.
    """

    def __init__(self, lines: Iterable[str], folder: Path) -> None:
        one = Settings(partitions=1)
        bind_files(one)
        self.scenario = Scenario(one, folder, all_processors)
        self.said: dict[str, list[tuple[str, str | None, Any]]] = {}
        self.late: set[str] = set()
        for number, text in enumerate(lines, 1):
            if text.strip():
                self._line(number, text)

    def _line(self, number: int, text: str) -> None:
        line, before = json.loads(text), iso_ms(self.scenario.now)
        outputs = self.scenario.line(number, text)
        for each in outputs:
            for thing in things(each):
                self.said.setdefault(thing, [])
            at = each["value"].get("at") if isinstance(each.get("value"), dict) else None
            self.late |= {at} if at is not None and at <= before else set()
        position = self._position(line)
        for thing, answers in self.said.items():
            answers.append((iso_ms(self.scenario.now), position, ask(self.scenario, thing)))

    def _position(self, line: Json) -> str | None:
        """Return the position of the last record of the line's topic, which the service may write.

        Behind what the service writes lies an offset without a record, as a transaction's end has.
        """
        if "topic" not in line or line.get("raw_base64"):
            return None
        tp, read = TopicPartition(line["topic"], 0), records_of(self.scenario.log)
        offsets = range(self.scenario.log.ends([tp])[tp] - 1, -1, -1)
        places = (f"{tp.topic}/0/{offset}" for offset in offsets)
        return next((place for place in places if read(place) is not None), None)

    def turns(self, thing: str) -> Iterator[tuple[str | None, str | None, Any]]:
        """What was said just before it changed and just after, and last."""
        answers = self.said[thing]
        for n, (now, position, answer) in enumerate(answers):
            following = answers[n + 1][2] if n + 1 < len(answers) else None
            if answer != following or (n and answer != answers[n - 1][2]):
                times = [each[0] for each in answers]
                again = times.count(now) > 1  # of records of one time none is before the other
                yield (
                    (None if again or now in self.late else now),
                    None if again else position,
                    answer,
                )


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_looking_back_finds_what_was_said_then(path: Path, tmp_path: Path) -> None:
    check(path.read_text("utf-8").splitlines(), tmp_path)


POOL = [
    json.dumps({name: member for name, member in json.loads(line).items() if name != "timestamp"})
    for name in ("acknowledgements", "asap-tasks", "rtes-rewind", "sap-tasks", "summit-replies")
    for line in (SCENARIOS[0].parent / f"{name}.jsonl").read_text("utf-8").splitlines()
    if '"topic"' in line
]
"""Records of all protocols, to come in any order."""
PAUSES = st.integers(1, 400_000).map(lambda ms: json.dumps({"advance_ms": ms}))


@settings(max_examples=example_count(8), deadline=None, derandomize=True)
@given(st.lists(st.one_of(st.sampled_from(POOL), st.sampled_from(POOL), PAUSES), max_size=40))
def test_so_it_does_whatever_comes_in_whatever_order(lines: list[str]) -> None:
    with TemporaryDirectory() as folder:
        check(lines, Path(folder))


def without_tree(answer: Any) -> Any:
    """Return an answer without the totals of a run's tree, which the past does not know."""
    status, body = answer
    return status, {name: each for name, each in body.items() if name != "tree"}


def check(lines: Iterable[str], folder: Path) -> None:
    story = Story(lines, folder)
    try:
        for thing in story.said:
            for now, position, answer in story.turns(thing):
                points = [point for point in (now, position) if point]
                answers = {point: ask(story.scenario, thing, point) for point in points}
                gone = {p for p, (status, _) in answers.items() if status == GONE}
                assert not gone or "/v1/asap/tasks/" in thing
                for each in set(points) - gone:
                    assert without_tree(answers[each]) == without_tree(answer), (each, thing)
    finally:
        story.scenario.close()
