"""Scenarios that were played to their ends, and the lineage nodes that they name."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID

from streams.play.scenario import Scenario
from streams.protocols.commands import all_processors, bind_files
from streams.settings import Settings

SCENARIOS = Path(__file__).resolve().parents[3] / "scenarios"
LEARNING = "learning"
"""A story beside the scenarios: as many tasks as heuristics and a playbook need."""
GROUPS, SAMPLES = 5, 6
Json = dict[str, Any]


def lines_of(name: str) -> list[str]:
    if name == LEARNING:
        return list(_learning())
    return (SCENARIOS / f"{name}.jsonl").read_text("utf-8").splitlines()


def _learning() -> Iterator[str]:
    """Tasks whose payloads differ in a member that does not matter, and an approval of one."""
    played = (*lines_of("sap-tasks"), *lines_of("sap-signals"))
    lines = [json.loads(line) for line in played if '"topic"' in line]
    task = next(each["value"] for each in lines if each["topic"] == "sap.tasks")
    result = next(each["value"] for each in lines if each["value"].get("status") == "SUCCEEDED")
    signal = next(each["value"] for each in lines if each["value"].get("kind") == "approval")
    for number in range(GROUPS * SAMPLES + SAMPLES):
        group, sample = divmod(number, SAMPLES)
        same = {"taskId": str(UUID(int=number + 1))}
        payload = {"document": f"ledger-{group}", "seat": "a" if group == GROUPS else str(sample)}
        yield json.dumps({"topic": "sap.tasks", "value": {**task, **same, "payload": payload}})
        output = {"summary": f"All sums of ledger {group} agree."}
        yield json.dumps({"topic": "sap.results", "value": {**result, **same, "output": output}})
    yield json.dumps({"topic": "sap.signals", "value": {**signal, **same}})


class Story:
    """A scenario, and the nodes that its edges and the versions of heuristics name."""

    def __init__(self, lines: Iterable[str], folder: Path) -> None:
        settings = Settings(partitions=1)
        bind_files(settings)
        self.scenario = Scenario(settings, folder, all_processors)
        self.nodes: set[str] = set()
        for number, line in enumerate(lines, 1):
            if line.strip():
                self._note(self.scenario.line(number, line))

    def _note(self, outputs: list[Json]) -> None:
        for output in outputs:
            value = output.get("value") or {}
            match output.get("topic"):
                case "lineage.edges":
                    self.nodes |= {value["from_node"], value["to_node"]}
                case "sap.heuristics":
                    self.nodes.add(f"sap:heuristics:{value['capability']}/{value['version']}")

    def ask(self, path: str) -> tuple[int, Any]:
        outputs = self.scenario.line(0, json.dumps({"query": f"GET {path}"}))
        self._note(outputs[1:])
        return outputs[0]["status"], outputs[0]["body"]

    def thing(self, node: str, query: str = "") -> tuple[int, Any]:
        return self.ask(f"/v1/things/{quote(node, safe='')}{query}")

    def known(self) -> Iterator[tuple[str, Json]]:
        """The things that something is known of, as they are now, with the query for each."""
        for node in sorted(self.nodes):
            status, body = self.thing(node)
            if status == 409:
                for session in body["candidates"]:
                    query = f"?session_id={quote(session, safe='')}"
                    yield query, self.thing(node, query)[1]
            elif status == 200:
                yield "", body
            else:
                assert (status, body["rule"]) == (404, "node_unknown")
