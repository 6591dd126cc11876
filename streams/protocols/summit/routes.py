"""The routes of Summit v1: manifests, calls, replies, agents, runs (Summit guide, 6.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from schemas import Problem
from schemas.summit import rules
from schemas.summit.checker import is_agent_id
from streams.api.route import (
    AwaitVerdicts,
    Call,
    Produce,
    ProduceOptions,
    Query,
    ReplaceCommand,
    Route,
)
from streams.engine.records import Output
from streams.errors import InvalidInput
from streams.protocols.summit import as_of
from streams.protocols.summit.queries import agents, runs, tree
from streams.protocols.summit.queries.evidence import run_checks
from streams.protocols.summit.settings import SummitSettings
from streams.settings.service import ServiceSettings
from streams.views.query_params import Parameter
from topology.declarations import Topic
from topology.summit import SUMMIT_CALLS, SUMMIT_MANIFESTS, SUMMIT_REPLIES

YAML_TYPES = ("application/yaml", "text/yaml")
MAX_RECORDS = 500
_MANIFESTS = "/v1/summit/manifests"
_AGENT = "/v1/summit/agents/{agentId}"
_RUN = "/v1/summit/runs/{runId}"
_REPLY_RUN = Parameter(
    "runId", "the run of JSON-RPC responses that have no runId", low=1, high=128, example="run-7f2"
)


def _max_wait_s(settings: ServiceSettings) -> int:
    return SummitSettings.of(settings).summit_wait_max_s


_VERDICTS = AwaitVerdicts("SummitVerdicts", _max_wait_s, runs.verdict)


def _produce(topic: Topic, *others: str, key: str | None = None) -> Produce:
    options = ProduceOptions(max_values=MAX_RECORDS, others=others, key=key)
    return Produce(topic, options, _VERDICTS)


def _query(query: Callable[..., Any], *, paged: bool = False) -> Query:
    """Return the action of a query.

    query: a function of the view, the ids of the path and, if paged, the parameters.
    """

    def answer(call: Call) -> Any:
        more = (call.params,) if paged else ()
        return query(call.view, *call.ids.values(), *more)

    return Query(answer)


def _get_agent(call: Call) -> Any:
    return agents.agent(call.view, call.ids["agentId"], call.params.text("version"))


def _check_evidence(call: Call) -> Any:
    assert call.log is not None, "the records of a run are on the log"
    return run_checks(call.view, call.log, call.ids["runId"])


def _withdrawal(call: Call) -> Output:
    """Return the tombstone that withdraws an agent.  Raises InvalidInput for an invalid name."""
    agent_id = call.ids["agentId"]
    if not is_agent_id(agent_id):
        message = f"{agent_id} is not an agent's name."
        raise InvalidInput([Problem(rules.MANIFEST_NAME.code, "agentId", message)])
    return Output(call.settings.prefix + SUMMIT_MANIFESTS.name, agent_id.encode(), None)


ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        _MANIFESTS,
        "send_summit_manifests",
        _produce(SUMMIT_MANIFESTS, *YAML_TYPES),
        "register agents by their manifests",
        body="summit/manifest",
    ),
    Route(
        "DELETE",
        f"{_MANIFESTS}/{{agentId}}",
        "withdraw_summit_agent",
        ReplaceCommand(SUMMIT_MANIFESTS, _withdrawal, _VERDICTS),
        "withdraw an agent",
    ),
    Route(
        "POST",
        "/v1/summit/calls",
        "send_summit_calls",
        _produce(SUMMIT_CALLS),
        "make or cancel runs, without waiting for what comes of them",
        body="summit/call",
    ),
    Route(
        "POST",
        "/v1/summit/replies",
        "send_summit_replies",
        _produce(SUMMIT_REPLIES, key=_REPLY_RUN.name),
        "say how runs go, as their agents, or judge them, as critics",
        (_REPLY_RUN,),
        body="summit/sent-reply",
    ),
    Route(
        "GET",
        "/v1/summit/agents",
        "list_summit_agents",
        _query(agents.agents, paged=True),
        "the manifests in force, by agentId",
        agents.AGENTS_PARAMS,
        "SummitAgents",
    ),
    Route(
        "GET",
        _AGENT,
        "get_summit_agent",
        Query(_get_agent),
        "one agent: its manifest in force, or one of its versions",
        (agents.VERSION_PARAM,),
        "SummitAgent",
    ),
    Route(
        "GET",
        f"{_AGENT}/events",
        "list_summit_agent_events",
        _query(runs.agent_facts, paged=True),
        "the verdicts on the manifests of an agent",
        runs.PAGED,
        "SummitEvents",
    ),
    Route(
        "GET",
        "/v1/summit/runs",
        "list_summit_runs",
        _query(runs.runs, paged=True),
        "runs without inputs and output, the newest first",
        runs.RUNS_PARAMS,
        "SummitRuns",
    ),
    Route(
        "GET",
        _RUN,
        "get_summit_run",
        _query(runs.run)._replace(past=as_of.run),
        "one run: where it stands, its inputs, its output and the evidence of both",
        answer="SummitWholeRun",
    ),
    Route(
        "GET",
        f"{_RUN}/events",
        "list_summit_run_events",
        _query(runs.run_facts, paged=True)._replace(past=as_of.run),
        "the verdicts on the call and the replies of a run",
        runs.PAGED,
        "SummitEvents",
    ),
    Route(
        "GET",
        f"{_RUN}/tree",
        "get_summit_run_tree",
        _query(tree.run_tree, paged=True),
        "a run and the runs below it, depth first, with what each has used",
        tree.TREE_PARAMS,
        "SummitRunTree",
    ),
    Route(
        "GET",
        f"{_RUN}/evidence",
        "check_summit_run_evidence",
        Query(_check_evidence, asks_kafka=True),
        "the hashes of a run, computed again from the records that its evidence names",
        answer="SummitRunEvidence",
    ),
)
