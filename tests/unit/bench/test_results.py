"""Results are whole, are written only of a run that came through, and say what they are of."""

from __future__ import annotations

import argparse
import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from bench.comparison_table import COLUMNS, rows
from bench.results import commit_of, parse, record_runs, text
from bench.scaling import Point, points
from bench.written import counted


def options(into: Path) -> argparse.Namespace:
    return argparse.Namespace(into=into, quick=True, rounds=3, peers=into / "python")


def test_a_run_is_written_with_all_that_tells_what_it_is(tmp_path: Path) -> None:
    with record_runs("toy", "Counts things.\n\nAt length.", options(tmp_path)) as runs:
        runs.versions["peer"] = "1.0"
        runs.add("first", per_s=12.5)
    content = json.loads((tmp_path / "toy.json").read_text())
    assert content["runs"] == [{"run": "first", "per_s": 12.5}]
    assert (content["bench"], content["about"], content["quick"]) == ("toy", "Counts things.", True)
    assert content["parameters"] == {"rounds": 3, "peers": "python"}
    assert content["versions"]["peer"] == "1.0"
    assert content["machine"]["cores"] >= 1
    assert content["commit"]
    assert content["started"].endswith("+00:00")


def test_a_run_that_fails_is_not_written(tmp_path: Path) -> None:
    def fail() -> None:
        with record_runs("toy", "", options(tmp_path)) as runs:
            runs.add("first", per_s=12.5)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert not list(tmp_path.iterdir())


def test_quick_changes_defaults_and_nothing_that_is_given(tmp_path: Path) -> None:
    def parsed(*arguments: str) -> argparse.Namespace:
        parser = argparse.ArgumentParser()
        parser.add_argument("--rounds", type=int, default=3)
        return parse(parser, ["--into", str(tmp_path), *arguments], {"rounds": 1})

    assert parsed().rounds == 3
    assert parsed("--quick").rounds == 1
    assert parsed("--quick", "--rounds", "2").rounds == 2


def test_changed_code_is_told_from_committed_code(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        subprocess.run(["git", "-C", str(tmp_path), *who, *words], check=True, capture_output=True)

    (tmp_path / "streams").mkdir()
    code = tmp_path / "streams" / "code.py"
    code.write_text("a = 1\n")
    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    commit, changed = commit_of(tmp_path)
    assert (len(commit), changed) == (40, False)
    code.write_text("a = 2\n")
    assert commit_of(tmp_path) == (commit, True)


def test_what_is_not_in_a_repository_has_no_commit(tmp_path: Path) -> None:
    assert commit_of(tmp_path) == ("unknown", True)


@pytest.mark.parametrize(
    ("value", "expected"), [(0.0123, "0.0123"), (99.4, "99.4"), (1234.5, "1,234"), (7000, "7,000")]
)
def test_figures_have_the_digits_that_a_reader_needs(value: float, expected: str) -> None:
    assert text(value) == expected


def test_the_comparison_shows_medians_and_says_what_is_missing() -> None:
    runs = [
        {"run": "a", "step": "throughput", "delivery": "exactly once", "packets_per_s": per_s}
        for per_s in (10, 40, 20)
    ]
    runs += [{"run": "a", "step": "kill", "duplicates": 3, "losses": 0}]
    runs += [{"run": "b", "step": "absent", "why": "not installed"}]
    head, (first, second) = rows(runs)
    cells = dict(zip(head, first, strict=True))
    assert (cells[""], cells["delivery"]) == ("a", "exactly once")
    assert (cells["packets/s"], cells["duplicates after kill -9"], cells["losses"]) == (
        "20",
        "3",
        "0",
    )
    assert cells["p50 ms"] == "–"
    assert second == ["b", "not measured: not installed", *["–"] * len(COLUMNS)]


def test_verdicts_too_many_and_verdicts_missing_are_counted() -> None:
    verdicts = Counter({"apc.packets/0/0": 1, "apc.packets/0/1": 3, "apc.packets/0/2": 2})
    assert counted(verdicts, 3) == (3, 0)
    assert counted(verdicts, 5) == (3, 2)


def test_scaling_changes_one_thing_at_a_time() -> None:
    arguments = argparse.Namespace(workers=[1, 2], partitions=[4, 48], keys=[10, 20, 30])
    assert points(arguments) == [
        Point(1, 4, 10),
        Point(2, 4, 10),
        Point(1, 48, 10),
        Point(1, 4, 20),
        Point(1, 4, 30),
    ]
