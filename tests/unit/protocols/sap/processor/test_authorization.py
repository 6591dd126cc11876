"""The issuer table: who is let in, and which files stop the service."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from streams.errors import SettingsError
from streams.protocols.commands import bind_files
from streams.protocols.sap.processor.authorization import bind, glob, load, parse
from streams.settings import Settings
from tests.unit.protocols.sap.processor.support import Bench, task
from topology.sap import SAP_TASK_STATES_TABLE

TABLE = b"""
version = "7"
[[allow]]
capability = "report.*"
agents = ["A-*"]
[[allow]]
capability = "draft.??"
kinds = ["user", "system"]
[[allow]]
capability = "secret"
agents = ["A-prime"]
kinds = ["user"]
"""


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("report.*", "report.summarise", True),
        ("report.*", "report.", True),
        ("report.*", "Report.summarise", False),
        ("*", "", True),
        ("?", "", False),
        ("a?c", "abc", True),
        ("a?c", "ac", False),
        ("a*b*c", "a-b-b-c", True),
        ("a*b*c", "a-b-b-d", False),
        ("[ab]", "a", False),
        ("[ab]", "[ab]", True),
        ("**x", "x", True),
        ("", "x", False),
    ],
)
def test_globs(pattern: str, text: str, matches: bool) -> None:
    assert glob(pattern, text) is matches


@pytest.mark.parametrize(
    ("issuer", "capability", "refusal"),
    [
        (("A-prime", "agent"), "report.summarise", None),
        (("ana", "user"), "draft.ab", None),
        (("ana", "user"), "draft.abc", "forbidden"),
        (("A-prime", "agent"), "draft.ab", "forbidden"),
        (("B-1", "agent"), "report.summarise", "unauthorized"),
        (("A-prime", "agent"), "secret", "forbidden"),  # known by its id to another rule
        (("A-prime", "user"), "secret", None),
        (("B-1", "agent"), "secret", "unauthorized"),
    ],
)
def test_who_may(issuer: tuple[str, str], capability: str, refusal: str | None) -> None:
    assert parse(TABLE).refusal(*issuer, capability) == refusal


@pytest.mark.parametrize("text", ["", 'version = "1"', "allow = []"])
def test_a_file_without_rules_refuses_everyone(text: str) -> None:
    assert parse(text.encode()).refusal("A-prime", "agent", "x") == "unauthorized"


def test_an_empty_list_means_nobody() -> None:
    rule = parse(b'[[allow]]\ncapability = "*"\nagents = []\nkinds = ["user"]')
    assert rule.refusal("ana", "user", "x") == "unauthorized"


def test_the_label_is_version_and_hash() -> None:
    assert parse(TABLE).label == f"7@{sha256(TABLE).hexdigest()[:12]}"
    assert parse(b"").label == f"0@{sha256(b'').hexdigest()[:12]}"


@pytest.mark.parametrize(
    "text",
    [
        "allow = 3",
        "allow = [3]",
        "version = 1.5",
        "unknown = 1",
        "[[allow]]\nagents = ['*']",
        "[[allow]]\ncapability = '*'",
        "[[allow]]\ncapability = '*'\nagents = '*'",
        "[[allow]]\ncapability = '*'\nagents = [1]",
        "[[allow]]\ncapability = '*'\nkinds = ['robot']",
        "[[allow]]\ncapability = ''\nkinds = ['user']",
        "[[allow]]\ncapability = '*'\nkinds = ['user']\nmore = 1",
        "not toml",
    ],
)
def test_a_file_that_does_not_parse_stops_the_service(text: str, tmp_path: Path) -> None:
    path = tmp_path / "issuers.toml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=r"issuers\.toml"):
        bind_files(Settings(sap_authorization=path))


def test_a_file_that_is_not_there_stops_the_service(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="gone"):
        bind(tmp_path / "gone")
    with pytest.raises(SettingsError):
        load(tmp_path)


def test_refusals_say_who_and_what(tmp_path: Path) -> None:
    path = tmp_path / "issuers.toml"
    path.write_bytes(TABLE)
    bind(path)
    bench = Bench(sap_authorization=path)
    forbidden = bench.task(task(target={"capability": "draft.ab"}))
    assert (forbidden["rule"], forbidden["code"]) == ("forbidden", "FORBIDDEN")
    assert "draft.ab" in forbidden["reason"]
    stranger = bench.task(task(issuer={"agentId": "B-1"}))
    assert (stranger["rule"], stranger["code"]) == ("unauthorized", "UNAUTHORIZED")
    assert "B-1" in stranger["reason"]
    assert bench.rows(SAP_TASK_STATES_TABLE) == {}
    accepted = bench.task(task())
    assert accepted["rule"] == "accepted"
    assert {ack["authorization"] for ack in (forbidden, stranger, accepted)} == {parse(TABLE).label}
