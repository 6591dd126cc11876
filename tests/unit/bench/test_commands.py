"""Each benchmark is a command, is run with the others, and is on the map of commands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench import everything

BENCH = Path(__file__).resolve().parents[3] / "bench"
RECORDING = sorted(
    path.stem
    for path in BENCH.glob("*.py")
    if re.search(r"with \(?\s*record_runs\(", path.read_text())
)
MAP = (BENCH / "README.md").read_text(encoding="utf-8")


def test_everything_runs_each_that_records_results() -> None:
    assert sorted([*everything.ALL, *everything.LONG]) == RECORDING


@pytest.mark.parametrize("name", RECORDING)
def test_each_is_on_the_map(name: str) -> None:
    assert re.search(
        rf"^\| `python -m bench.*bench\.{name}`|^\| `python -m bench\.{name}`", MAP, re.M
    )


def test_the_map_names_no_command_that_is_gone() -> None:
    named = set(re.findall(r"`(?:python -m )?bench\.(\w+)", MAP))
    assert named <= {path.stem for path in BENCH.glob("*.py")}


def test_some_are_chosen_and_some_left_out() -> None:
    assert everything.chosen(["sap", "tail"], ["tail"]) == ["sap"]
    assert "soak" not in everything.chosen([], [])


def test_the_exit_code_says_that_one_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    run: list[str] = []

    def fake(command: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        run.append(command[2])
        assert command[3:] == ["--quick"]
        return subprocess.CompletedProcess(command, int(command[2] == "bench.sap"))

    monkeypatch.setattr(subprocess, "run", fake)
    assert everything.main(["--only", "sap", "tail", "--quick"]) == 1
    assert run == ["bench.sap", "bench.tail"]
    assert everything.main(["--only", "tail", "--quick"]) == 0


def test_a_benchmark_runs_from_the_command_line_and_records_its_result(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench.masking", "--quick", "--lines", "20"]
    subprocess.run([*command, "--into", str(tmp_path)], cwd=BENCH.parent, check=True, timeout=240)
    assert [path.name for path in tmp_path.iterdir()] == ["masking.json"]
