"""The reference pages: made from the declarations, and committed as made."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from schemas.apc import rules as apc_rules
from schemas.asap import rules as asap_rules
from schemas.rtes import rules as rtes_rules
from schemas.saop import rules as saop_rules
from schemas.sap import rules as sap_rules
from schemas.summit import rules as summit_rules
from streams import docs
from streams.docs.__main__ import main
from streams.docs.machines import machines
from streams.docs.markdown import grid
from streams.gateway.access import list_access_rules
from streams.settings import BY_ENV
from topology import processors, tables, topics
from topology.headers import headers_of
from topology.machines import summit_run
from topology.machines.task_profiles import PROFILES


def test_the_committed_pages_are_what_the_declarations_say() -> None:
    for name, text in docs.render().items():
        committed = (docs.DIRECTORY / name).read_text(encoding="utf-8")
        assert committed == text, f"{name}: run `python -m streams.docs` and commit what it wrote"
    assert docs.drift() == []


def test_pages_are_written_as_rendered(tmp_path: Path) -> None:
    docs.write(tmp_path)
    assert docs.drift(tmp_path) == []
    pages = {f"{name}.md" for name in docs.PAGES}
    assert {path.name for path in tmp_path.iterdir()} == {*pages, "asyncapi.json"}


def test_a_page_that_was_changed_missing_or_unknown_is_named(tmp_path: Path) -> None:
    docs.write(tmp_path)
    (tmp_path / "topics.md").write_text("# Topics\n", encoding="utf-8")
    (tmp_path / "rules.md").unlink()
    (tmp_path / "asyncapi.json").write_text("{}\n", encoding="utf-8")
    (tmp_path / "stray.md").write_text("# Stray\n", encoding="utf-8")
    assert docs.drift(tmp_path) == ["asyncapi.json", "rules.md", "stray.md", "topics.md"]


def test_the_check_exits_with_1_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("guides", "dashboard", "policy_files"):
        monkeypatch.setattr(f"streams.docs.__main__.{kind}.drift", list)
    monkeypatch.setattr("streams.docs.__main__.drift", lambda: ["topics.md"])
    result = CliRunner().invoke(main, ["--check"])
    assert result.exit_code == 1
    assert "topics.md" in result.output
    monkeypatch.setattr("streams.docs.__main__.drift", list)
    assert CliRunner().invoke(main, ["--check"]).exit_code == 0
    assert list(tmp_path.iterdir()) == []


def test_every_declaration_is_on_its_page() -> None:
    pages = docs.render()
    assert all(f"| `{topic.name}` |" in pages["topics.md"] for topic in topics.ALL)
    assert all(f"| `{table.name}` |" in pages["tables.md"] for table in tables.ALL)
    assert all(f"## {processor.name}\n" in pages["processors.md"] for processor in processors.ALL)
    assert all(f"| `{name}` |" in pages["settings.md"] for name in BY_ENV)
    modules = (apc_rules, rtes_rules, saop_rules, sap_rules, asap_rules, summit_rules)
    codes = {rule.code for module in modules for rule in module.ALL}
    assert all(f"| `{code}` |" in pages["rules.md"] for code in codes)


def test_every_route_is_shown_with_what_it_needs() -> None:
    page = docs.render()["http.md"]
    for method, path, need in list_access_rules():
        (line,) = re.findall(rf"^\| `{method} {re.escape(path)}` \|.*$", page, re.MULTILINE)
        roles = () if need.optional else need.roles
        assert line.endswith(f"| {' or '.join(roles) or 'nothing'} |")


def test_every_header_is_shown() -> None:
    page = docs.render()["headers.md"]
    for topic in topics.ALL:
        assert all(f"| `{header.name}` |" in page for header in headers_of(topic))
        assert all(
            f"| `{topic.name}` | `{topic_header.name}` |" in page for topic_header in topic.headers
        )


def test_machines_are_shown_with_every_state_and_event() -> None:
    page = docs.render()["machines.md"]
    state_machines = [machine for _, machine in machines()]
    words = [word for machine in state_machines for word in (*machine.states, *machine.events)]
    assert all(f"`{word}`" in page for word in words)
    assert all(f"| `{name}` |" in page for name in PROFILES)
    assert len(state_machines) == 15
    assert page.count("stateDiagram-v2") == len(state_machines) + sum(
        bool(p.edges) for p in PROFILES.values()
    )
    moves = page.partition("## summit-run")[2]
    for cells, verdict in ((summit_run.REPEATED, "duplicate"), (summit_run.REFUSED, "rejected")):
        for (state, event), rule in cells.items():
            assert f"| `{state}` | `{event}` | {verdict} | `{rule}` |" in moves


def test_rules_are_shown_with_their_error_codes() -> None:
    page = docs.render()["rules.md"]
    assert "| `run.unknown` | log | P | -32002 |  |" in page
    assert "| `run.timeout` | timer | P |  | -32012 |" in page


def test_every_command_is_shown_with_its_help() -> None:
    page = docs.render()["cli.md"]
    headings = re.findall(r"^## (.+)$", page, re.MULTILINE)
    assert headings[0] == "headrace"
    assert page.count("Usage: ") == len(headings) > 1


def test_a_bar_in_a_cell_does_not_end_it() -> None:
    assert grid(("a",), [("x|y\nz",)]) == "| a |\n| --- |\n| x\\|y z |\n"
