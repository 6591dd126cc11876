"""Queries over the priors of strategies (APC guide, 5.10 and 6.2).

| key                                              | value                           |
|--------------------------------------------------|---------------------------------|
| prior, use_case, kind, strategy                  | ApcPrior as on its topic        |
| tried, use_case, kind, strategy, session_id, run_id, task_id, packet_id | nothing  |
| evals of, session_id, run_id, task_id, position  | key of the summary of that EVAL |

The last two list accepted packets; whether one is still counted is in its own row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from typing import Any
from urllib.parse import quote

from schemas import decode, to_json
from schemas.decimals import to_nano
from schemas.projection import Projection
from streams.errors import NotFound
from streams.protocols.apc.packet_summaries import Summary
from streams.protocols.apc.priors.rows import belief_of, decimal_text
from streams.protocols.apc.processor.contributions import METHOD, PROTOCOL, evidence_of
from streams.protocols.apc.settings import ApcSettings
from streams.views.changes import WriteBatch
from streams.views.keys import after, key, position_key, texts_in
from streams.views.pages import Entries, page_of, rows_of
from streams.views.parse import QueryParams
from streams.views.query_params import CURSOR, Parameter, ValueForm, limit, one_of
from streams.views.reads import ReadOnlyStore
from topology.apc import APC_EVENTS, APC_PACKET_STATES, APC_PRIORS

Json = dict[str, Any]
_USE_CASE = Parameter(
    "use_case", "in this use case; `-` for packets that name none", low=1, example="fleet"
)
_KIND = one_of("kind", "of this kind", (METHOD, PROTOCOL))._replace(example=METHOD)
_STRATEGY = Parameter("strategy", "this method or protocol", low=1, example="m-grid")
_KEY = (_USE_CASE, _KIND, _STRATEGY)
BY_MEAN, BY_ATTEMPTS = "mean", "attempts"
PRIOR_PARAMS = (
    *_KEY,
    Parameter("min_attempts", "with at min_attempts so many attempts", ValueForm.WHOLE),
    one_of("order", "the highest first, instead of by key", (BY_MEAN, BY_ATTEMPTS)),
    limit(100),
    CURSOR,
)
EXPLAIN_PARAMS = (*(each._replace(required=True) for each in _KEY), limit(1000, 10_000), CURSOR)
_RECORD = APC_PRIORS.record or ""
_STATES = Projection(APC_PACKET_STATES.record or "", ("counted", "gates"))
_METRICS = "packet/payload/EvalPayload/metric_set"
_EVALS = Projection(APC_EVENTS.record or "", (f"{_METRICS}/outcome", f"{_METRICS}/drift_risk"))
_RANK_BYTES = 16
_HIGHEST_RANK = 1 << 96


def index_evidence(
    fact: Mapping[str, Any], position: tuple[int, int, int], summary_key: bytes, rows: WriteBatch
) -> None:
    """List an accepted packet under the strategies that it counts for, and an EVAL under its task.

    summary_key: of the packet's summary.
    """
    task = (fact["session_id"], fact["run_id"], fact["task_id"])
    for one in fact["strategies"] or ():
        strategy = (one["use_case"], one["kind"], one["strategy"])
        rows[key("tried", *strategy, *task, fact["packet_id"])] = b""
    if fact["packet_type"] == "EVAL":
        rows[key("evals of", *task) + position_key(*position)] = summary_key


def priors(view: ReadOnlyStore, params: QueryParams, settings: ApcSettings) -> Json:
    """Return what is known of strategies, by use case, kind and strategy, or in another order."""
    filters = {each.name: text for each in _KEY if (text := params.text(each.name)) is not None}
    leading = []
    for each in _KEY:
        if each.name not in filters:
            break
        leading.append(filters[each.name])
    min_attempts = params.number("min_attempts") or 0

    def item(row: bytes) -> Json | None:
        value = _prior(row, settings)
        fits = all(value[name] == text for name, text in filters.items())
        return value if fits and value["attempts"] >= min_attempts else None

    prefix = key("prior", *leading)
    order = params.text("order")
    entries = rows_of(view, prefix, item)
    return page_of(params, prefix, entries if order is None else _ranked(entries, prefix, order))


def _ranked(
    entries: Callable[[bytes | None], Entries], prefix: bytes, order: str
) -> Callable[[bytes | None], Entries]:
    """Return the entries with the highest first; ties stay in the order of their keys."""

    def ranked(after_key: bytes | None) -> Entries:
        items = ((row_key, item) for row_key, item in entries(None) if item is not None)
        listed = sorted((prefix + _rank(item, order) + row_key, item) for row_key, item in items)
        return iter(each for each in listed if after_key is None or each[0] > after_key)

    return ranked


def _rank(prior: Json, order: str) -> bytes:
    """Return bytes that sort the highest first."""
    number = Fraction(prior["attempts"])
    if order == BY_MEAN:
        alpha, beta = Fraction(prior["alpha"]), Fraction(prior["beta"])
        number = alpha / (alpha + beta)
    return (_HIGHEST_RANK - int(number * 10**18)).to_bytes(_RANK_BYTES, "big")


def _prior(row: bytes, settings: ApcSettings) -> Json:
    """Return a row with what it comes to under the policy."""
    prior = decode(row, _RECORD).value
    alpha, beta, mean, sd = belief_of(prior, settings.apc_priors_alpha, settings.apc_priors_beta)
    return {
        **to_json(_RECORD, prior),
        "alpha": decimal_text(alpha),
        "beta": decimal_text(beta),
        "mean": float(mean),
        "sd": float(sd),
    }


def explain(view: ReadOnlyStore, params: QueryParams, settings: ApcSettings) -> Json:
    """Return a prior and the tasks that it is the sum of.  Raises NotFound."""
    strategy = [params.required(each.name) for each in _KEY]
    row = view.get("prior", *strategy)
    if row is None:
        raise NotFound(f"there is no prior of the {strategy[1]} {strategy[2]} in {strategy[0]}")
    prefix = key("tried", *strategy)

    def entries(after_key: bytes | None) -> Entries:
        start = None if after_key is None else after(after_key)
        index = (row_key for row_key, _ in view.scan(prefix, start))
        for task, keys in groupby(index, lambda row_key: texts_in(row_key[len(prefix) :])[:3]):
            listed = list(keys)
            packets = [texts_in(row_key[len(prefix) :])[3] for row_key in listed]
            yield listed[-1], _task(view, tuple(task), packets)

    page = page_of(params, prefix, entries)
    return {"prior": _prior(row, settings), "tasks": page["items"], "next": page["next"]}


def _task(view: ReadOnlyStore, task: tuple[str, ...], packets: list[str]) -> Json | None:
    """Return what a task says of a strategy, None if it is no attempt.

    packets: those that were accepted with the strategy.
    """
    session_id, run_id, task_id = task
    counted = [packet_id for packet_id in packets if _is_counted(view, session_id, packet_id)]
    evals = list(_counted_evals(view, task)) if counted else []
    if not evals:
        return None
    _, outcome, met, has_drift, drift = evidence_of({"evals": evals})
    newest = evals[-1]["packet_id"]
    return {
        "session_id": session_id,
        "run_id": run_id,
        "task_id": task_id,
        "outcome": _from_nano(outcome),
        "drift_risk": _from_nano(drift) if has_drift else None,
        "gates_met": bool(met),
        "evals": [one["packet_id"] for one in evals],
        "packets": counted,
        "explain": f"/v1/apc/sessions/{quote(session_id, safe='')}/packets/{newest}/explain",
    }


def _is_counted(view: ReadOnlyStore, session_id: str, packet_id: str) -> bool:
    row = view.get("state", session_id, packet_id)
    return row is not None and bool(_STATES.of(row)["counted"])


def _counted_evals(view: ReadOnlyStore, task: tuple[str, ...]) -> Iterator[Json]:
    """Yield the counted EVALs of a task in log order, as ApcTask has them."""
    refs = [ref for _, ref in view.scan(key("evals of", *task))]
    summaries = [Summary.load(row) for row in view.get_many(refs) if row is not None]
    facts = view.get_many([summary.fact_key for summary in summaries])
    for summary, fact in zip(summaries, facts, strict=True):
        row = view.get("state", summary.session_id, summary.packet_id)
        if fact is None or row is None or not (state := _STATES.of(row))["counted"]:
            continue
        metrics = _EVALS.of(fact)["packet"]["payload"][1]["metric_set"]
        drift = metrics["drift_risk"]
        yield {
            "packet_id": summary.packet_id,
            "outcome_nano": to_nano(metrics["outcome"]),
            "drift_nano": None if drift is None else to_nano(drift),
            "gates_met": state["gates"]["met"],
        }


def _from_nano(number: int) -> float:
    return float(Decimal(number).scaleb(-9))
