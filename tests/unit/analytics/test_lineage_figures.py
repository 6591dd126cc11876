"""The lineage figures in SQL over an export equal their definitions.

Once in SQL of this test over the facts alone, as an auditor writes it, and once by the documented
views and macros.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.engine.memory import MemoryLog
from streams.engine.records import Output
from tests.examples import example_count
from tests.unit.analytics.lake import new_log, run
from tests.unit.protocols.apc.queries import brute
from tests.unit.protocols.apc.queries.facts import Told, story
from tests.unit.protocols.apc.queries.test_lineage import FILTERS

COUNTED = """
WITH accepted AS (
  SELECT * FROM apc_events WHERE verdict = 'accepted'
), last AS (
  SELECT session_id, packet_id, arg_max(state, _offset) AS state
  FROM apc_events WHERE state IS NOT NULL GROUP BY ALL
), counted AS (
  SELECT
    a.session_id AS session, a.run_id AS run, a.task_id AS task, a.packet_type AS kind,
    a.packet.lineage AS lineage, a.packet.payload.TransferPayload AS transfer,
    a.packet.payload.EvalPayload.metric_set AS metrics, a."at" AS "at", a._offset AS place,
    a.packet_id, a.packet.run_phase AS phase, a.packet.metadata_json ->> '$.project_id' AS project
  FROM accepted a JOIN last USING (session_id, packet_id)
  WHERE last.state NOT IN ('REJECTED_SCHEMA', 'REJECTED_POLICY', 'EXPIRED', 'RETRACTED')
    AND ($session_id IS NULL OR a.session_id = $session_id)
    AND ($run_id IS NULL OR a.run_id = $run_id)
    AND ($project_id IS NULL OR a.packet.metadata_json ->> '$.project_id' = $project_id)
)
"""
PROTOCOLS = """
SELECT
  lineage.protocol_id, count(*), count(DISTINCT run), count(DISTINCT (session, run, task)),
  count(*) FILTER (lineage.cross_use_case), max("at") AS last_seen
FROM counted WHERE lineage IS NOT NULL GROUP BY lineage.protocol_id
ORDER BY count(*) DESC, last_seen DESC, 1
"""
QUALITY = """
SELECT
  coalesce(lineage.transfer_mode, transfer.transfer_policy.mode) AS mode, count(*),
  count(*) FILTER (transfer.accepted), count(*) FILTER (lineage.cross_use_case),
  sum(CAST(CAST(transfer.sender_score AS VARCHAR) AS DECIMAL(38, 18))),
  sum(CAST(CAST(transfer.receiver_score AS VARCHAR) AS DECIMAL(38, 18)))
FROM counted WHERE kind = 'TRANSFER' GROUP BY mode ORDER BY count(*) DESC, mode
"""

PROPAGATION = """
SELECT
  lineage.protocol_id, coalesce(lineage.parent_protocol_ids, []),
  coalesce(lineage.ancestor_swarms, []), coalesce(lineage.cross_use_case, false),
  lineage.transfer_mode, packet_id, kind, phase, run, project, task, run,
  strftime("at", '%Y-%m-%dT%H:%M:%S.%gZ')
FROM counted WHERE lineage IS NOT NULL ORDER BY "at" DESC, place DESC
"""
MEASURED = """
SELECT
  (session, run, task)::VARCHAR, list(CAST(metrics.outcome AS VARCHAR)),
  list(CAST(metrics.drift_risk AS VARCHAR)) FILTER (metrics.drift_risk IS NOT NULL)
FROM counted WHERE kind = 'EVAL' GROUP BY ALL
"""
TRANSFERRED = """
SELECT
  (session, run, task)::VARCHAR, coalesce(lineage.cross_use_case, false),
  coalesce(transfer.accepted, false), CAST(transfer.sender_score AS VARCHAR),
  CAST(transfer.receiver_score AS VARCHAR)
FROM counted WHERE kind = 'TRANSFER'
"""


@contextmanager
def opened(history: Told) -> Iterator[Any]:
    """Export the facts of a history, and open the export."""
    from streams.analytics.connection import open_export

    log = log_of(history)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "lake"
        run(log, path, "apc.events")
        with open_export(path) as connection:
            yield connection


def log_of(history: Told) -> MemoryLog:
    log = new_log()
    log.append(
        [
            Output(each.topic, each.key, each.value, (), 0, each.timestamp)
            for each in history.records
        ]
    )
    return log


def query(connection: Any, select: str, filters: dict[str, str]) -> list[tuple[Any, ...]]:
    names = ("session_id", "run_id", "project_id")
    values = {name: filters.get(name) for name in names}
    rows: list[tuple[Any, ...]] = connection.execute(COUNTED + select, values).fetchall()
    return rows


def mean(total: Any, count: int) -> float | None:
    return brute.six(Fraction(total) / count)


stories = st.builds(story, st.integers(0, 10**6), st.integers(0, 60))


@settings(max_examples=example_count(30), deadline=None)
@given(history=stories, filters=st.sampled_from(FILTERS))
def test_sql_over_the_facts_gives_the_figures_of_their_definitions(
    history: Told, filters: dict[str, str]
) -> None:
    packets = brute.fitting(list(history.packets.values()), filters)
    with opened(history) as connection:
        rows = query(connection, PROTOCOLS, filters)
        assert [row[:5] for row in rows] == [
            tuple(row.values())[:5] for row in brute.protocols(packets)
        ]
        quality = query(connection, QUALITY, filters)
        assert [(*row[:4], mean(row[4], row[1]), mean(row[5], row[1])) for row in quality] == [
            tuple(row.values()) for row in brute.transfer_quality(packets)
        ]


@settings(max_examples=example_count(30), deadline=None)
@given(history=stories, filters=st.sampled_from(FILTERS))
def test_sql_over_the_facts_gives_the_propagation_and_the_correlations(
    history: Told, filters: dict[str, str]
) -> None:
    packets = brute.fitting(list(history.packets.values()), filters)
    with opened(history) as connection:
        rows = query(connection, PROPAGATION, filters)
        assert rows == [tuple(row.values()) for row in brute.propagation(packets)]
        measured = query(connection, MEASURED, filters)
        transferred = query(connection, TRANSFERRED, filters)
    means = {task: (nano(outcomes), nano(drifts)) for task, outcomes, drifts in measured}
    crosses: dict[str, bool] = {}
    for task, is_cross, *_ in transferred:
        crosses[task] = crosses.get(task, False) or is_cross
    assert [
        (cross, *averages([means[t] for t in tasks if t in means], len(tasks)))
        for cross in (True, False)
        if (tasks := [task for task, is_cross in crosses.items() if is_cross is cross])
    ] == [tuple(row.values()) for row in brute.eval_correlation(packets)]
    pairs = [
        (Fraction(taken), Fraction(sender) - Fraction(receiver), means[task][0])
        for task, _, taken, sender, receiver in transferred
        if task in means and means[task][0] is not None
    ]
    expected = brute.correlation(packets)
    assert len(pairs) == expected["pearson"]["n"]
    assert coefficient(pairs, 0) == expected["point_biserial"]["coefficient"]
    assert coefficient(pairs, 1) == expected["pearson"]["coefficient"]


def nano(texts: list[str] | None) -> Fraction | None:
    """Return the mean of numbers, each and as a whole to nine places, half to even."""
    if not texts:
        return None
    numbers = [Fraction(round(Fraction(text) * 10**9), 10**9) for text in texts]
    return Fraction(round(sum(numbers, Fraction()) / len(numbers) * 10**9), 10**9)


def averages(means: list[Any], count: int) -> tuple[int, float | None, float | None]:
    known = [[each[n] for each in means if each[n] is not None] for n in (0, 1)]
    outcome, drift = (sum(each, Fraction()) / len(each) if each else None for each in known)
    return count, brute.six(outcome), brute.six(drift)


def coefficient(pairs: list[Any], column: int) -> float | None:
    """Return Pearson's r of a column and the outcomes."""
    return brute.pearson([pair[column] for pair in pairs], [pair[2] for pair in pairs])


@settings(max_examples=example_count(30), deadline=None)
@given(history=stories, filters=st.sampled_from(FILTERS))
def test_effectiveness_is_that_of_its_definition(history: Told, filters: dict[str, str]) -> None:
    packets = brute.fitting(list(history.packets.values()), filters)
    arguments = ", ".join(f"{name} := '{value}'" for name, value in filters.items())
    with opened(history) as connection:
        result = connection.execute(f"SELECT * FROM effectiveness({arguments})")
        names = [column[0] for column in result.description]
        rows = [dict(zip(names, row, strict=True)) for row in result.fetchall()]
    expected, _, _ = brute.scored(packets)
    assert rows == [pytest.approx(row, abs=1e-9) for row in expected]
