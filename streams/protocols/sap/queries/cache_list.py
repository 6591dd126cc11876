"""The list of cached answers: the newest version of each key."""

from __future__ import annotations

from collections.abc import Iterator

from streams.protocols.sap.queries.knowledge import (
    CACHE,
    cached_versions,
    judged_versions,
    versions_descending,
    with_age,
)
from streams.views.distinct import distinct_texts
from streams.views.keys import first_text, text_key
from streams.views.pages import Entries, page_of
from streams.views.parse import QueryParams
from streams.views.query_params import CURSOR, Parameter, ValueForm, limit
from streams.views.reads import ReadOnlyStore
from streams.views.values import Json

MOST_READ = 1000
"""The most keys that one page reads; where filters leave few of them, the next page goes on."""
CACHE_PARAMS = (
    Parameter("capability", "of this capability", low=1, example="consult.align"),
    Parameter("territory", "of this territory; empty: of tasks without one", example="EUFM"),
    Parameter("verify", "check all versions of each key too", ValueForm.FLAG, default=False),
    limit(100, 1000),
    CURSOR,
)
_FROM_RECORD = (
    *("version", "capability", "territory", "storedAt", "ageSec", "alignment", "producer"),
    *("taskId", "recordSha256"),
)


def cached(view: ReadOnlyStore, params: QueryParams, now: int) -> Json:
    """Return the newest version that counts of each key, by key, without its output.

    now: ms since the epoch, for the age.
    """
    capability, territory = params.text("capability"), params.text("territory")
    is_filtered = capability is not None or territory is not None

    def entries(after_key: bytes | None) -> Entries:
        for name in _names(view, after_key):
            record, refusal = _newest(view, name)
            if is_filtered and not _matches(record, capability, territory):
                yield CACHE + text_key(name), None
                continue
            checked = _checked(view, name) if params.flag("verify") else None
            item = {**_item(name, record, refusal, now), "checked": checked}
            yield CACHE + text_key(name), item

    return page_of(params, CACHE, entries, MOST_READ)


def _names(view: ReadOnlyStore, after_key: bytes | None) -> Iterator[str]:
    """Yield the cache keys in order, after the one of a row key."""
    last = None if after_key is None else first_text(after_key.removeprefix(CACHE))
    return (name for name in distinct_texts(view, CACHE, last) if name != last)


def _newest(view: ReadOnlyStore, cache_key: str) -> tuple[Json | None, str | None]:
    """Return the newest record of a key that counts; why the newest is refused if none does."""
    refusal = None
    for each in judged_versions(view, cache_key, versions_descending(view, cache_key)):
        if each.record is not None:
            return each.record, None
        refusal = refusal or each.refusal
    return None, refusal


def _matches(record: Json | None, capability: str | None, territory: str | None) -> bool:
    return (
        record is not None
        and capability in (None, record["capability"])
        and territory in (None, record["territory"] or "")
    )


def _item(name: str, record: Json | None, refusal: str | None, now: int) -> Json:
    members = dict.fromkeys(_FROM_RECORD) if record is None else with_age(record, now)
    return {
        "cacheKey": name,
        **{member: members[member] for member in _FROM_RECORD},
        "refused": refusal,
    }


def _checked(view: ReadOnlyStore, cache_key: str) -> Json:
    """Return what a check of all versions of a key comes to."""
    versions = list(cached_versions(view, cache_key))
    return {
        "versions": len(versions),
        "firstBad": next((each.number for each in versions if not each.holds), None),
        "refused": [
            {"version": each.number, "reason": each.refusal}
            for each in versions
            if each.refusal is not None
        ],
    }
