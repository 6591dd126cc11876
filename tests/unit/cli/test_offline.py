"""packet-transfer-arbitrate and packet-evaluate, on files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from streams.cli.common import read_value
from tests.unit.cli.test_cli import run
from tests.unit.envelopes import idea, packet_id
from tests.unit.protocols.apc.queries.facts import METRICS, evaluation, transfer

GOOD = dict.fromkeys(METRICS, 1) | {"drift_risk": 0.1}


def written(folder: Path, name: str, value: Any) -> str:
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return str(path)


@pytest.mark.parametrize("wrapped", [False, True])
def test_transfers_are_ranked(tmp_path: Path, wrapped: bool) -> None:
    packets = [transfer(1), idea(2), transfer(3)]
    path = written(tmp_path, "in.json", {"packets": packets} if wrapped else packets)
    result = run("packet-transfer-arbitrate", "--packets-in", path, "--top-k", "1")
    assert result.exit_code == 0
    answer = json.loads(result.output)
    assert [row["packet_id"] for row in answer["selected"]] == [packet_id(1)]
    assert [row["packet_id"] for row in answer["not_selected"]] == [packet_id(3)]
    assert [row["reason"] for row in answer["rejected"]] == ["packet_type_not_transfer:IDEA"]


def test_packets_may_be_yaml_in_which_times_are_text(tmp_path: Path) -> None:
    text = json.dumps([transfer(1)]).replace('"2026-02-19T07:50:00Z"', "2026-02-19T07:50:00Z")
    path = written(tmp_path, "in.yaml", text)
    answer = json.loads(run("packet-transfer-arbitrate", "--packets-in", path).output)
    assert answer["selected_count"] == 1


def test_yaml_is_that_of_1_2(tmp_path: Path) -> None:
    path = tmp_path / "in.yaml"
    path.write_text("[yes, 010, 0o10, 1:30, 2026-02-19, {on: off, <<: {a: 1}}]")
    value = ["yes", 10, 8, "1:30", "2026-02-19", {"on": "off", "<<": {"a": 1}}]
    assert read_value(path) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("in.json", "{"),
        ("in.json", "3"),
        ("in.json", '{"packets": 1}'),
        ("in.yml", "a: ["),
        ("in.yml", "- .nan"),
        ("in.yml", "packets: !!binary aGk="),
        ("in.yml", "&a [*a]"),
        ("in.yml", "- 1: a"),
        ("in.yml", "[" * 5000 + "]" * 5000),
    ],
)
def test_a_file_without_a_list_of_packets(tmp_path: Path, name: str, text: str) -> None:
    path = written(tmp_path, name, text)
    result = run("packet-transfer-arbitrate", "--packets-in", path)
    assert result.exit_code == 1, result.output
    assert "Traceback" not in result.output


def test_the_answer_goes_to_a_file_too(tmp_path: Path) -> None:
    out = tmp_path / "new" / "out.json"
    path = written(tmp_path, "in.json", [transfer(1)])
    result = run("packet-transfer-arbitrate", "--packets-in", path, "--out", str(out))
    assert out.read_text() == result.stdout
    assert result.stderr == f"wrote {out}\n"


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (GOOD, 0),
        ({**GOOD, "rtf": 0.9}, 1),
        (evaluation(1, 0.9, 0.1), 0),
        (evaluation(1, 0.9, None), 1),
    ],
)
def test_whether_an_evaluation_would_be_promoted(tmp_path: Path, value: Any, code: int) -> None:
    result = run("packet-evaluate", "--packet-in", written(tmp_path, "in.json", value))
    assert result.exit_code == code
    assert json.loads(result.output)["promotable"] is (code == 0)


@pytest.mark.parametrize("value", [idea(), {**GOOD, "rtf": 7}, 3, "{"])
def test_what_is_no_evaluation_is_refused(tmp_path: Path, value: Any) -> None:
    result = run("packet-evaluate", "--packet-in", written(tmp_path, "in.json", value))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "Traceback" not in result.stderr
