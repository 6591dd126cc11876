"""Lines of code that the tests run, of the ASAP packages and of the whole product, and the JSON
Schemas that ASAP's models export.

python -m bench.coverage [--tests PATH ...] [--run quick|whole]
The paths are run by pytest one after the other, under coverage.py, and so are the processes that
they start; a process that is killed leaves no data and does not count.  `make coverage` runs all
unit, contract and integration tests.  Tests marked `slow` are in whole runs only.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from bench.results import ROOT, Recorder, parse, record_runs, versions_in
from schemas.asap import SCHEMA_REGISTRY, get_schema_json

TESTS = ("tests/unit", "tests/contract", "tests/integration")
ASAP = (
    "schemas/asap/*",
    "topology/asap*",
    "topology/machines/asap_*",
    "streams/asap/*",
    "streams/protocols/asap/*",
    "streams/agents/asap/*",
    "streams/cli/asap/*",
)
"""The files of the ASAP packages."""


class Lines(NamedTuple):
    """The statements of some files, and how many of them tests run."""

    statements: int
    covered: int

    @property
    def percent(self) -> float:
        return 100 * self.covered / self.statements if self.statements else 100.0


def lines_of(report: Mapping[str, Any], patterns: Iterable[str] = ("*",)) -> Lines:
    """Sum up the files of a JSON report of coverage.py whose paths match a pattern."""
    chosen = [
        entry["summary"]
        for path, entry in report["files"].items()
        if any(fnmatch(path, pattern) for pattern in patterns)
    ]
    statements = sum(each["num_statements"] for each in chosen)
    return Lines(statements, sum(each["covered_lines"] for each in chosen))


def count_valid_schemas() -> Lines:
    """Return how many entities export a JSON Schema, and how many of these are valid."""
    return Lines(len(SCHEMA_REGISTRY), sum(_is_valid(name) for name in SCHEMA_REGISTRY))


def _is_valid(name: str) -> bool:
    try:
        Draft202012Validator.check_schema(get_schema_json(name))
    except SchemaError:
        return False
    return True


def run_tests(paths: Iterable[str], whole: bool, folder: Path, runs: Recorder) -> None:
    """Run the tests of each path under coverage.py; its data are written to the folder."""
    quick = [] if whole else ["--quick"]
    for path in paths:
        command = [*_coverage("run"), "-m", "pytest", "-q", "-p", "no:xdist", *quick, path]
        ended = subprocess.run(command, cwd=ROOT, env=_environ(folder), check=False)
        runs.add(f"tests in {path}", exit_code=ended.returncode)


def report_of(folder: Path) -> dict[str, Any]:
    """Combine the data of all processes, and return the report of coverage.py."""
    for arguments in (["combine", "--quiet"], ["json", "--quiet", "-o", str(folder / "report")]):
        subprocess.run(_coverage(*arguments), cwd=ROOT, env=_environ(folder), check=True)
    report: dict[str, Any] = json.loads((folder / "report").read_text(encoding="utf-8"))
    return report


def _coverage(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "coverage", *arguments]


def _environ(folder: Path) -> dict[str, str]:
    return {**os.environ, "COVERAGE_FILE": str(folder / "data")}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", nargs="+", default=list(TESTS), metavar="PATH")
    parser.add_argument("--run", choices=("quick", "whole"), default="quick")
    options = parse(parser, arguments, {"tests": ["tests/unit/asap/test_jsonrpc.py"]})
    with (
        record_runs("coverage", __doc__, options) as runs,
        TemporaryDirectory(prefix="headrace-coverage-") as name,
    ):
        runs.versions = versions_in(Path(sys.executable), "coverage", "pytest")
        schemas = count_valid_schemas()
        runs.add("JSON Schemas of ASAP", models=schemas.statements, percent=schemas.percent)
        run_tests(options.tests, options.run == "whole", Path(name), runs)
        report = report_of(Path(name))
        whole = "the whole product"
        if tuple(options.tests) != TESTS:
            whole += ", by these tests alone"
        for label, patterns in (("the ASAP packages", ASAP), (whole, ("*",))):
            lines = lines_of(report, patterns)
            runs.add(
                label, statements=lines.statements, covered=lines.covered, percent=lines.percent
            )


if __name__ == "__main__":
    main()
