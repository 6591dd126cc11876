"""Check what the commands of SAP, ASAP, Summit and SAOP print, over scenarios played to their ends.

Each prints text that fits 80 columns and 200, and in a pipe what version 0.2 printed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from streams.cli import common
from streams.cli.summit.schema_text import show_schema
from streams.cli.text import Page
from streams.settings import Settings
from tests.unit.cli.hostile_values import HOSTILE
from tests.unit.cli.looking import look_at_story, run_at
from tests.unit.cli.test_record_lines import is_inert
from tests.unit.routes.stories import LEARNING, Story, lines_of

GOLDEN = Path(__file__).parent / "golden"
WRITE = os.environ.get("GOLDEN") == "write"
TASK = "00000001-0d2c-4c1a-9b75-2a4b3b0b6c0a"
CACHE_KEY = "@cache-key"
COMMANDS: dict[str, tuple[str, str]] = {
    "sap-tasks": ("sap-tasks", "sap tasks"),
    "sap-show": ("sap-tasks", f"sap show {TASK}"),
    "sap-result": ("sap-tasks", f"sap result {TASK}"),
    "sap-explain": ("sap-tasks", f"sap explain {TASK}"),
    "sap-cache-keys": ("sap-cache", "sap cache"),
    "sap-learning-all": (LEARNING, "sap learning"),
    "sap-heuristics-all": (LEARNING, "sap heuristics"),
    "asap-conversations": ("asap-tasks", "asap conversations"),
    "sap-cache": ("sap-cache", f"sap cache {CACHE_KEY}"),
    "sap-cache-version": ("sap-cache", f"sap cache {CACHE_KEY} --version 1"),
    "sap-cache-verify": ("sap-cache", "sap cache --verify"),
    "sap-learning": (LEARNING, "sap learning report.summarise"),
    "sap-heuristics": (LEARNING, "sap heuristics report.summarise"),
    "asap-tasks": ("asap-tasks", "asap tasks"),
    "asap-show": ("asap-tasks", "asap show t1"),
    "asap-events": ("asap-tasks", "asap events t1"),
    "asap-snapshots": ("asap-snapshots", "asap snapshots t1"),
    "asap-snapshot": ("asap-snapshots", "asap snapshots t1 latest"),
    "asap-messages": ("asap-tasks", "asap messages t1"),
    "asap-agents": ("asap-manifests", "asap agents"),
    "asap-agent": ("asap-manifests", "asap agents urn:asap:agent:indexer:eu"),
    "summit-agents": ("summit-run", "summit agents"),
    "summit-schema": ("summit-run", "summit schema word-stats"),
    "summit-tools": ("summit-run", "summit tools"),
    "summit-show": ("summit-run", "summit show run-7f2"),
    "summit-runs": ("summit-run", "summit runs"),
    "summit-tree": ("summit-run", "summit tree run-7f2"),
    "summit-verify": ("summit-run", "summit verify run-7f2"),
    "saop-sessions": ("five-protocols", "saop sessions"),
    "saop-tasks": ("saop-failures", "saop tasks"),
    "saop-turns": ("saop-detectors", "saop turns --task fix-1"),
    "saop-escalations": ("saop-detectors", "saop escalations"),
    "saop-rewinds": ("rtes-rewind", "saop rewinds"),
    "saop-audit": ("saop-stream", "saop audit --task trace-1"),
    "rtes-calls": ("rtes-calls", "rtes calls --session s-9"),
    "rtes-rejections": ("rtes-refusals", "rtes rejections --session s-9"),
}
"""The scenario of each, and its words."""
OURS = re.compile(r"[\d.]+|\d{4}-\d\d-\d\dT.*|[A-Z_]+|[a-z_.]+")
"""Numbers, times, states and rules."""
OWN = {"sap-cache-verify", "saop-turns", "summit-schema", "summit-tools"}
"""Commands whose texts of others are none, or do not come from `ask`."""
EXIT_CODES: dict[str, int] = {}


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Story]]:
    names = {scenario for scenario, _ in COMMANDS.values()}
    played = {name: Story(lines_of(name), tmp_path_factory.mktemp(name)) for name in names}
    yield played
    for story in played.values():
        story.scenario.close()


def look_at_its_log(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands with an own view read the scenario's log."""
    scenario = story.scenario

    @contextmanager
    def looking(settings: Settings, after: str | None = None) -> Iterator[tuple[Any, Any]]:
        scenario._view.catch_up(0)
        yield scenario.log, scenario._view

    monkeypatch.setattr(common, "open_log_and_view", looking)


def words_of(name: str, story: Story) -> list[str]:
    words = COMMANDS[name][1].split()
    return [_cache_key(story) if word == CACHE_KEY else word for word in words]


def _cache_key(story: Story) -> str:
    node = min(node for node in story.nodes if node.startswith("sap:cache:"))
    return node.split(":")[2].partition("/")[0]


@pytest.mark.parametrize("form", ["80", "200", "pipe"])
@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_command_prints(
    name: str, form: str, stories: dict[str, Story], monkeypatch: pytest.MonkeyPatch
) -> None:
    story = stories[COMMANDS[name][0]]
    look_at_story(story, monkeypatch)
    look_at_its_log(story, monkeypatch)
    monkeypatch.setattr(common, "now_ms", lambda: story.scenario.now)
    words = words_of(name, story)
    columns = 80 if form == "pipe" else int(form)
    printed = run_at(*words, *([] if form == "pipe" else ["--text"]), columns=columns)
    assert printed.exit_code == EXIT_CODES.get(name, 0), printed.output
    if form != "pipe":
        assert max(map(len, printed.stdout.splitlines())) <= columns
    check_golden(f"{name}-{form}", printed.stdout)


@pytest.mark.parametrize("form", [[], ["--text"], ["--text", "--wide"]], ids=" ".join)
@pytest.mark.parametrize("name", COMMANDS)
def test_texts_of_others_are_escaped(
    name: str, form: list[str], stories: dict[str, Story], monkeypatch: pytest.MonkeyPatch
) -> None:
    story = stories[COMMANDS[name][0]]
    words = words_of(name, story)

    def ask(path: str, query: str, settings: Settings) -> Any:
        status, body = story.ask(f"{path}?{query}")
        assert status == 200
        return hostile(body)

    monkeypatch.setattr(common, "ask", ask)
    look_at_its_log(story, monkeypatch)
    printed = run_at(*words, *form)
    assert printed.exit_code == EXIT_CODES.get(name, 0), printed.output
    assert HOSTILE[0] in printed.stdout or name in OWN
    for line in printed.stdout.splitlines():
        assert is_inert(line)


def test_a_schema_of_others_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    described = {"type": HOSTILE, "description": HOSTILE, "enum": [HOSTILE]}
    for schema in ({"properties": {HOSTILE: described, "b": HOSTILE}}, HOSTILE, None, [HOSTILE]):
        show_schema(schema, Page())
    printed = capsys.readouterr().out
    assert HOSTILE[0] in printed
    for line in printed.splitlines():
        assert is_inert(line)


def hostile(value: Any) -> Any:
    """Return a body in which a hostile text follows each one that is no figure or word of ours."""
    match value:
        case dict():
            return {name: hostile(member) for name, member in value.items()}
        case list():
            return [hostile(member) for member in value]
        case str() if not OURS.fullmatch(value):
            return value + HOSTILE
    return value


def check_golden(name: str, printed: str) -> None:
    """Compare with the stored text; GOLDEN=write stores it."""
    masked = re.sub(r"\d\d:\d\d:\d\d\.\d{3}", "<time>......", printed)
    path = GOLDEN / f"{name}.txt"
    if WRITE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(masked)
    assert masked == path.read_text()
