"""Tests of what came of a record, over scenarios of all protocols."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from streams.engine.records import Record, header
from streams.gateway.service_responses import Effects
from tests.unit.routes.test_service_rows import Asked
from tests.unit.views.service.played import COMMAND_FACTS, Fact, facts, records
from topology.declarations import TopicKind
from topology.topics import BY_NAME

MEMBERS = {TopicKind.FACT: "facts", TopicKind.INBOX: "messages"}


def position(record: Record) -> str:
    return f"{record.topic}/{record.partition}/{record.offset}"


def path(place: str) -> str:
    return f"/v1/records/{place}/effects"


@pytest.mark.parametrize(
    "name", ["five-protocols.jsonl", "refusals.jsonl", "asap-bad-input.jsonl", "sap-tasks.jsonl"]
)
def test_it_names_each_record_that_a_command_caused(name: str, tmp_path: Path) -> None:
    system = Asked(name, tmp_path / "rows")
    expected: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for group in records(system.log).values():
        for record in group:
            kind = BY_NAME[record.topic].kind
            member = "edges" if record.topic == "lineage.edges" else MEMBERS.get(kind)
            if member is not None:
                origin = (header(record, "headrace-cause") or b"").decode()
                expected[origin][member].add(position(record))
    verdicts: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts(system.log, *COMMAND_FACTS):
        if fact.verdict != "none":
            verdicts[fact.cause].append(fact)
    assert verdicts
    for cause, on_cause in verdicts.items():
        body = system.get(path(cause))
        Effects.model_validate(body)
        assert body["decided"]
        for member in ("facts", "messages", "edges"):
            assert len(body[member]) == len(set(body[member]))
            assert set(body[member]) == expected[cause][member]
        assert [(v["fact"], v["verdict"], v["rule"], v["cause"]) for v in body["verdicts"]] == [
            (fact.position, fact.verdict, fact.rule, cause) for fact in on_cause
        ]
    system.view.close()


def test_a_refusal_is_the_same_in_the_list_and_below_its_record(tmp_path: Path) -> None:
    system = Asked("refusals.jsonl", tmp_path / "rows")
    listed = system.get("/v1/verdicts")["items"]
    assert {item["verdict"] for item in listed} == {"duplicate", "rejected"}
    for item in listed:
        if not item["cause"].startswith("rtes.raw/"):
            assert item in system.get(path(item["cause"]))["verdicts"]
    system.view.close()
