"""What was learned: sums per kind of task, heuristics per capability, playbooks."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from streams.protocols.sap.queries.common import Json, json_of
from streams.views.keys import key
from streams.views.pages import listed, rows_of
from streams.views.parameters import CURSOR, Parameter, limit
from streams.views.params import Params
from streams.views.reads import Reads
from topology.sap import SAP_HEURISTICS, SAP_KNOWLEDGE, SAP_LEARNING

LEARNING_PARAMS = (
    Parameter("capability", "of this capability", example="consult.align"),
    Parameter("territory", "of this territory; empty: of tasks without one", example="EUFM"),
    Parameter("fingerprint", "of tasks with this essence of the payload"),
    limit(100, 1000),
    CURSOR,
)


def learning(view: Reads, params: Params) -> Json:
    """SapLearning by capability, territory and fingerprint, each with its playbook; and the newest
    SapHeuristics of the capabilities shown."""
    wanted = [params.text(name) for name in ("capability", "territory", "fingerprint")]
    leading: list[str] = []
    for text in wanted:
        if text is None:
            break
        leading.append(text)
    prefix = key("sap learning", *leading)

    def item(row: bytes) -> Json | None:
        value = json_of(SAP_LEARNING, row)
        own = (value["capability"], value["territory"] or "", value["fingerprint"])
        fits = all(text in (None, has) for text, has in zip(wanted, own, strict=True))
        return {**with_means(value), "playbook": _playbook(view, own)} if fits else None

    page = listed(params, prefix, rows_of(view, prefix, item))
    shown = dict.fromkeys(value["capability"] for value in page["items"])
    newest = [found for capability in shown if (found := newest_heuristics(view, capability))]
    return {"items": page["items"], "heuristics": newest, "next": page["next"]}


def _playbook(view: Reads, own: tuple[str, str, str]) -> Json | None:
    row = view.get("sap knowledge", *own)
    return None if row is None else json_of(SAP_KNOWLEDGE, row)


def newest_heuristics(view: Reads, capability: str) -> Json | None:
    for _, row in view.scan(key("sap heuristics", capability), reverse=True):
        return json_of(SAP_HEURISTICS, row)
    return None


def heuristics(view: Reads, capability: str) -> Iterator[Json]:
    """Every version, the first one first."""
    for _, row in view.scan(key("sap heuristics", capability)):
        yield json_of(SAP_HEURISTICS, row)


def with_means(value: Json) -> Json:
    """A SapLearning with the mean of each metric and of the ratings, null where there is none."""
    metrics = {name: _with_mean(figures) for name, figures in value["metrics"].items()}
    return {**value, "metrics": metrics, "ratings": _with_mean(value["ratings"])}


def _with_mean(figures: Json) -> Json:
    count = figures["count"]
    mean = float(Decimal(str(figures["sum"])) / count) if count else None
    return {**figures, "mean": int(mean) if mean is not None and mean.is_integer() else mean}
