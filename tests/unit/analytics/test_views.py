"""The documented views say what the routes say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from schemas import decode
from streams.analytics.values import json_value
from streams.engine.records import TopicPartition, position
from streams.play.scenario import open_scenario
from streams.protocols.commands import all_processors
from streams.routes.handle import Routes
from streams.settings import Settings
from streams.view_store.view import View
from tests.unit.views.service.played import COMMAND_FACTS
from topology.topics import BY_NAME

SCENARIOS = Path(__file__).resolve().parents[3] / "scenarios"
PLAYED = (
    "five-protocols",
    "otel-trace",
    *(
        pytest.param(name, marks=pytest.mark.slow)
        for name in ("sap-cache", "asap-calls", "summit-run", "refusals", "rtes-calls", "promotion")
    ),
)
SETTINGS = Settings(partitions=2)
Json = dict[str, Any]


@dataclass
class Played:
    """A scenario on a log, the routes over it, and its export."""

    log: Any
    routes: Routes
    connection: Any

    def get(self, path: str, query: str = "") -> Any:
        answer = self.routes.handle("GET", path, query)
        assert answer.status == 200, answer.body
        return answer.body

    def ask(self, sql: str, *values: Any) -> list[Json]:
        result = self.connection.execute(sql, values)
        names = [column[0] for column in result.description]
        return [dict(zip(names, map(json_value, row), strict=True)) for row in result.fetchall()]

    def facts(self, topic: str) -> list[tuple[str, Json]]:
        """Return the records of a topic: position and value."""
        name = BY_NAME[topic].record or ""
        tps = [TopicPartition(topic, n) for n in range(SETTINGS.partitions)]
        return [
            (position(slot), decode(slot.value, name).value)
            for tp in tps
            for slot in self.log.slots(tp)
            if slot is not None and slot.value is not None
        ]


@pytest.fixture(scope="module", params=PLAYED)
def played(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Played]:
    from streams.analytics.connection import open_export
    from streams.analytics.export import Options, export

    folder = tmp_path_factory.mktemp("played")
    lines = (SCENARIOS / f"{request.param}.jsonl").read_text("utf-8").splitlines()
    with ExitStack() as stack:
        scenario = stack.enter_context(open_scenario(SETTINGS, all_processors))
        for number, text in enumerate(lines, 1):
            if text.strip():
                list(scenario.line(number, text))
        view = stack.enter_context(View(scenario.log, folder / "view", "", lambda: scenario.now))
        view.catch_up(0)
        for _ in export(scenario.log, "", folder / "lake", Options()):
            pass
        routes = Routes(view, scenario.log, SETTINGS, lambda: scenario.now, wait_s=0)
        connection = stack.enter_context(open_export(folder / "lake"))
        yield Played(scenario.log, routes, connection)


def test_verdicts_are_those_of_the_facts(played: Played) -> None:
    expected = Counter[Any]()
    for topic, protocol in (*COMMAND_FACTS.items(), ("rtes.rejections", "rtes")):
        for _, fact in played.facts(topic):
            is_judged = fact["verdict"] in ("accepted", "duplicate", "rejected")
            if is_judged and fact.get("phase") != "lapse":
                cause = fact["position" if topic == "sap.acks" else "cause"]
                expected[protocol, cause, fact["verdict"], fact["rule"]] += 1
    for _, event in played.facts("rtes.events"):
        expected["rtes", event["cause"], "accepted", event["rule"]] += 1
    rows = played.ask("SELECT protocol, position, verdict, rule FROM verdicts")
    assert Counter(tuple(row.values()) for row in rows) == expected


def test_packets_have_the_states_of_their_rows(played: Played) -> None:
    rows = played.ask("SELECT session_id, packet_id, state FROM packets")
    for row in rows:
        path = f"/v1/apc/sessions/{quote(row['session_id'], '')}/packets/{row['packet_id']}"
        assert played.get(path)["state"] == row["state"]
    accepted = [fact for _, fact in played.facts("apc.events") if fact["verdict"] == "accepted"]
    assert len(rows) == len(accepted)


def test_tasks_are_those_of_the_rows(played: Played) -> None:
    rows = played.ask("SELECT protocol, task_id, session_id, state FROM tasks")
    listed = {
        ("sap", row["taskId"], row["correlationId"], row["state"])
        for row in played.get("/v1/sap/tasks", "limit=1000")["items"]
    } | {
        ("asap", row["task"]["id"], row["task"]["conversation_id"], row["task"]["status"])
        for row in played.get("/v1/asap/tasks", "limit=100")["tasks"]
    }
    rows_of_view = {tuple(row.values()) for row in rows if row["protocol"] != "saop"}
    assert rows_of_view == listed
    saop = {(row["task_id"], row["session_id"]) for row in rows if row["protocol"] == "saop"}
    assert saop == {
        (row["task_id"], row["session_id"])
        for _, row in played.facts("saop.tasks")
        if row["origin"] in (None, "otel")
    }


def test_runs_are_those_of_the_route(played: Played) -> None:
    listed = played.get("/v1/summit/runs", "limit=500")["items"]
    rows = played.ask("SELECT run_id, agent_id, state, reason, created_at FROM runs")
    assert sorted(tuple(row.values()) for row in rows) == sorted(
        (row["runId"], row["agentId"], row["status"], row["reason"], row["createdAt"])
        for row in listed
    )


def test_the_cache_is_that_of_the_route(played: Played) -> None:
    newest = played.ask(
        "SELECT cache_key, max(version) AS version, arg_max(task_id, version) AS task_id"
        " FROM cache GROUP BY ALL ORDER BY 1"
    )
    listed = played.get("/v1/sap/cache", "limit=1000")["items"]
    assert [tuple(row.values()) for row in newest] == [
        (row["cacheKey"], row["version"], row["taskId"]) for row in listed
    ]
    hits = played.ask("SELECT sum(hits) AS hits FROM cache")[0]["hits"] or 0
    verdicts = [fact["verdict"] for _, fact in played.facts("sap.verdicts")]
    assert int(hits) == verdicts.count("hit")


def test_the_graph_is_that_of_the_route(played: Played) -> None:
    nodes = {row["from_node"] for row in played.ask("SELECT * FROM edges")}
    nodes |= {row["to_node"] for row in played.ask("SELECT * FROM edges")}
    for node in sorted(nodes):
        for direction in ("ancestors", "descendants"):
            for depth in (2, 10):
                query = f"node={quote(node, '')}&direction={direction}&depth={depth}&limit=1000"
                listed = played.get("/v1/lineage/graph", query)
                expected = {each["node"]: each["distance"] for each in listed["nodes"]}
                rows = played.ask(f"SELECT * FROM {direction}(?, max_depth := {depth})", node)
                rows_of_view = {row["node"]: row["distance"] for row in rows}
                assert {name: n for name, n in rows_of_view.items() if name in expected} == expected
                assert {name for name in rows_of_view if name not in expected} <= {_other(node)}


def _other(node: str) -> str:
    """Return the other spelling of a trace, which the route does not name."""
    kind, _, name = node.partition(":")
    plain = name.replace("-", "")
    if kind != "trace" or len(plain) != 32:
        return node
    hyphens = f"{plain[:8]}-{plain[8:12]}-{plain[12:16]}-{plain[16:20]}-{plain[20:]}"
    return f"trace:{hyphens if name == plain else plain}"


def test_states_at_the_end_are_those_of_the_rows(played: Played) -> None:
    rows = played.ask("SELECT protocol, id, state FROM states_at(TIMESTAMPTZ '2100-01-01')")
    states = {(row["protocol"], row["id"]): row["state"] for row in rows}
    for packet in played.ask("SELECT packet_id, state FROM packets"):
        assert states["apc", packet["packet_id"]] == packet["state"]
    for task in played.ask("SELECT task_id, state FROM tasks WHERE protocol = 'asap'"):
        assert states["asap", task["task_id"]] == task["state"]
    for row in played.ask("SELECT run_id, state FROM runs"):
        assert states["summit", row["run_id"]] == row["state"]
    early = played.ask("SELECT count(*) AS n FROM states_at(TIMESTAMPTZ '2000-01-01')")
    assert early == [{"n": 0}]


def test_sessions_and_calls_are_those_of_the_events(played: Played) -> None:
    events = [event for _, event in played.facts("rtes.events")]
    counts = Counter(event["session_id"] for event in events)
    rows = played.ask("SELECT session_id, events, tool_calls FROM sessions")
    assert {row["session_id"]: row["events"] for row in rows} == counts
    invoked = [event["payload"][1] for event in events if "ToolInvoked" in event["payload"][0]]
    assert sum(row["tool_calls"] for row in rows) == len(invoked)
    calls = played.ask("SELECT call_id, tool, status, duration_s FROM tool_calls")
    completed = {
        event["payload"][1]["call_id"]: event["payload"][1]
        for event in events
        if "ToolCompleted" in event["payload"][0]
    }
    assert {row["call_id"] for row in calls} == {
        *completed,
        *(call["call_id"] for call in invoked),
    }
    for row in calls:
        done = completed.get(row["call_id"], {"status": None, "duration_ms": None})
        assert row["status"] == done["status"]
        ms = done["duration_ms"]
        assert row["duration_s"] == (None if ms is None else ms / 1000)


def test_spans_are_those_of_the_route(played: Played) -> None:
    listed = [
        (trace["trace_id"], item)
        for trace in played.get("/v1/otel/traces", "limit=100")["items"]
        for item in played.get(f"/v1/otel/traces/{trace['trace_id']}")["items"]
    ]
    rows = played.ask("SELECT * FROM spans ORDER BY started_at, span_id")
    members = set(rows[0]) - {"trace_id", "duration_s", "started_at"} if rows else set()
    for row, (trace_id, item) in zip(rows, listed, strict=True):
        assert row["trace_id"] == trace_id
        assert row["started_at"][:23] == item["started_at"][:23]
        assert {name: row[name] for name in members} == {name: item[name] for name in members}
        assert row["duration_s"] == pytest.approx(item["duration_ms"] / 1000, abs=1e-6)


def test_an_export_of_some_topics_has_the_views_of_these(tmp_path: Path) -> None:
    from streams.analytics.connection import open_export
    from tests.unit.analytics.lake import append, new_log, run

    log = new_log()
    append(log, 0, 1)
    run(log, tmp_path / "lake", "saop.verdicts", "lineage.edges")
    with open_export(tmp_path / "lake") as connection:
        rows = connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal")
        names = {name for (name,) in rows.fetchall()}
    assert names == {"saop_verdicts", "lineage_edges", "verdicts", "edges"}
