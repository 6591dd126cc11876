"""All that a run of Summit has left on the log, read once, in the form in which it is checked.

Values are as on the wire, written anew from what Avro has decoded: members that are null are left
out, open ones lie where they belong, and JSON in text is parsed.

Source: Summit guide, 1 (hashes) and 2.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

import rfc8785

from tests.e2e.logged import Entry, Logged, entries, latest, raw
from tests.e2e.outputs import Json
from tests.e2e.sap_history import Source
from topology.core import LINEAGE_EDGES, RTES_RAW
from topology.summit import (
    SUMMIT_AGENTS,
    SUMMIT_CALLS,
    SUMMIT_CALLS_DLQ,
    SUMMIT_EVENTS,
    SUMMIT_INBOX,
    SUMMIT_MANIFESTS,
    SUMMIT_MANIFESTS_DLQ,
    SUMMIT_REPLIES,
    SUMMIT_REPLIES_DLQ,
    SUMMIT_RUNS,
    SUMMIT_TREE,
)

__all__ = ["COMMANDS", "Entry", "Logged", "Unread", "hash_of", "plain", "read"]

COMMANDS = {
    "manifest": (SUMMIT_MANIFESTS, SUMMIT_MANIFESTS_DLQ),
    "call": (SUMMIT_CALLS, SUMMIT_CALLS_DLQ),
    "reply": (SUMMIT_REPLIES, SUMMIT_REPLIES_DLQ),
}
"""By what its fact is about: a topic, and where that goes which cannot be judged."""
SHOWN = (SUMMIT_EVENTS, SUMMIT_INBOX, SUMMIT_AGENTS, SUMMIT_TREE, RTES_RAW, LINEAGE_EDGES)
_JSON = "_json"
_LARGEST = 2**53 - 1


class Unread(str):
    """A text that should be JSON and is not; it is hashed as the string that it is."""

    __slots__ = ()


def read(source: Source) -> Logged:
    """Everything that is committed by now; of runs the last row of each."""
    decoded = (*SHOWN, *(topic for topic, _ in COMMANDS.values()))
    by_topic = {topic.name: entries(topic, source.records(topic), plain_json) for topic in decoded}
    rows = latest(source.records(SUMMIT_RUNS))
    by_topic[SUMMIT_RUNS.name] = entries(SUMMIT_RUNS, rows, plain_json)
    by_topic |= {dead.name: raw(source.records(dead)) for _, dead in COMMANDS.values()}
    return Logged(by_topic)


def plain_json(_: str, value: Any) -> Json:
    as_json: Json = plain(value)
    return as_json


def plain(value: Any) -> Any:
    """value: as Avro has decoded it."""
    if isinstance(value, tuple):
        return plain(value[1])
    if isinstance(value, list):
        return [plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    members: Json = {}
    for name, member in value.items():
        if member is None:
            continue
        if not name.endswith(_JSON):
            members[name] = plain(member)
            continue
        read = parsed(member)
        if name == f"extra{_JSON}" and isinstance(read, dict):
            members |= read
        else:
            members[name.removesuffix(_JSON)] = read
    return members


def parsed(text: str) -> Any:
    """Unread where it is no I-JSON."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_none, parse_int=_small)
    except ValueError:
        return Unread(text)


def _once(pairs: Iterable[tuple[str, Any]]) -> Json:
    members: Json = {}
    for name, value in pairs:
        if name in members:
            raise ValueError(name)
        members[name] = value
    return members


def _none(text: str) -> Any:
    raise ValueError(text)


def _small(text: str) -> int:
    if abs(int(text)) > _LARGEST:
        raise ValueError(text)
    return int(text)


def hash_of(value: Any) -> str:
    """SHA-256 over RFC 8785.  value: as `plain` gives it."""
    return sha256(rfc8785.dumps(value)).hexdigest()


def call_hash(call: Json) -> str:
    return hash_of({name: call[name] for name in ("caller", "method", "params") if name in call})


def reply_hash(reply: Json) -> str:
    verification = reply.get("verification")
    if verification is None:
        return hash_of(reply)
    named = {name: value for name, value in verification.items() if value != []}
    return hash_of({**reply, "verification": named})


def manifest_hash(manifest: Json) -> str:
    spec = {
        name: value
        for name, value in manifest["spec"].items()
        if (name, value) not in (("tools", []), ("resources", {}))
    }
    return hash_of({**manifest, "spec": spec})
