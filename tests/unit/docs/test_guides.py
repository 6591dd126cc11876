"""The guides of protocols: tables as generated, each rule with an example, each command run."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from streams.cli import main
from streams.docs import guides
from streams.docs.guides import examples, render
from streams.docs.guides.examples import merge, rule_examples
from streams.docs.guides.rules import example_of
from streams.protocols.commands import COMMANDS
from tests.skeleton import with_event_type
from tests.unit.docs.guides import (
    GUIDES,
    ROOT,
    Command,
    Program,
    commands,
    excerpts,
    missing_line,
    programs,
)

_ROW = re.compile(r"^\| `(\w+)` \|.*\|  \|$", re.MULTILINE)
RULES = "rules.jsonl"


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_the_tables_of_a_guide_are_what_the_declarations_say(guide: Path) -> None:
    text = guide.read_text(encoding="utf-8")
    assert render(guide.stem, text) == text, "run `python -m streams.docs`"


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_every_member_in_a_table_has_a_meaning(guide: Path) -> None:
    sections = re.findall(
        r"<!-- generated: (?:fields|record) .+? -->\n.*?<!-- end -->",
        guide.read_text(encoding="utf-8"),
        re.DOTALL,
    )
    assert [(s.splitlines()[0], name) for s in sections for name in _ROW.findall(s)] == []


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_every_rule_is_in_the_guide_with_an_example(guide: Path) -> None:
    (side,) = (each for each in COMMANDS if each.name == guide.stem)
    text, played = guide.read_text(encoding="utf-8"), rule_examples(guide.stem)
    rules = [(group, rule) for group, rules in side.rules.items() for rule in rules]
    assert [rule.code for _, rule in rules if f"| `{rule.code}` |" not in text] == []
    assert [
        (group, rule.code) for group, rule in rules if not example_of(played, group, rule)
    ] == []


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_every_example_is_of_a_rule(guide: Path) -> None:
    (side,) = (each for each in COMMANDS if each.name == guide.stem)
    known: set[tuple[str | None, str]] = {
        (group, rule.code) for group, rules in side.rules.items() for rule in rules
    }
    known |= {(None, code) for _, code in known}
    path = examples.CASES / guide.stem / RULES
    cases = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    named = [(case.get("group"), case["rule"]) for case in cases]
    assert [each for each in named if each not in known] == []
    assert len(named) == len(set(named))


@pytest.mark.parametrize("command", [each for guide in GUIDES for each in commands(guide)], ids=str)
def test_a_command_prints_what_the_guide_says(command: Command, tmp_path: Path) -> None:
    environ = {"HEADRACE_STATE_DIR": str(tmp_path), "HOME": str(tmp_path), **command.environ}
    unset = {name: None for name in os.environ if name.startswith("HEADRACE_")}
    result = CliRunner().invoke(main, command.arguments, env={**unset, **environ})
    assert missing_line(command.printed, result.output) is None, result.output[-2000:]


@pytest.mark.parametrize("program", [each for guide in GUIDES for each in programs(guide)], ids=str)
def test_a_program_prints_what_the_guide_says(program: Program) -> None:
    run = subprocess.run(
        [sys.executable, "-c", program.source], capture_output=True, text=True, check=False
    )
    assert run.stdout == program.printed, run.stderr[-2000:]


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_what_a_program_imports_is_there(guide: Path) -> None:
    for source in excerpts(guide):
        tree = compile(
            source, guide.name, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        )
        for statement in (each for each in ast.walk(tree) if isinstance(each, ast.ImportFrom)):
            module = importlib.import_module(statement.module or "")
            assert [each.name for each in statement.names if not hasattr(module, each.name)] == []


def test_every_scenario_of_the_examples_is_in_a_guide() -> None:
    text = "".join(guide.read_text(encoding="utf-8") for guide in GUIDES)
    paths = [path.relative_to(ROOT).as_posix() for path in examples.CASES.rglob("*.jsonl")]
    assert [path for path in paths if not path.endswith(RULES) and path not in text] == []


def test_a_stale_section_is_named_and_written(tmp_path: Path) -> None:
    protocol = COMMANDS[0].name
    page = tmp_path / f"{protocol}.md"
    page.write_text("# A\n<!-- generated: settings -->\nold\n<!-- end -->\n## B\n")
    assert guides.drift(tmp_path) == [page.name]
    guides.write(tmp_path)
    text = page.read_text()
    assert guides.drift(tmp_path) == []
    assert "old" not in text
    assert text.endswith("<!-- end -->\n## B\n")
    assert f"`HEADRACE_{protocol.upper()}_" in text


def test_members_of_inner_objects_are_named_by_dots() -> None:
    text = render("summit", "<!-- generated: fields manifest.metadata -->\n<!-- end -->")
    assert "| `version` |" in text
    joined = render("summit", "<!-- generated: fields call -->\n<!-- end -->")
    assert "| `method` | `agent.invoke`" in joined


def test_a_merge_patch_adds_replaces_and_removes() -> None:
    assert merge({"a": {"b": 1, "c": 2}, "d": [1]}, {"a": {"b": None, "e": 3}, "d": []}) == {
        "a": {"c": 2, "e": 3},
        "d": [],
    }


@pytest.mark.parametrize(
    ("expected", "missing"),
    [
        (['{"a": {"b": 1}}', '{"a": {"b": 2}}'], None),
        (['{"a": {"b": 2}}', '{"a": {"b": 1}}'], '{"a": {"b": 1}}'),
        (['{"a": {"x": 1}}'], '{"a": {"x": 1}}'),
        (["…", "{}"], None),
    ],
)
def test_lines_stand_for_objects_with_their_members(
    expected: list[str], missing: str | None
) -> None:
    output = '{"a": {"b": 1, "c": [3]}, "n": 1}\n{"a": {"b": 2}}\n'
    assert missing_line(expected, output) == missing


@pytest.mark.parametrize(
    "part",
    [
        with_event_type.MODEL.partition("\n\n")[0],
        with_event_type.TYPE.line,
        with_event_type.HANDLER.line,
    ],
)
def test_the_event_type_of_the_guide_is_the_one_that_a_test_adds(part: str) -> None:
    text = (guides.DIRECTORY / "saop.md").read_text(encoding="utf-8")
    assert "".join(part.split()) in "".join(text.split())


def test_the_record_of_the_event_type_is_the_one_that_a_test_adds() -> None:
    text = (guides.DIRECTORY / "saop.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    assert with_event_type.AVRO in map(json.loads, blocks)
