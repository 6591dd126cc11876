"""The queries of runs, their results, and facts about runs and agents (Summit guide, 2.5 and 6)."""

from __future__ import annotations

from typing import Any

from schemas import summit
from schemas.projection import Projection
from schemas.summit import rules
from schemas.summit.results import money_text, rounded_money
from schemas.summit.words import STATES, TERMINAL
from streams.errors import NotFound
from streams.protocols.summit.queries.rows import (
    RUNS,
    agent_events,
    end_key,
    fact_key,
    input_key,
    output_key,
    run_events,
    run_key,
    totals_key,
)
from streams.views.pages import page_of, rows_by_index, rows_of, rows_reversed
from streams.views.parse import QueryParams
from streams.views.query_params import CURSOR, Parameter, ValueForm, limit, one_of, window
from streams.views.reads import ReadOnlyStore
from streams.views.values import Json, filters_of, json_of, matches
from topology.summit import SUMMIT_EVENTS, SUMMIT_RUNS, SUMMIT_TREES

PAGED = (limit(100, 500), CURSOR)


def verdict_row(position: str) -> bytes:
    """Return the key of the fact about the record there."""
    return fact_key(f"{position}/0")


def verdict(view: ReadOnlyStore, position: str) -> Json | None:
    """Return the SummitEvent about the record there; None while it is not seen."""
    (row,) = view.get_many([verdict_row(position)])
    return None if row is None else event_of(json_of(SUMMIT_EVENTS, row))


def run_facts(view: ReadOnlyStore, run_id: str, params: QueryParams) -> Json:
    """Return a page of SummitEvents, in log order."""
    return _fact_page(view, run_events(run_id), params)


def agent_facts(view: ReadOnlyStore, agent_id: str, params: QueryParams) -> Json:
    """Return a page of the SummitEvents about its manifests, in log order."""
    return _fact_page(view, agent_events(agent_id), params)


def _fact_page(view: ReadOnlyStore, prefix: bytes, params: QueryParams) -> Json:
    index = rows_of(view, prefix, lambda row_key: row_key)
    return page_of(
        params,
        prefix,
        rows_by_index(view, index, lambda row: event_of(json_of(SUMMIT_EVENTS, row))),
    )


RUNS_PARAMS = (
    Parameter("agentId", "of this agent", example="word-stats"),
    one_of("state", "in this state", tuple(STATES)),
    one_of("kind", "made by `agent.invoke` or by `tool.call`", ("invoke", "tool")),
    Parameter("traceId", "of this trace", example="tr-9c"),
    Parameter("parentRunId", "made on behalf of this run", example="run-7f2"),
    Parameter("caller", "made by this principal"),
    Parameter("root", "only those that no other run has made", ValueForm.FLAG, default=False),
    *window("created"),
    *PAGED,
)
HIDDEN = b""
"""In place of the totals of a run's tree: they are not known of that time."""
_STATE = Projection(SUMMIT_RUNS.record or "", ("state",))
_PARENT = Projection(SUMMIT_RUNS.record or "", ("parentRunId",))
MOST_READ = 2500
"""The most runs that one page reads; where filters leave few of them, the next page goes on."""
_COMPLETED = "completed"
_STATUS_MEMBERS = (
    *("runId", "agentId", "kind", "status", "reason", "version", "traceId", "parentRunId"),
    *("createdAt", "startedAt", "updatedAt", "finishedAt", "dueAt", "metrics", "provenance"),
    *("message", "verificationStatus", "judge", "evidence", "judgeRunId", "judges"),
)
"""The members of a run in the response of `agent.status`."""


def run_row(run_id: str) -> bytes:
    return run_key(run_id)


def end_row(run_id: str) -> bytes:
    return end_key(run_id)


def status(view: ReadOnlyStore, run_id: str) -> str | None:
    """Return the current state of a run, None if there is no such run."""
    (row,) = view.get_many([run_key(run_id)])
    return None if row is None else str(_STATE.of(row)["state"])


def result(view: ReadOnlyStore, run_id: str) -> Json | None:
    """Return the RunResult or ToolResult; None until the run's end is in the view as a whole."""
    row = _find_row(view, run_id)
    if row is None or row["state"] not in TERMINAL:
        return None
    output = _output(view, row)
    if row["state"] == _COMPLETED and output is summit.ABSENT:
        return None
    response: Json = summit.call_result(row, output)
    return response


def judged_result(view: ReadOnlyStore, run_id: str) -> Json | None:
    """Return what `result` does; None also while a critic that the service called is at work."""
    row = _find_row(view, run_id)
    if row is None or (row["judgeRunId"] is not None and row["judge"] is None):
        return None
    return result(view, run_id)


def run(view: ReadOnlyStore, run_id: str) -> Json:
    """Return SummitRun with `status` for `state`, and with `inputs`, `output` and `tree`.

    Raises NotFound.
    """
    row = require_row(view, run_id)
    inputs = _fact_member(view, input_key(run_id), "inputs")
    return {
        **_with_status(row),
        "inputs": None if inputs is summit.ABSENT else inputs,
        "output": output_of(view, row),
        "tree": tree_totals(view, row),
    }


def run_status(view: ReadOnlyStore, run_id: str) -> Json:
    """Return a run for `agent.status`, with its result once it has ended.  Raises NotFound."""
    row = require_row(view, run_id)
    listed_run = _with_status(row)
    response = {name: listed_run[name] for name in _STATUS_MEMBERS}
    response["tree"] = tree_totals(view, row)
    run_result = result(view, run_id)
    return response if run_result is None else {**response, "result": run_result}


def tree_totals(view: ReadOnlyStore, row: Json) -> Json | None:
    """Return what a run and those below it have spent: {usd, tokens, runs, open}.

    usd: dollars, to nine decimals.  None of the past: what was spent then is in the facts.
    row: SummitRun, JSON; without runs below it the totals are its own.
    """
    (totals,) = view.get_many([totals_key(row["runId"])])
    if totals is None:
        metrics = row["metrics"]
        return {
            "usd": money_text(metrics["cost_usd"]),
            "tokens": metrics["tokens"],
            "runs": 1,
            "open": 0,
        }
    if totals == HIDDEN:
        return None
    value = json_of(SUMMIT_TREES, totals)
    return {name: value[name] for name in ("usd", "tokens", "runs", "open")}


def runs(view: ReadOnlyStore, params: QueryParams) -> Json:
    """Return a page of runs without inputs and output, the newest first."""
    members = filters_of(params, (*RUNS.fixed, RUNS.state))
    prefix, is_root = RUNS.among(members), params.flag("root")

    def item(row: bytes) -> Json | None:
        if is_root and _PARENT.of(row)["parentRunId"] is not None:
            return None
        value = json_of(SUMMIT_RUNS, row)
        return _with_status(value) if matches(value, members) else None

    index = rows_reversed(view, prefix, lambda row_key: row_key, *params.window(prefix))
    return page_of(params, prefix, rows_by_index(view, index, item), MOST_READ)


def require_row(view: ReadOnlyStore, run_id: str) -> Json:
    row = _find_row(view, run_id)
    if row is None:
        raise NotFound(f"there is no run {run_id}", rules.RUN_UNKNOWN.code)
    return row


def _find_row(view: ReadOnlyStore, run_id: str) -> Json | None:
    (row,) = view.get_many([run_key(run_id)])
    return None if row is None else json_of(SUMMIT_RUNS, row)


def _with_status(row: Json) -> Json:
    """Rename `state` of a run to `status` (Summit guide, 5.7), and round its costs."""
    listed_run = {("status" if name == "state" else name): value for name, value in row.items()}
    listed_run["metrics"] = rounded_money(row["metrics"])
    judge = row["judge"]
    if judge is not None and judge["metrics"] is not None:
        listed_run["judge"] = {**judge, "metrics": rounded_money(judge["metrics"])}
    return listed_run


def event_of(event: Json) -> Json:
    """Return a SummitEvent, as JSON, with its amounts of money rounded."""
    return {**event, "figures": rounded_money(event["figures"])}


def output_of(view: ReadOnlyStore, row: Json) -> Any:
    """Return the output of a run, None if it did not complete.  row: SummitRun, JSON."""
    output = _output(view, row)
    return None if output is summit.ABSENT else output


def _output(view: ReadOnlyStore, row: Json) -> Any:
    if row["state"] != _COMPLETED:
        return summit.ABSENT
    return _fact_member(view, output_key(row["runId"]), "output")


def _fact_member(view: ReadOnlyStore, pointer: bytes, name: str) -> Any:
    """Return a member of the fact that an index row points to; summit.ABSENT without a row."""
    (row_key,) = view.get_many([pointer])
    (fact,) = view.get_many([row_key]) if row_key is not None else (None,)
    return summit.ABSENT if fact is None else json_of(SUMMIT_EVENTS, fact)[name]
