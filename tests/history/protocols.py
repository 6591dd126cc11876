"""The checkers of the single protocols over their share of a mixed history.

What the verdicts promise (inboxes, outcomes, events, edges) is there exactly once; tables are what
the facts fold to; each verdict follows from its command.  They model the protocols anew from
their specs and do not ask the service's own verification.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from tests.e2e import (
    asap_check_commands,
    asap_check_keys,
    asap_check_outcome,
    asap_history,
    checker,
    checker_agents,
    checker_escalations,
    checker_lineage,
    checker_rewinds,
    checker_sessions,
    checker_tasks,
    history,
    otel_check,
    sap_check_cache,
    sap_check_commands,
    sap_check_learning,
    sap_check_tasks,
    sap_history,
    summit_check_commands,
    summit_check_evidence,
    summit_check_outcome,
    summit_history,
)
from tests.e2e.asap_fold import Fold as AsapFold
from tests.e2e.summit_fold import Fold as SummitFold
from tests.history.anomalies import Anomaly, Violation
from tests.history.sources import Part, Source
from topology.apc import APC_PACKETS

Problems = Iterable[str]
Check = Callable[[], Problems]


class Expected(NamedTuple):
    """What the checkers must know of a run.  thoughts: of each turn that was sent, by task and
    index.  summit_timeout_s: the worker's setting."""

    thoughts: Mapping[tuple[str, int], str]
    summit_timeout_s: int


def check(source: Source, expected: Expected) -> Iterator[Violation]:
    parts: Mapping[str, Callable[[], Iterator[tuple[Anomaly, Check]]]] = {
        "apc": lambda: _apc(source),
        "sap": lambda: _sap(source),
        "asap": lambda: _asap(source),
        "summit": lambda: _summit(source, expected.summit_timeout_s),
        "saop": lambda: _saop(source, expected.thoughts),
        "otel": lambda: _otel(source),
    }
    for name, checks in parts.items():
        try:
            for anomaly, run in checks():
                yield from (Violation(anomaly, name, problem) for problem in run())
        except Exception as exc:  # a broken history need not be one that can be followed
            detail = f"it cannot be followed: {type(exc).__name__}: {exc}"
            yield Violation(Anomaly.VERDICT, name, detail)


def _apc(source: Source) -> Iterator[tuple[Anomaly, Check]]:
    apc_history = history.read(Part(source, "apc", APC_PACKETS))
    apc_history.raw = {}
    yield Anomaly.VERDICT, lambda: checker.answered_once(apc_history)
    yield Anomaly.VERDICT, lambda: checker.verdicts_follow(apc_history)
    yield Anomaly.ILLEGAL_STEP, lambda: checker.histories_legal(apc_history)
    yield Anomaly.ILLEGAL_STEP, lambda: checker_sessions.notes_legal(apc_history)
    yield Anomaly.OUTPUT, lambda: checker.events_once(apc_history)
    yield Anomaly.OUTPUT, lambda: checker.deliveries_kept(apc_history)
    yield Anomaly.OUTPUT, lambda: checker_sessions.moves_reported(apc_history)
    yield Anomaly.TABLE, lambda: checker.timers_armed(apc_history)
    yield Anomaly.TABLE, lambda: checker.rows_fold(apc_history)
    yield Anomaly.TABLE, lambda: checker_sessions.coordination_folds(apc_history)
    yield Anomaly.TABLE, lambda: checker_sessions.throttles_fold(apc_history)
    yield Anomaly.TABLE, lambda: checker_lineage.lineage(apc_history)


def _sap(source: Source) -> Iterator[tuple[Anomaly, Check]]:
    history = sap_history.read(Part(source, "sap"))
    yield Anomaly.VERDICT, lambda: sap_check_commands.check(history)
    yield Anomaly.OUTPUT, lambda: sap_check_tasks.check(history)
    yield Anomaly.TABLE, lambda: sap_check_cache.check(history)
    yield Anomaly.TABLE, lambda: sap_check_learning.check(history)


def _asap(source: Source) -> Iterator[tuple[Anomaly, Check]]:
    history = asap_history.read(Part(source, "asap"))
    yield Anomaly.VERDICT, lambda: asap_check_commands.check(history)
    fold = AsapFold(history)
    yield Anomaly.ILLEGAL_STEP, lambda: fold.faults
    yield Anomaly.VERDICT, lambda: asap_check_keys.check(history, fold)
    yield Anomaly.OUTPUT, lambda: asap_check_outcome.check(history, fold)


def _summit(source: Source, timeout_s: int) -> Iterator[tuple[Anomaly, Check]]:
    history = summit_history.read(Part(source, "summit"))
    yield Anomaly.VERDICT, lambda: summit_check_commands.check(history)
    fold = SummitFold(history, timeout_s)
    yield Anomaly.ILLEGAL_STEP, lambda: [*fold.faults, *fold.registry.faults]
    yield Anomaly.OUTPUT, lambda: summit_check_outcome.check(history, fold)
    yield Anomaly.OUTPUT, lambda: summit_check_evidence.check(history)


def _saop(
    source: Source, thoughts: Mapping[tuple[str, int], str]
) -> Iterator[tuple[Anomaly, Check]]:
    yield Anomaly.OUTPUT, lambda: checker_agents.check(source, dict(thoughts))
    yield Anomaly.OUTPUT, lambda: checker_rewinds.check(source)
    yield Anomaly.OUTPUT, lambda: checker_escalations.check(source)
    yield Anomaly.TABLE, lambda: checker_tasks.check(source)


def _otel(source: Source) -> Iterator[tuple[Anomaly, Check]]:
    yield Anomaly.VERDICT, lambda: otel_check.verdicts(source)
    yield Anomaly.OUTPUT, lambda: otel_check.events(source)
