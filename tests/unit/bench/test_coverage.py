"""The figures that `bench.coverage` makes of a report of coverage.py."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from bench import coverage
from bench.results import ROOT


def report(**lines: tuple[int, int]) -> dict[str, Any]:
    """Return a report of files by path; of each its statements, and those that ran."""
    files = {
        path: {"summary": {"num_statements": statements, "covered_lines": covered}}
        for path, (statements, covered) in lines.items()
    }
    return {"files": files}


REPORT = report(
    **{
        "schemas/asap/keys.py": (30, 30),
        "streams/protocols/asap/processor/calls.py": (60, 51),
        "topology/machines/asap_call.py": (10, 9),
        "streams/protocols/sap/learning/rules.py": (100, 30),
    }
)


def test_lines_are_summed_up_by_package() -> None:
    assert coverage.lines_of(REPORT, coverage.ASAP) == (100, 90)
    assert coverage.lines_of(REPORT) == (200, 120)
    assert coverage.lines_of(REPORT).percent == 60


def test_nothing_to_run_counts_as_run() -> None:
    assert coverage.lines_of(report()).percent == 100


@pytest.mark.parametrize("pattern", coverage.ASAP)
def test_each_pattern_has_files(pattern: str) -> None:
    assert list(ROOT.glob(pattern))


def test_every_model_of_asap_exports_a_valid_schema() -> None:
    schemas = coverage.count_valid_schemas()
    assert schemas.statements == schemas.covered == 25


def test_processes_that_tests_start_are_measured_too() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["coverage"]["run"]
    assert settings["source_pkgs"] == ["headrace", "schemas", "topology", "streams"]
    assert settings["patch"] == ["subprocess"]
    assert settings["parallel"] is settings["sigterm"] is True
