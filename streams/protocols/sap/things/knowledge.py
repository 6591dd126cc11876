"""Versions of cached answers and of heuristics, and playbooks, as things."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, unquote, urlencode

from schemas import decode
from streams.api.route import Call
from streams.api.things import Ids, Step, Thing, ThingAgent, ThingQuery, unknown_node
from streams.protocols.sap import as_of
from streams.protocols.sap.queries import knowledge
from streams.protocols.sap.verdicts import STORED
from streams.views.keys import key, position_at_end
from streams.views.parse import QueryParams
from streams.views.reads import ReadOnlyStore
from topology.sap import SAP_HEURISTICS, SAP_KNOWLEDGE, SAP_VERDICTS, sap_key

Json = dict[str, Any]
_DERIVED = "derived"
_ACTIVE, _INACTIVE = "active", "inactive"
_MOST_DIGITS = 16


def _find_version(view: ReadOnlyStore, name: str, session_id: str | None) -> list[Ids]:
    cache_key, _, number = name.rpartition("/")
    return [{"cacheKey": cache_key, "version": number}] if _is_version(number) else []


def _is_version(text: str) -> bool:
    return text.isdecimal() and len(text) < _MOST_DIGITS


def _version(call: Call) -> Thing:
    cache_key, number = call.ids["cacheKey"], int(call.ids["version"])
    node = f"sap:cache:{cache_key}/{number}"
    listed = {each.number: each for each in knowledge.cached_versions(call.view, cache_key)}
    version = listed.get(number)
    if version is None:
        raise unknown_node(node)
    record = version.record or {}
    refused = "" if version.refusal is None else f", refused: {version.refusal}"
    steps = [] if version.record is None else list(_stored(call, version.record))
    at = steps[0].at if steps else None
    return Thing(
        node=node,
        title=f"version {number} of {cache_key[:8]}{refused}",
        state=steps[-1].after if steps else None,
        terminal=True,
        machine=None,
        api=f"/v1/sap/cache/{quote(cache_key, safe='')}/versions",
        details=lambda: knowledge.versions(call.view, cache_key, call.now),
        steps=steps,
        agents=[ThingAgent(record["producer"], "producer")] if record else [],
        trace=record.get("correlationId"),
        started_at=at,
        ended_at=at,
    )


def _stored(call: Call, record: Json) -> Iterator[Step]:
    """Yield the verdict by which a version was stored."""
    topic = call.settings.prefix + SAP_VERDICTS.name
    for row_key, row in call.view.scan(key("sap verdict", record["taskId"].lower())):
        value = decode(row, SAP_VERDICTS.record or "").value
        named = (value["verdict"], value["cacheKey"], value["version"])
        if named == (STORED, record["cacheKey"], record["version"]):
            _, partition, offset = position_at_end(row_key)
            fact, cause = f"{topic}/{partition}/{offset}", record["cause"]
            reason = value["reason"]
            yield Step(value["at"], STORED, None, STORED, message=reason, cause=cause, fact=fact)
            return


def _find_heuristics(view: ReadOnlyStore, name: str, session_id: str | None) -> list[Ids]:
    capability, _, number = name.rpartition("/")
    return [{"capability": capability, "version": number}] if _is_version(number) else []


def _heuristics(call: Call) -> Thing:
    capability, number = call.ids["capability"], int(call.ids["version"])
    node = f"sap:heuristics:{capability}/{number}"
    row = call.view.get("sap heuristics", capability, number)
    if row is None:
        raise unknown_node(node)
    value = decode(row, SAP_HEURISTICS.record or "").value
    at = value["derivedAt"]
    step = Step(at, _DERIVED, None, _DERIVED, cause=value["cause"])
    return Thing(
        node=node,
        title=f"heuristics {number} of {capability}",
        state=_DERIVED,
        terminal=True,
        machine=None,
        **_learned(call, {"capability": capability}),
        steps=[step],
        started_at=at,
        ended_at=at,
    )


def _learned(call: Call, filters: Mapping[str, str]) -> Json:
    """Return `api` and `details` of what was learned under these filters."""
    query = urlencode(filters, quote_via=quote)

    def details() -> Json:
        params = QueryParams(query, knowledge.LEARNING_PARAMS)
        return knowledge.learning(call.view, params)

    return {"api": f"/v1/sap/learning?{query}", "details": details}


_PLAYBOOK_PARTS = ("capability", "territory", "fingerprint")


def _find_playbook(view: ReadOnlyStore, name: str, session_id: str | None) -> list[Ids]:
    parts = [unquote(part) for part in name.split("/")]
    if len(parts) != len(_PLAYBOOK_PARTS):
        return []
    return [dict(zip(_PLAYBOOK_PARTS, parts, strict=True))]


def _playbook(call: Call) -> Thing:
    parts = [call.ids[name] for name in _PLAYBOOK_PARTS]
    node = f"sap:playbook:{sap_key(*parts)}"
    row = call.view.get("sap knowledge", *parts)
    if row is None:
        raise unknown_node(node)
    value = decode(row, SAP_KNOWLEDGE.record or "").value
    state = _ACTIVE if value["active"] else _INACTIVE
    step = Step(value["at"], "written", None, state, message=f"version {value['version']}")
    return Thing(
        node=node,
        title=f"playbook of {value['capability']}, version {value['version']}",
        state=state,
        terminal=False,
        machine=None,
        **_learned(call, call.ids),
        steps=[step],
        started_at=value["at"],
    )


THINGS: Mapping[str, ThingQuery] = {
    "sap:cache": ThingQuery(
        _version,
        _find_version,
        as_of.cached,
        lambda ids: key("sap cache", ids["cacheKey"], int(ids["version"])),
    ),
    "sap:heuristics": ThingQuery(
        _heuristics,
        _find_heuristics,
        row=lambda ids: key("sap heuristics", ids["capability"], int(ids["version"])),
    ),
    "sap:playbook": ThingQuery(
        _playbook,
        _find_playbook,
        row=lambda ids: key("sap knowledge", *(ids[name] for name in _PLAYBOOK_PARTS)),
    ),
}
