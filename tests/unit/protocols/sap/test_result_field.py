"""A field of a result that the task's row is to have and every answer to show takes three files."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.processes import ROOT, environ_of

Json = dict[str, Any]


class Edit(NamedTuple):
    """One line more in a file, behind the only place that has these lines."""

    path: str
    lines: str
    added: str


EDITS = (
    Edit(
        "schemas/sap/models.py",
        "    error: SapError | None = None\n",
        "    confidence: Annotated[float, Number(0, 1)] | None = None\n",
    ),
    Edit(
        "schemas/avro/sap/SapTaskState.avsc",
        '    {"name": "errorCode", "type": ["null", "string"], "default": null},\n',
        '    {"name": "confidence", "type": ["null", "double"], "default": null},\n',
    ),
    Edit(
        "streams/protocols/sap/task_row.py",
        '    "errorCode": _error_code,\n',
        '    "confidence": lambda outcome: outcome["confidence"],\n',
    ),
)


class Version:
    """The packages in a directory, with the field added."""

    def __init__(self, home: Path) -> None:
        self.home = home
        for package in ("schemas", "topology", "streams"):
            skipped = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / package, home / package, ignore=skipped)
        for edit in EDITS:
            path = home / edit.path
            text = path.read_text("utf-8")
            assert text.count(edit.lines) == 1, edit.path
            path.write_text(text.replace(edit.lines, edit.lines + edit.added), "utf-8")
        self.derived = set(self.run("schemas.build").split())

    def run(self, module: str) -> str:
        """Run a module, of this version or of the tests; return what it prints."""
        process = subprocess.run(
            [sys.executable, "-m", module],
            cwd=self.home,
            env=environ_of({"PYTHONPATH": str(ROOT)}),
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert process.returncode == 0, process.stderr
        return process.stdout


@pytest.fixture(scope="module")
def version(tmp_path_factory: pytest.TempPathFactory) -> Version:
    return Version(tmp_path_factory.mktemp("field"))


@pytest.fixture(scope="module")
def responses(version: Version) -> Json:
    output: Json = json.loads(version.run("tests.unit.protocols.sap.result_field"))
    assert output["home"] == str(version.home)
    return output


def test_three_files_are_edited_by_hand_and_the_others_are_derived(version: Version) -> None:
    files = {path.relative_to(version.home) for path in version.home.rglob("*") if path.is_file()}
    changed = {
        str(path)
        for path in files
        if path.suffix != ".pyc"
        and (version.home / path).read_bytes() != (ROOT / path).read_bytes()
    }
    assert len(EDITS) == 3
    assert changed - version.derived == {edit.path for edit in EDITS}
    assert version.derived == {
        "schemas/avro/sap/SapResult.avsc",
        "schemas/catalogue.json",
        "schemas/json/sap/result.json",
    }


def test_a_result_with_the_field_is_accepted_and_one_out_of_its_bounds_refused(
    responses: Json,
) -> None:
    assert responses["problems"] == [["out_of_range", "/confidence"]]
    assert [ack["verdict"] for ack in responses["http"]["acks"]] == ["accepted", "accepted"]


def test_the_row_of_the_task_and_its_outcome_have_it(responses: Json) -> None:
    assert responses["row"]["confidence"] == 0.75
    assert [outcome["confidence"] for outcome in responses["http"]["outcomes"]] == [0.75]


def test_http_the_query_the_command_and_a_look_back_show_it(responses: Json) -> None:
    assert responses["before"]["confidence"] is None
    for name in ("http", "query", "cli", "as_of"):
        assert responses[name]["confidence"] == 0.75, name
    assert "confidence" in responses["table"]


def test_openapi_describes_it(responses: Json) -> None:
    members = list(responses["schema"]["properties"])
    assert members[members.index("errorCode") + 1] == "confidence"
    assert {"type": "null"} in responses["schema"]["properties"]["confidence"]["anyOf"]
