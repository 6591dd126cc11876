"""`headrace topics acls`, as far as it asks no broker."""

from __future__ import annotations

import json
import shlex

import pytest
from click.testing import CliRunner, Result

from streams.cli import main
from topology.acls import Role


def acls(*arguments: str, **env: str) -> Result:
    return CliRunner().invoke(main, ["topics", "acls", *arguments], env=env)


def test_without_principals_every_role_is_shown() -> None:
    rows = [json.loads(line) for line in acls("--json").output.splitlines()]
    assert {row["principal"] for row in rows} == {f"User:headrace-{role}" for role in Role}
    assert {row["role"] for row in rows} == set(Role)


def test_with_principals_only_theirs_are_shown() -> None:
    result = acls("--agent", "User:alice", "--agent", "User:bob", HEADRACE_PREFIX="acme.")
    rows = [line.split() for line in result.output.splitlines()[1:]]
    assert {row[0] for row in rows} == {"User:alice", "User:bob"}
    assert ["User:bob", "agent", "topic", "literal", "acme.apc.inbox", "read"] in rows


def test_a_script_names_the_broker_that_is_set() -> None:
    result = acls("--reader", "User:r", "--script", HEADRACE_BOOTSTRAP="kafka:9093")
    lines = result.output.splitlines()
    assert all(line.startswith("kafka-acls.sh --bootstrap-server kafka:9093") for line in lines)


@pytest.mark.parametrize("arguments", [("--apply",), ("--agent", "alice")])
def test_principals_are_named_and_whole(arguments: tuple[str, ...]) -> None:
    assert acls(*arguments).exit_code == 2


def test_the_name_in_a_certificate_is_a_principal() -> None:
    name = "User:CN=alice,O=An Example,C=NL"
    result = acls("--agent", name, "--script")
    assert result.exit_code == 0, result.output
    assert {shlex.split(line)[5] for line in result.output.splitlines()} == {name}
