"""The routes of SAP 2.0: tasks, results, signals, cached answers, learning (SAP guide, 6.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from schemas import Problem
from schemas.sap import rules
from streams.access.callers import Role
from streams.api.correlation import response_header
from streams.api.problems import Response
from streams.api.route import (
    MAX_VALUES,
    AwaitOutcome,
    Call,
    Produce,
    ProduceOptions,
    Query,
    Route,
)
from streams.log.records import PATIENCE_S
from streams.protocols.sap import as_of
from streams.protocols.sap.queries import cache_list, explain, knowledge, task_list, tasks
from streams.protocols.sap.queries.rows import end_key
from streams.protocols.sap.settings import SapSettings
from streams.settings.service import ServiceSettings
from streams.views.reads import ReadOnlyStore
from topology.declarations import Topic
from topology.sap import SAP_RESULTS, SAP_SIGNALS, SAP_TASKS

_TASK = "/v1/sap/tasks/{taskId}"
_CACHE = "/v1/sap/cache/{cacheKey}"
_EMPTY = Problem("out_of_range", "", f"A list has 1 to {MAX_VALUES} envelopes; this one is empty.")
_STATUSES = tuple(sorted({status for _, status in rules.REFUSALS.values()} - {422}))
_TERMS = ProduceOptions(_EMPTY, correlated=True, too_large="too_large")


def _most_s(settings: ServiceSettings) -> int:
    return SapSettings.of(settings).sap_max_wait_s


def _row(envelope: Any) -> bytes:
    return end_key(envelope["taskId"])


def _produce(
    topic: Topic,
    awaits: str,
    answer: Callable[[ReadOnlyStore, Mapping[str, Any], str], Response | None],
) -> Produce:
    """Return the action that accepts envelopes of a topic.  answer: for a sender who waits."""

    def respond(call: Call, envelope: Any, cause: str) -> Response | None:
        return answer(call.view, envelope, cause)

    wait = AwaitOutcome(
        awaits, "SapPending", "SapAck", _most_s, _row, respond, tasks.pending_response, _STATUSES
    )
    return Produce(topic, _TERMS, wait)


def _explain(call: Call) -> Any:
    assert call.log is not None, "only a process with a log answers this"
    values = explain.values_from(call.log, PATIENCE_S)
    return explain.explain(call.view, call.ids["taskId"], values, call.settings.as_work())


def _get_playbook(call: Call) -> Any:
    return knowledge.playbook(call.view, **call.ids, territory=call.params.text("territory"))


ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/sap/tasks",
        "send_tasks",
        _produce(SAP_TASKS, "SapOutcome", tasks.await_outcome),
        "send tasks, or send one and wait for its outcome",
        body="sap/task",
    ),
    Route(
        "POST",
        "/v1/sap/results",
        "send_results",
        _produce(SAP_RESULTS, "SapAck", tasks.await_ack),
        "report results of tasks",
        body="sap/result",
    ),
    Route(
        "POST",
        "/v1/sap/signals",
        "send_signals",
        _produce(SAP_SIGNALS, "SapAck", tasks.await_ack),
        "rate, annotate, approve or cancel tasks",
        body="sap/signal",
        role=Role.OPERATOR,
    ),
    Route(
        "GET",
        "/v1/sap/tasks",
        "list_sap_tasks",
        Query(lambda call: task_list.tasks(call.view, call.params)),
        "accepted tasks, the newest first",
        task_list.TASKS_PARAMS,
        "SapTasks",
    ),
    Route(
        "GET",
        _TASK,
        "get_task",
        Query(
            lambda call: tasks.task(call.view, **call.ids),
            lambda body: response_header([body]),
            past=as_of.task,
        ),
        "one task: where it stands, what was sent about it, and its outcomes",
        answer="SapTaskAnswer",
    ),
    Route(
        "GET",
        f"{_TASK}/explain",
        "explain_task",
        Query(_explain, asks_kafka=True),
        "how each command about a task was decided: every check in order, and the evaluation by the"
        " constitution of this process",
        answer="SapExplanation",
    ),
    Route(
        "GET",
        "/v1/sap/cache",
        "list_cached",
        Query(lambda call: cache_list.cached(call.view, call.params, call.now)),
        "the keys of vetted answers, each with the newest answer but its output",
        cache_list.CACHE_PARAMS,
        "SapCachedKeys",
    ),
    Route(
        "GET",
        _CACHE,
        "get_cached",
        Query(
            lambda call: knowledge.newest_version(call.view, **call.ids, now=call.now),
            brief=True,
            past=as_of.cached,
        ),
        "the newest vetted answer under a key",
        answer="SapCached",
    ),
    Route(
        "GET",
        f"{_CACHE}/versions",
        "list_cached_versions",
        Query(
            lambda call: knowledge.versions(call.view, **call.ids, now=call.now),
            past=as_of.cached,
        ),
        "all vetted answers under a key, newest first, and whether their hashes hold",
        answer="SapVersions",
    ),
    Route(
        "GET",
        "/v1/sap/learning",
        "list_learning",
        Query(lambda call: knowledge.learning(call.view, call.params)),
        "what was learned of tasks that ask the same thing",
        knowledge.LEARNING_PARAMS,
        "SapLearnings",
    ),
    Route(
        "GET",
        "/v1/sap/librarian",
        "list_playbooks",
        Query(lambda call: knowledge.librarian(call.view, call.params)),
        "playbooks of kinds of tasks, each with its punch-card",
        knowledge.LEARNING_PARAMS,
        "SapPlaybooks",
    ),
    Route(
        "GET",
        "/v1/sap/librarian/{capability}/{fingerprint}",
        "get_playbook",
        Query(_get_playbook),
        "the playbook of one kind of task, with its punch-card",
        knowledge.PLAYBOOK_PARAMS,
        "SapPlaybook",
    ),
    Route(
        "GET",
        "/v1/sap/heuristics",
        "list_heuristics",
        Query(lambda call: knowledge.heuristics(call.view, call.params)),
        "every version of the values derived for a capability",
        knowledge.HEURISTICS_PARAMS,
        "SapHeuristicsPage",
    ),
)
