"""Keys and partitions.

A record's key decides its partition, and the partition decides which task judges it.  So clients
and processors must agree on both to the bit: murmur2 as Kafka's Java clients compute it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from schemas.asap import MalformedEnvelopeError, task_key
from topology import topics
from topology.declarations import Topic

_UINT32 = 0xFFFFFFFF
_SEED = 0x9747B28C
_M = 0x5BD1E995


class KeyUnknown(ValueError):
    """The value lacks what the key of its topic is made of, or the topic's keys are not its."""


def composite(*parts: str) -> str:
    """Parts joined with `/`; inside a part `%` is written `%25` and `/` is written `%2F`."""
    joined = "/".join(parts)
    if "%" not in joined and joined.count("/") == len(parts) - 1:
        return joined
    return "/".join([part.replace("%", "%25").replace("/", "%2F") for part in parts])


def split(key: str) -> list[str]:
    """The parts of a composite key."""
    return [part.replace("%2F", "/").replace("%25", "%") for part in key.split("/")]


def sap_key(*parts: str | None) -> str:
    """Parts joined with `/`, percent-encoded but for `A-Za-z0-9._~-`; null is empty (sap 1)."""
    return "/".join([quote(part, safe="") if part else "" for part in parts])


def sap_version(version: int) -> str:
    """A version as it stands in keys: eight digits at least."""
    return f"{version:08d}"


def saop_task_key(session_id: str, task_id: str, origin: str | None = None) -> str:
    """A task reported by another protocol's processor never meets a SAOP task of that name."""
    return composite(session_id, f"{origin}:{task_id}" if origin else task_id)


def _member(value: object, path: str) -> str:
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    if not isinstance(value, str):
        raise KeyUnknown(f"the record key is made of {path}, which is not there or no string")
    return value


def _integer(value: Mapping[str, Any], name: str) -> int:
    number = value.get(name)
    if not isinstance(number, int):
        raise KeyUnknown(f"the record key is made of {name}, which is not there or no integer")
    return number


def _packet_state(value: Mapping[str, Any]) -> str:
    return composite(_member(value, "session_id"), _member(value, "packet_id"))


def _coordination(value: Mapping[str, Any]) -> str:
    session_id = _member(value, "session_id")
    if value.get("agent_id") is None:
        return composite(session_id)
    return composite(session_id, _member(value, "agent_id"))


def _saop_task(value: Mapping[str, Any]) -> str:
    origin = None if value.get("origin") is None else _member(value, "origin")
    return saop_task_key(_member(value, "session_id"), _member(value, "task_id"), origin)


def _session(value: Mapping[str, Any]) -> str:
    return _member(value, "session_id")


def _task(value: Mapping[str, Any]) -> str:
    return _member(value, "task_id")


def _throttle(value: Mapping[str, Any]) -> str:
    generation = str(_integer(value, "generation"))
    before = [_member(value, "session_id"), _member(value, "run_id"), generation]
    return composite(*before, _member(value, "protocol_id"), _member(value, "from_swarm"))


def _protocol_lineage(value: Mapping[str, Any]) -> str:
    protocol_id = _member(value, "protocol_id")
    if value.get("run_id") is None:
        return composite(protocol_id)
    return composite(protocol_id, _member(value, "run_id"))


def _sap_task(value: Mapping[str, Any]) -> str:
    return _member(value, "taskId").lower()


def _sap_ack(value: Mapping[str, Any]) -> str:
    return "-" if value.get("taskId") is None else _sap_task(value)


def _sap_inbox(value: Mapping[str, Any]) -> str:
    target = value.get("target")
    named = isinstance(target, Mapping) and target.get("agentId") is not None
    return _member(value, "target.agentId" if named else "target.capability")


def _sap_versioned(name: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda value: sap_key(_member(value, name), sap_version(_integer(value, "version")))


def _sap_learning(value: Mapping[str, Any]) -> str:
    territory = None if value.get("territory") is None else _member(value, "territory")
    return sap_key(_member(value, "capability"), territory, _member(value, "fingerprint"))


def _asap_envelope(value: Mapping[str, Any]) -> str:
    """The task key; the envelope's id where its payload does not say it (asap spec 5.1)."""
    try:
        return task_key(dict(value))
    except MalformedEnvelopeError:
        return _member(value, "id")


def _summit_call(name: str) -> Callable[[Mapping[str, Any]], str]:
    """A member of the call's params, which are (record, value) as Avro has them."""

    def key(value: Mapping[str, Any]) -> str:
        params = value.get("params")
        params = params[1] if isinstance(params, tuple) else params
        return _member({"params": params}, f"params.{name}")

    return key


def _asap_snapshot(value: Mapping[str, Any]) -> str:
    return composite(_task(value), str(_integer(value, "version")))


_KEYS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    topics.APC_PACKETS.name: lambda value: _member(value, "trace.session_id"),
    topics.APC_EVENTS.name: _session,
    topics.APC_INBOX.name: lambda value: _member(value, "recipient_agent_id"),
    topics.APC_PACKET_STATES.name: _packet_state,
    topics.APC_COORDINATION.name: _coordination,
    topics.APC_THROTTLING.name: _throttle,
    topics.APC_TRANSFERS.name: lambda value: _member(value, "protocol_id"),
    topics.APC_DECISIONS.name: lambda value: _member(value, "protocol_id"),
    topics.APC_LINEAGE.name: _protocol_lineage,
    topics.LINEAGE_EDGES.name: lambda value: _member(value, "edge_id"),
    topics.RTES_RAW.name: _session,
    topics.RTES_EVENTS.name: _session,
    topics.RTES_REJECTIONS.name: _session,
    topics.SAOP_TASKS.name: _saop_task,
    topics.SAOP_TURNS.name: lambda value: _member(value, "metadata.task_id"),
    topics.SAOP_VERDICTS.name: _task,
    topics.SAOP_LOG.name: lambda value: _member(value, "turn.metadata.task_id"),
    topics.SAOP_ESCALATIONS.name: _task,
    topics.SAOP_REWINDS.name: _session,
    topics.SAOP_REWIND_LOG.name: _session,
    topics.SAOP_TASK_SIGNALS.name: _task,
    topics.SAP_TASKS.name: _sap_task,
    topics.SAP_RESULTS.name: _sap_task,
    topics.SAP_SIGNALS.name: _sap_task,
    topics.SAP_ACKS.name: _sap_ack,
    topics.SAP_OUTCOMES.name: _sap_task,
    topics.SAP_INBOX.name: _sap_inbox,
    topics.SAP_LOOKUPS.name: lambda value: _member(value, "cacheKey"),
    topics.SAP_VERDICTS.name: _sap_task,
    topics.SAP_TASK_STATES.name: _sap_task,
    topics.SAP_CACHE.name: _sap_versioned("cacheKey"),
    topics.SAP_LEARNING_SIGNALS.name: lambda value: _member(value, "capability"),
    topics.SAP_LEARNING.name: _sap_learning,
    topics.SAP_HEURISTICS.name: _sap_versioned("capability"),
    topics.SAP_KNOWLEDGE.name: _sap_learning,
    topics.ASAP_ENVELOPES.name: _asap_envelope,
    topics.ASAP_MANIFESTS.name: lambda value: _member(value, "id"),
    topics.ASAP_INBOX.name: lambda value: _member(value, "recipient"),
    topics.ASAP_TASKS.name: lambda value: composite(_task(value)),
    topics.ASAP_SNAPSHOTS.name: _asap_snapshot,
    topics.SUMMIT_MANIFESTS.name: lambda value: _member(value, "metadata.name"),
    topics.SUMMIT_CALLS.name: _summit_call("runId"),
    topics.SUMMIT_REPLIES.name: lambda value: _member(value, "runId"),
    topics.SUMMIT_INBOX.name: _summit_call("agentId"),
    topics.SUMMIT_RUNS.name: lambda value: _member(value, "runId"),
}


def key_of(topic: Topic, json_value: object) -> str:
    """The record key that a value (in its JSON form) has on the topic.

    Raises KeyUnknown when a member of the key is missing or no string, and for topics whose
    keys do not come from the value (dead letters, the changelog).
    """
    key = _KEYS.get(topic.name)
    if key is None:
        raise KeyUnknown(f"the keys of {topic.name} are not made of its values")
    if not isinstance(json_value, Mapping):
        raise KeyUnknown(f"a record of {topic.name} is an object")
    return key(json_value)


def murmur2(key: bytes) -> int:
    """The 32 bits of Kafka's murmur2, as an unsigned int."""
    length = len(key)
    whole = length & ~3
    h = _SEED ^ length
    for (k,) in struct.iter_unpack("<I", key[:whole]):
        k = k * _M & _UINT32
        k ^= k >> 24
        h = h * _M & _UINT32 ^ k * _M & _UINT32
    if length > whole:
        h ^= int.from_bytes(key[whole:], "little")
        h = h * _M & _UINT32
    h ^= h >> 13
    h = h * _M & _UINT32
    return h ^ h >> 15


@lru_cache(maxsize=1 << 12)
def partition_of(key: bytes, partitions: int) -> int:
    """The partition of a keyed record among `partitions`, as Java's default partitioner says."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
