"""The queries beyond single tasks.

They read cached versions by cacheKey, each with its proof, and learned values: sums per kind of
task, heuristics per capability, and playbooks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from schemas import sap
from streams.errors import NotFound, RecordRefused
from streams.protocols.sap.counted_versions import (
    FIRST_PREVIOUS,
    NOT_STORED,
    UNDECODABLE,
    json_record,
    version_fault,
)
from streams.protocols.sap.row_hashes import hashed_json
from streams.views.keys import key, number_at_end, texts_in
from streams.views.pages import page_of, rows_of
from streams.views.parse import QueryParams
from streams.views.query_params import CURSOR, Parameter, limit
from streams.views.reads import ReadOnlyStore
from streams.views.values import Json, json_of
from topology.sap import SAP_HEURISTICS, SAP_KNOWLEDGE, SAP_LEARNING

CACHE = key("sap cache")
_NUMBER_BYTES = len(key(0))
LEARNING_PARAMS = (
    Parameter("capability", "of this capability", example="consult.align"),
    Parameter("territory", "of this territory; empty: of tasks without one", example="EUFM"),
    Parameter("fingerprint", "of tasks with this essence of the payload"),
    limit(100, 1000),
    CURSOR,
)


PLAYBOOK_PARAMS = (Parameter("territory", "of tasks of this territory", example="EUFM"),)
HEURISTICS_PARAMS = (LEARNING_PARAMS[0], limit(100, 1000), CURSOR)


class CachedVersion(NamedTuple):
    """A version in the view.

    record: SapCacheRecord as JSON, None if it is refused.  refusal: why it is, None if it counts.
    position: of the record.
    holds: it counts, and it follows the version before it.
    """

    cache_key: str
    number: int
    record: Json | None
    refusal: str | None
    holds: bool
    position: str | None


def newest_version(view: ReadOnlyStore, cacheKey: str, now: int) -> Json:
    """Return the newest record of a key that counts.  now: ms since the epoch, for the age.

    Raises NotFound, and RecordRefused if none counts.
    """
    records = list(cached_versions(view, cacheKey))[::-1]
    if not records:
        raise NotFound(f"there is no answer under {cacheKey}")
    newest = next((each.record for each in records if each.record is not None), None)
    if newest is None:
        first = records[0]
        message = f"version {first.number} of {cacheKey} is refused: {first.refusal}"
        raise RecordRefused(message, first.number, first.refusal or "", first.position)
    return {
        **with_age(newest, now),
        "versions": len(records),
        "refusedWrites": int(view.get("sap refused", cacheKey) or b"0"),
    }


def versions(view: ReadOnlyStore, cacheKey: str, now: int) -> Json:
    """Return all records of a key, the newest first.  Raises NotFound.

    Of a refused one there is only its number and the reason.
    """
    records = [_version_row(each, now) for each in cached_versions(view, cacheKey)]
    if not records:
        raise NotFound(f"there is no answer under {cacheKey}")
    return {"cacheKey": cacheKey, "versions": records[::-1]}


def _version_row(version: CachedVersion, now: int) -> Json:
    if version.record is None:
        return {"version": version.number, "verified": False, "refused": version.refusal}
    return {**with_age(version.record, now), "verified": version.holds}


def cached_versions(view: ReadOnlyStore, cache_key: str | None = None) -> Iterator[CachedVersion]:
    """Return every version by key and number.  cache_key: None for all of them."""
    prefix = CACHE if cache_key is None else key("sap cache", cache_key)
    rows = (
        (row_key[:-_NUMBER_BYTES], number_at_end(row_key), row)
        for row_key, row in view.scan(prefix)
    )
    for row_prefix, group in groupby(rows, key=itemgetter(0)):
        (name,) = texts_in(row_prefix.removeprefix(CACHE))
        descending = [(number, row) for _, number, row in group][::-1]
        yield from _linked([*judged_versions(view, name, descending)][::-1])


def versions_descending(view: ReadOnlyStore, cache_key: str) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the row of each version of a key, the newest first."""
    for row_key, row in view.scan(key("sap cache", cache_key), reverse=True):
        yield number_at_end(row_key), row


def judged_versions(
    view: ReadOnlyStore, cache_key: str, descending: Iterable[tuple[int, bytes]]
) -> Iterator[CachedVersion]:
    """Yield the versions of one key, the newest first; `holds` says only that one counts.

    What a `stored` verdict says of a version is expected of it; where that says nothing, since an
    earlier release wrote it, what the counted version after it names.
    """
    following: CachedVersion | None = None
    for number, row in descending:
        stored, named = view.get("sap stored", cache_key, number), None
        if following is not None and following.record and following.number == number + 1:
            named = following.record["previousSha256"]
        expected = stored.decode() if stored else named
        record = json_record(row)
        if stored is None:
            refusal: str | None = NOT_STORED
        elif record is None:
            refusal = UNDECODABLE
        else:
            refusal = version_fault(cache_key, number, record, expected)
        place = view.get("sap cache position", cache_key, number)
        following = CachedVersion(
            cache_key,
            number,
            None if refusal else record,
            refusal,
            refusal is None,
            None if place is None else place.decode(),
        )
        yield following


def _linked(versions: Sequence[CachedVersion]) -> list[CachedVersion]:
    """Return the versions; `holds` only of those that follow the version before them."""
    linked, number, sha256 = [], 0, FIRST_PREVIOUS
    for each in versions:
        follows = (
            each.record is not None
            and each.number == number + 1
            and each.record["previousSha256"] == sha256
        )
        linked.append(each._replace(holds=each.holds and follows))
        number, sha256 = each.number, each.record["recordSha256"] if each.record else ""
    return linked


def with_age(record: Json, now: int) -> Json:
    """Add the age in seconds, at least 0."""
    stored = sap.parse_seconds(record["storedAt"])
    return {**record, "ageSec": 0 if stored is None else max(0, now // 1000 - stored)}


def learning(view: ReadOnlyStore, params: QueryParams) -> Json:
    """Return SapLearning by capability, territory and fingerprint, each with its playbook; and the
    newest SapHeuristics of the capabilities on the page.
    """
    filters = _filters(params)
    prefix = key("sap learning", *_leading(filters))

    def item(row: bytes) -> Json | None:
        value = json_of(SAP_LEARNING, row)
        if not _matches(value, filters):
            return None
        return {**_with_means(value), "playbook": _playbook(view, _kind_of(value))}

    page = page_of(params, prefix, rows_of(view, prefix, item))
    capabilities = dict.fromkeys(value["capability"] for value in page["items"])
    newest = [row for name in capabilities if (row := _newest_heuristics(view, name))]
    return {"items": page["items"], "heuristics": newest, "next": page["next"]}


def librarian(view: ReadOnlyStore, params: QueryParams) -> Json:
    """Return SapPlaybook by capability, territory and fingerprint; none without its hash."""
    filters = _filters(params)
    prefix = key("sap knowledge", *_leading(filters))

    def item(row: bytes) -> Json | None:
        value = hashed_json(SAP_KNOWLEDGE, row)
        return value if value is not None and _matches(value, filters) else None

    return page_of(params, prefix, rows_of(view, prefix, item))


def playbook(view: ReadOnlyStore, capability: str, fingerprint: str, territory: str | None) -> Json:
    """Return the SapPlaybook of a kind of task.  Raises NotFound."""
    value = _playbook(view, (capability, territory or "", fingerprint))
    if value is None:
        raise NotFound(f"there is no playbook of {capability} for {fingerprint}")
    return value


def _filters(params: QueryParams) -> list[str | None]:
    return [params.text(name) for name in ("capability", "territory", "fingerprint")]


def _leading(filters: Sequence[str | None]) -> list[str]:
    """Return the filters before the first that is not set: rows are sorted by them."""
    leading: list[str] = []
    for text in filters:
        if text is None:
            break
        leading.append(text)
    return leading


def _kind_of(value: Json) -> tuple[str, str, str]:
    return value["capability"], value["territory"] or "", value["fingerprint"]


def _matches(value: Json, filters: Sequence[str | None]) -> bool:
    kind = _kind_of(value)
    return all(text in (None, name) for text, name in zip(filters, kind, strict=True))


def heuristics(view: ReadOnlyStore, params: QueryParams) -> Json:
    """Return every version of SapHeuristics by capability and version; none without its hash."""
    capability = params.text("capability")
    prefix = key("sap heuristics", *(() if capability is None else (capability,)))
    return page_of(
        params, prefix, rows_of(view, prefix, lambda row: hashed_json(SAP_HEURISTICS, row))
    )


def _newest_heuristics(view: ReadOnlyStore, capability: str) -> Json | None:
    rows = (row for _, row in view.scan(key("sap heuristics", capability), reverse=True))
    values = (hashed_json(SAP_HEURISTICS, row) for row in rows)
    return next((value for value in values if value is not None), None)


def _playbook(view: ReadOnlyStore, row_key: tuple[str, str, str]) -> Json | None:
    row = view.get("sap knowledge", *row_key)
    return None if row is None else hashed_json(SAP_KNOWLEDGE, row)


def _with_means(value: Json) -> Json:
    """Add the mean of each metric and of the ratings, null where there is none."""
    metrics = {name: _with_mean(totals) for name, totals in value["metrics"].items()}
    return {**value, "metrics": metrics, "ratings": _with_mean(value["ratings"])}


def _with_mean(totals: Json) -> Json:
    count = totals["count"]
    mean = float(Decimal(str(totals["sum"])) / count) if count else None
    return {**totals, "mean": int(mean) if mean is not None and mean.is_integer() else mean}
