"""Play a scenario and verify its log; print what each line brings about and what verify reports.

`test_rule` runs this over a copy of the packages to which rules were added.  A line
`{"validate": kind, "value": …}` runs `headrace validate`.
"""

from __future__ import annotations

import json
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from click.testing import CliRunner

import streams
from streams import cli, docs
from streams.gateway.openapi.document import document
from streams.play.scenario import Scenario
from streams.protocols.commands import all_processors, bind_files
from streams.settings import Settings
from streams.verify.report import as_json
from streams.verify.run import verify

Json = dict[str, Any]


def main(path: Path) -> None:
    settings = Settings(partitions=1)
    bind_files(settings)
    docs.write()
    output: Json = {"home": str(Path(streams.__file__).parents[1]), "openapi": document(settings)}
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    with TemporaryDirectory() as name:
        folder, report_folder = Path(name, "state"), Path(name, "verify")
        report_folder.mkdir()
        with closing(Scenario(settings, folder, all_processors)) as scenario:
            output["lines"] = [run_line(line, scenario) for line in lines]
            output["verify"] = as_json(verify(scenario.log, settings, report_folder))
    print(json.dumps(output))


def run_line(line: Json, scenario: Scenario) -> Any:
    """Return what a line brings about: records, a response, or the output of a command."""
    if "validate" not in line:
        return scenario.line(1, json.dumps(line))
    value = json.dumps(line["value"])
    result = CliRunner().invoke(cli.main, ["validate", line["validate"], "-"], input=value)
    return {"exit_code": result.exit_code, **json.loads(result.output)}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
