"""The queries beyond single tasks.

They read cached versions by cacheKey, each with its proof, and learned values: sums per kind of
task, heuristics per capability, and playbooks.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from schemas import sap
from streams.errors import NotFound
from streams.protocols.sap.row_checks import FIRST
from streams.views.keys import key
from streams.views.pages import page_of, rows_of
from streams.views.parse import QueryParams
from streams.views.query_params import CURSOR, Parameter, limit
from streams.views.reads import ReadOnlyStore
from streams.views.values import Json, json_of
from topology.sap import SAP_CACHE, SAP_HEURISTICS, SAP_KNOWLEDGE, SAP_LEARNING

LEARNING_PARAMS = (
    Parameter("capability", "of this capability", example="consult.align"),
    Parameter("territory", "of this territory; empty: of tasks without one", example="EUFM"),
    Parameter("fingerprint", "of tasks with this essence of the payload"),
    limit(100, 1000),
    CURSOR,
)


def newest_version(view: ReadOnlyStore, cacheKey: str, now: int) -> Json:
    """Return the newest record of a key.  now: ms since the epoch, the age is counted to.

    Raises NotFound.
    """
    rows = [row for _, row in view.scan(key("sap cache", cacheKey))]
    if not rows:
        raise NotFound(f"there is no answer under {cacheKey}")
    return {
        **_with_age(json_of(SAP_CACHE, rows[-1]), now),
        "versions": len(rows),
        "refusedWrites": int(view.get("sap refused", cacheKey) or b"0"),
    }


def versions(view: ReadOnlyStore, cacheKey: str, now: int) -> Json:
    """Return all records of a key, the newest first.  Raises NotFound."""
    records = [
        {**_with_age(record, now), "verified": verified}
        for record, verified in verified_records(view, cacheKey)
    ]
    if not records:
        raise NotFound(f"there is no answer under {cacheKey}")
    return {"cacheKey": cacheKey, "versions": records[::-1]}


def verified_records(
    view: ReadOnlyStore, cache_key: str | None = None
) -> Iterator[tuple[Json, bool]]:
    """Return every record, by key and version, and whether both its hashes are correct and no
    version is missing.

    cache_key: None for all of them.
    """
    prefix = key("sap cache") if cache_key is None else key("sap cache", cache_key)
    last, version, before = None, 0, FIRST
    for _, row in view.scan(prefix):
        record = json_of(SAP_CACHE, row)
        if record["cacheKey"] != last:
            last, version, before = record["cacheKey"], 0, FIRST
        sha256 = sap.record_sha256(record)
        holds = sha256 == record["recordSha256"] and record["previousSha256"] == before
        yield record, holds and record["version"] == version + 1
        version, before = record["version"], sha256


def _with_age(record: Json, now: int) -> Json:
    """Add the age in seconds, at least 0."""
    stored = sap.parse_seconds(record["storedAt"])
    assert stored is not None, "the service has written it"
    return {**record, "ageSec": max(0, now // 1000 - stored)}


def learning(view: ReadOnlyStore, params: QueryParams) -> Json:
    """Return SapLearning by capability, territory and fingerprint, each with its playbook; and the
    newest SapHeuristics of the capabilities on the page.
    """
    filters = [params.text(name) for name in ("capability", "territory", "fingerprint")]
    leading: list[str] = []
    for text in filters:
        if text is None:
            break
        leading.append(text)
    prefix = key("sap learning", *leading)

    def item(row: bytes) -> Json | None:
        value = json_of(SAP_LEARNING, row)
        row_key = (value["capability"], value["territory"] or "", value["fingerprint"])
        matches = all(text in (None, name) for text, name in zip(filters, row_key, strict=True))
        return {**_with_means(value), "playbook": _playbook(view, row_key)} if matches else None

    page = page_of(params, prefix, rows_of(view, prefix, item))
    capabilities = dict.fromkeys(value["capability"] for value in page["items"])
    newest = [row for name in capabilities if (row := _newest_heuristics(view, name))]
    return {"items": page["items"], "heuristics": newest, "next": page["next"]}


def heuristics(view: ReadOnlyStore, capability: str) -> Iterator[Json]:
    """Return every version, the first one first."""
    for _, row in view.scan(key("sap heuristics", capability)):
        yield json_of(SAP_HEURISTICS, row)


def _newest_heuristics(view: ReadOnlyStore, capability: str) -> Json | None:
    for _, row in view.scan(key("sap heuristics", capability), reverse=True):
        return json_of(SAP_HEURISTICS, row)
    return None


def _playbook(view: ReadOnlyStore, row_key: tuple[str, str, str]) -> Json | None:
    row = view.get("sap knowledge", *row_key)
    return None if row is None else json_of(SAP_KNOWLEDGE, row)


def _with_means(value: Json) -> Json:
    """Add the mean of each metric and of the ratings, null where there is none."""
    metrics = {name: _with_mean(totals) for name, totals in value["metrics"].items()}
    return {**value, "metrics": metrics, "ratings": _with_mean(value["ratings"])}


def _with_mean(totals: Json) -> Json:
    count = totals["count"]
    mean = float(Decimal(str(totals["sum"])) / count) if count else None
    return {**totals, "mean": int(mean) if mean is not None and mean.is_integer() else mean}
