"""Send a result with a field that was added, and print what each reader of its task is shown.

`test_result_field` runs this over a copy of the packages which has the field `confidence`.
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from click.testing import CliRunner

import streams
from schemas import decode, sap
from streams.cli import common
from streams.cli.sap.show import command
from streams.protocols.sap.queries.tasks import task as task_of
from streams.settings import Settings
from tests.unit.gateway.bench import GatewayBench
from tests.unit.protocols.sap.queries.stage import result, task, task_id
from tests.unit.views.bench import Bench
from topology.sap import SAP_TASK_STATES

Json = dict[str, Any]
RESULT = {**result(task(0), "SUCCEEDED"), "confidence": 0.75}
PATH = f"/v1/sap/tasks/{task_id(0)}"


def main() -> None:
    with TemporaryDirectory() as folder, GatewayBench(Path(folder)) as gateway:
        bench = gateway.bench
        before = bench.send("sap.tasks", task(0))
        results: Json = {"before": gateway.get(PATH, after=before[0])}
        position = gateway.send("/v1/sap/results", RESULT)
        results["http"] = gateway.get(PATH, after=position)
        results["schema"] = gateway.get("/openapi.json")["components"]["schemas"]["SapTaskAnswer"]
        bench.now += 60_000
        results["as_of"] = gateway.get(PATH, as_of="2026-01-01T00:00:30Z")
        bench.view.catch_up(0)
        results["query"] = task_of(bench.view, task_id(0))
        results["row"] = row(bench)
        results["cli"] = json.loads(printed(gateway, "--json"))
        results["table"] = printed(gateway)
    problems = sap.validate("result", {**RESULT, "confidence": 2})
    results["problems"] = [(problem.rule, problem.path) for problem in problems]
    results["home"] = str(Path(streams.__file__).parents[1])
    print(json.dumps(results))


def row(bench: Bench) -> Json:
    record = bench.records(SAP_TASK_STATES.name)[-1]
    value: Json = decode(record.value or b"", SAP_TASK_STATES.record or "").value
    return value


def printed(gateway: GatewayBench, *options: str) -> str:
    """Return what `headrace sap show` prints beside a gateway."""

    def ask(path: str, query: str, settings: Settings) -> Json:
        answer: Json = gateway.get(path)
        return answer

    with patch.object(common, "ask", ask):
        output = CliRunner().invoke(command, [task_id(0), *options], catch_exceptions=False)
    return output.output


if __name__ == "__main__":
    main()
