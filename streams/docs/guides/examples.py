"""Examples of rules: small scenarios in docs/protocols/examples, each of which is played.

A line of `<protocol>/rules.jsonl` has the member `rule`, and `group` where two lists of a protocol
have a rule of that code.  Its other members are one of these:

- `steps`: what happens, the answer being the last that names the rule.  A step is the name of a
  committed example (a file below `schemas/examples/<protocol>`), such a name as `send` with changes
  as `with` (a JSON merge patch) and with members of a scenario's line, or a line of a scenario.
  `repeat` puts long texts and lists in its place: by JSON Pointer, a value and how often.
- `scenario`: a file of `scenarios/` in which the rule is met.
- `unreachable`: why no scenario gets this answer.

`settings`: those of the run, by variable.  `example`: the steps in words.  `reply`: the members of
the record that names the rule, to be shown where it has no message; inner ones after a dot.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from streams.docs.markdown import code
from streams.play.scenario import Scenario
from streams.processing.ingress import check
from streams.protocols.commands import COMMANDS, all_processors, bind_files
from streams.settings import Settings
from topology.declarations import Topic

Json = dict[str, Any]
ROOT = Path(__file__).resolve().parents[3]
CASES = ROOT / "docs" / "protocols" / "examples"
_NOW_MS = 1_767_225_600_000
_LISTS = ("warnings", "flags", "rules")
_MEMORY = Path("/dev/shm")
"""A folder in memory, where it exists: a scenario there is played ten times as fast."""
_OF_STEP = ("send", "with", "repeat")
_LONGEST = 160
"""The characters of a change up to which it is shown as it is."""


class Reply(NamedTuple):
    """A reply of the service to an example.

    path: a JSON Pointer, or empty.  message: without one, the verdict and its figures.
    """

    path: str
    message: str


class RuleExample(NamedTuple):
    """The example of one rule, as Markdown, and the reply; None if the rule is unreachable."""

    example: str
    reply: Reply | None


@cache
def examples_of(protocol: str) -> Mapping[str, Json]:
    """Return the committed valid envelopes of a protocol, by name."""
    (side,) = (each for each in COMMANDS if each.name == protocol)
    folders = dict.fromkeys(kind.name.partition(".")[0] for kind in side.kinds)
    root = files("schemas") / "examples"
    return {
        name: value
        for folder in folders
        for name, value in _read(Path(str(root / folder)), folder == protocol)
    }


def _read(folder: Path, is_own: bool) -> Iterator[tuple[str, Json]]:
    for path in sorted(folder.rglob("*.json")):
        if "invalid" not in path.parts:
            name = path.relative_to(folder if is_own else folder.parent).with_suffix("")
            yield name.as_posix(), json.loads(path.read_text(encoding="utf-8"))


@cache
def rule_examples(protocol: str) -> Mapping[tuple[str | None, str], RuleExample]:
    """Play the examples of a protocol, and return them by group (None for any) and rule."""
    with ExitStack() as stack:
        player = _Player(protocol, stack)
        return {
            (case.get("group"), case["rule"]): _example(player, case) for case in cases(protocol)
        }


@cache
def cases(protocol: str) -> Sequence[Json]:
    """Return the lines of a protocol's examples."""
    path = CASES / protocol / "rules.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.strip()]


def play_case(protocol: str, case: Json, changes: Mapping[str, Any]) -> list[Json]:
    """Play one example, not an unreachable one, and return what it writes.

    changes: fields of the settings that differ from those of the example.
    """
    with ExitStack() as stack:
        return _play(_Player(protocol, stack), case, changes)


def _play(player: _Player, case: Json, changes: Mapping[str, Any]) -> list[Json]:
    settings = replace(Settings(partitions=1).assign(case.get("settings", {})), **changes)
    if "scenario" in case:
        return player.play_file(case["scenario"], settings)
    return player.play(player.lines(case["steps"]), settings)


def _example(player: _Player, case: Json) -> RuleExample:
    if "unreachable" in case:
        return RuleExample(case["unreachable"], None)
    outputs = _play(player, case, {})
    named = [(output, reply) for output in outputs for reply in _replies(output, case["rule"])]
    if not named:
        raise ValueError(f"the example of {case['rule']} does not get it")
    if "reply" in case:
        records = [output.get("value", output.get("body")) for output, _ in reversed(named)]
        return RuleExample(_words(case), Reply("", _members(records, case["reply"])))
    with_text = (reply for _, reply in reversed(named) if reply.message)
    without = Reply("", _without_message(named[-1][0], case["rule"]))
    return RuleExample(_words(case), next(with_text, without))


def _members(records: Iterable[Any], names: Sequence[str]) -> str:
    """Return, in words, members of the first record that has them all."""
    values_of = ([_member(record, name) for name in names] for record in records)
    values = next(each for each in values_of if None not in each)
    return ", ".join(
        f"{code(name)} {_text(value)}" for name, value in zip(names, values, strict=True)
    )


def _member(record: Any, name: str) -> Any:
    """Return a member of a record, or of the last item where a list is on the way."""
    for step in name.split("."):
        record = record[-1] if isinstance(record, list) and record else record
        record = record.get(step) if isinstance(record, dict) else None
    return record


def _text(value: Any) -> str:
    spaced = isinstance(value, str) and " " in value
    return value if spaced else code(value if isinstance(value, str) else json.dumps(value))


def _words(case: Json) -> str:
    """Return an example as Markdown: its own words, the steps, or a link to its scenario."""
    if "scenario" not in case:
        words = case.get("example") or "; then ".join(map(_step_words, case["steps"]))
        settings = [code(f"HEADRACE_{n}={v}") for n, v in case.get("settings", {}).items()]
        return ", with ".join([words, *settings])
    link = f"[{case['scenario']}](../../scenarios/{case['scenario']})"
    return f"{case['example']} ({link})" if "example" in case else link


def _replies(output: Json, rule: str) -> Iterator[Reply]:
    """Yield what an output says under the name of the rule."""
    for value in objects_naming(output, rule):
        path, message = value.get("path"), value.get("message") or value.get("detail")
        yield Reply(
            path if isinstance(path, str) else "", message if isinstance(message, str) else ""
        )


def objects_naming(value: Any, rule: str) -> Iterator[Json]:
    """Yield the objects in an output that name the rule, the inner ones first."""
    if isinstance(value, list):
        for item in value:
            yield from objects_naming(item, rule)
    if not isinstance(value, dict):
        return
    for member in value.values():
        yield from objects_naming(member, rule)
    lists = (value.get(name) or () for name in _LISTS)
    if rule in (value.get("rule"), value.get("code")) or any(rule in each for each in lists):
        yield value


def _without_message(output: Json, rule: str) -> str:
    """Return the verdict and the figures of a fact, or else its topic."""
    value = list(objects_naming(output, rule))[-1]
    verdict, figures = value.get("verdict"), value.get("figures")
    parts = [verdict] if isinstance(verdict, str) else []
    parts += [code(json.dumps(figures, ensure_ascii=False))] if figures else []
    return " ".join(parts) or f"in {code(output.get('topic'))}"


def _step_words(step: str | Json) -> str:
    if isinstance(step, str):
        return code(step)
    if "send" in step:
        change = json.dumps(step.get("with", {}), ensure_ascii=False)
        if len(change) > _LONGEST:
            raise ValueError(f"the change is long; state the example in words: {change[:60]}…")
        extra = [f"{name} {code(step[name])}" for name in ("key", "timestamp") if name in step]
        extra += [f"{code(path)} {n} times {_text(v)}" for path, (v, n) in _repeated(step)]
        extra += ["past the edge"] if "as" in step else []
        changed = (
            f"{code(step['send'])} with {code(change)}" if "with" in step else code(step["send"])
        )
        return ", ".join([changed, *extra])
    if "advance_ms" in step:
        return f"{step['advance_ms'] / 1000:g} s pass"
    return code(json.dumps(step, ensure_ascii=False))


def _repeated(step: Json) -> Iterable[tuple[str, tuple[Any, int]]]:
    repeat: Mapping[str, tuple[Any, int]] = step.get("repeat", {})
    return repeat.items()


def merge(value: Any, change: Any) -> Any:
    """Apply a JSON merge patch (RFC 7396)."""
    if not isinstance(change, dict):
        return change
    merged = dict(value) if isinstance(value, dict) else {}
    for name, member in change.items():
        if member is None:
            merged.pop(name, None)
        else:
            merged[name] = merge(merged.get(name), member)
    return merged


class _Player:
    """Plays examples.  One that writes nothing leaves its scenario to the next."""

    def __init__(self, protocol: str, stack: ExitStack) -> None:
        self._protocol = protocol
        self._stack = stack
        self._unused: dict[Settings, Scenario] = {}
        self._files: dict[tuple[str, Settings], list[Json]] = {}

    def lines(self, steps: Iterable[str | Json]) -> list[Json]:
        """Return steps as lines of a scenario."""
        return [self._line({"send": step} if isinstance(step, str) else step) for step in steps]

    def _line(self, step: Json) -> Json:
        if "send" not in step:
            return step
        base = examples_of(self._protocol)[step["send"]]
        members = {name: value for name, value in step.items() if name not in _OF_STEP}
        value = merge(base, step.get("with", {}))
        for path, (part, count) in _repeated(step):
            *owners, last = path.removeprefix("/").split("/")
            change = {last: part * count}
            for owner in reversed(owners):
                change = {owner: change}
            value = merge(value, change)
        return {"topic": self._topic(base).name, "value": value, **members}

    def _topic(self, value: Json) -> Topic:
        """Return the topic whose edge takes an example."""
        (side,) = (each for each in COMMANDS if each.name == self._protocol)
        return next(
            edge.topic for edge in side.edges if not check(edge.kind, value, _NOW_MS, Settings())[1]
        )

    def play(self, lines: Iterable[Json], settings: Settings) -> list[Json]:
        bind_files(settings)
        scenario = self._unused.pop(settings, None) or self._new(settings)
        outputs = [
            output
            for number, line in enumerate(lines, 1)
            for output in scenario.line(number, json.dumps(line))
        ]
        if outputs and all("rejected" in output for output in outputs):
            self._unused[settings] = scenario
        return outputs

    def _new(self, settings: Settings) -> Scenario:
        parent = _MEMORY if os.access(_MEMORY, os.W_OK) else None
        folder = self._stack.enter_context(TemporaryDirectory("", "headrace-examples-", parent))
        scenario = Scenario(settings, Path(folder), all_processors)
        self._stack.callback(scenario.close)
        return scenario

    def play_file(self, name: str, settings: Settings) -> list[Json]:
        if (name, settings) not in self._files:
            text = (ROOT / "scenarios" / name).read_text(encoding="utf-8")
            lines = [json.loads(line) for line in text.splitlines() if line.strip()]
            self._files[name, settings] = self.play(lines, settings)
        return self._files[name, settings]
