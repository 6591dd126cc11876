"""The commands `headrace policy`: output and exit codes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from streams.cli import main, play
from streams.engine import worker
from streams.errors import BrokerUnavailable
from streams.log import connecting
from streams.policy import policy_of
from streams.policy.schema import policy_schema
from streams.settings import Settings
from tests.unit.policy.files import policy_file


def run(*arguments: str, code: int = 0) -> Any:
    result = CliRunner().invoke(main, ["policy", *arguments], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result.stdout


def test_check_prints_the_id_and_the_form(tmp_path: Path) -> None:
    path = str(policy_file(tmp_path, "[apc.decay]\nmin_score = 0.4\n"))
    answer = json.loads(run("check", path, "--json"))
    assert answer["canonical"] == '{"apc":{"decay":{"min_score":0.4}},"format":1}'
    assert (answer["valid"], answer["errors"]) == (True, [])
    assert answer["digest"].startswith(answer["policy"])
    assert answer["policy"] in run("check", path, "--text")


def test_check_prints_every_error_and_exits_with_1(tmp_path: Path) -> None:
    path = str(policy_file(tmp_path, "[apc.decay]\nmin_scor = 0.4\n[saop]\nhold_s = 0\n"))
    answer = json.loads(run("check", path, "--json", code=1))
    assert (answer["valid"], answer["policy"]) == (False, None)
    assert [each["rule"] for each in answer["errors"]] == ["member_unknown", "number_range"]
    assert "number_range" in run("check", path, "--text", code=1)


def test_diff_exits_with_1_where_policies_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(policy_file(tmp_path, "[apc.decay]\nmin_score = 0.4\n[sap]\nrate = 6\n"))
    rows = json.loads(run("diff", "default", path, "--json", code=1))["items"]
    assert rows == [
        {"path": "apc.decay.min_score", "from": 0.35, "to": 0.4, "rules": ["protocol_decayed"]},
        {"path": "sap.rate", "from": 0, "to": 6, "rules": ["rate_limited"]},
    ]
    assert "protocol_decayed" in run("diff", path, "default", "--text", code=1)
    monkeypatch.setenv("HEADRACE_POLICY", path)
    assert json.loads(run("diff", "bootstrap", path, "--json")) == {"items": []}
    rows = json.loads(run("diff", "compatible", "default", "--json", code=1))["items"]
    assert [row["path"] for row in rows] == [
        "apc.coordination.agent",
        "apc.coordination.session",
        "apc.proof.claim",
        "sap.evidence.words",
        "sap.payload_secrets",
    ]


def test_show_has_what_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert json.loads(run("show", "--json"))["policy"] == "3f0a99256beeb89a"
    monkeypatch.setenv("HEADRACE_POLICY", str(policy_file(tmp_path, "[sap]\nrate = 6\n")))
    monkeypatch.setenv("HEADRACE_SAOP_REPEATS", "4")
    assert json.loads(run("show", "--json"))["values"] == {"sap.rate": 6, "saop.repeats": 4}
    members = json.loads(run("show", "--all", "--json"))["values"]
    assert (members["sap.rate"], members["saop.hold_s"]) == (6, 60)
    assert "saop.hold_s" in run("show", "--all", "--text")


def test_schema_is_that_of_the_declarations() -> None:
    assert json.loads(run("schema")) == policy_schema()


def test_the_first_line_that_a_worker_logs_names_the_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(settings: object) -> None:
        raise BrokerUnavailable("nobody answers")

    monkeypatch.setattr(connecting, "bootstrap_of", lambda settings: settings.bootstrap)
    monkeypatch.setattr(worker, "connect", away)
    monkeypatch.setenv("HEADRACE_POLICY", str(policy_file(tmp_path, "[sap]\nrate = 6\n")))
    monkeypatch.setenv("HEADRACE_BOOTSTRAP", "127.0.0.1:1")
    policy = json.loads(run("show", "--json"))["policy"]
    arguments = ["worker", "--metrics", "off", "--state-dir", str(tmp_path / "state")]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 3
    first_line = result.stderr.splitlines()[0]
    assert "codec: " in first_line
    assert first_line.endswith(f"policy: {policy}")


@pytest.mark.parametrize("name", ["POLICY", "HEADRACE_POLICY"])
def test_a_policy_that_play_is_given_takes_the_place_of_another_and_variables_win(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "other").mkdir()
    other = policy_file(tmp_path / "other", "[saop]\nfailures = 9\n")
    text = "[sap]\nrate = 6\nburst = 7\n[saop]\nrepeats = 4\n"
    chosen = policy_file(tmp_path, text)
    monkeypatch.setenv("HEADRACE_POLICY", str(other))
    monkeypatch.setenv("HEADRACE_SAOP_REPEATS", "5")
    sets = (f"{name}={chosen}", "HEADRACE_SAP_BURST=8")
    settings = play.settings_of(sets, None)
    assert policy_of(settings).values == {"sap.rate": 6, "sap.burst": 8, "saop.repeats": 5}
    assert (settings.policy, settings.partitions) == (chosen, 1)
    assert play.settings_of((f"{name}=",), 3) == replace(
        Settings(), saop_repeats=5, partitions=3, state_dir=settings.state_dir
    )
    assert play.settings_of((), None).saop_failures == 9
