"""The cache key of a task: the same request has the same key, for every issuer at any time.

Source: SAP guide, 5.6.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from schemas.canonical import canonical_json, sha256_hex
from schemas.normal_form import normal

JsonObject = dict[str, Any]

_ESSENCE = "essence"


class CacheKey(NamedTuple):
    """The key and fingerprint of a task, as the guide defines them.

    removed: the payload members left out, sorted.  hashed: the canonical JSON that the key hashes.
    """

    key: str
    fingerprint: str
    removed: list[str]
    hashed: str


def essence(payload: JsonObject, volatile: Iterable[str]) -> JsonObject:
    """Return the payload without the named top-level members."""
    excluded = frozenset(volatile)
    return {name: member for name, member in payload.items() if name not in excluded}


def cache_key(task: JsonObject, volatile: Iterable[str], extractor_version: int = 0) -> CacheKey:
    """Return the key of a valid task's JSON.  volatile: the configured and the learned keys."""
    payload: JsonObject = task["payload"]
    excluded = frozenset(volatile)
    payload_essence = nfc(essence(payload, excluded))
    hashed = canonical_json({**_constant_members(task), _ESSENCE: payload_essence})
    return CacheKey(
        sha256_hex(hashed),
        f"e{extractor_version}.{sha256_hex(canonical_json(payload_essence))}",
        sorted(excluded & set(payload)),
        hashed.decode(),
    )


def _constant_members(task: JsonObject) -> JsonObject:
    """Return what the key hashes beside the essence, which is the same whatever is left out."""
    context = task["constitutionalContext"]
    principles = context.get("principles")
    return {
        "capability": task["target"]["capability"],
        "territory": nfc(context.get("territory")),
        "principles": None if principles is None else sorted({nfc(p) for p in principles}),
        "outputContract": nfc(_as_sent(task.get("outputContract"))),
        "sapVersion": task["protocolVersion"],
    }


def keys_without(
    task: JsonObject, volatile: Iterable[str], names: Iterable[str]
) -> Mapping[str, str]:
    """Return, by name, the key of a task with one more volatile member of its payload.

    It equals `cache_key(task, {*volatile, name}).key`, but each member is written only once.
    """
    excluded = frozenset(volatile)
    payload = essence(task["payload"], excluded)
    renamed = {name: normal("NFC", name) for name in payload}
    if len(set(renamed.values())) < len(payload):  # then names depend on which members are there
        return {name: cache_key(task, {*excluded, name}).key for name in names}
    before, after = _around_essence(task)
    texts = {
        name: canonical_json({renamed[name]: nfc(member)})[1:-1]
        for name, member in sorted(payload.items(), key=lambda item: _order(renamed[item[0]]))
    }
    return {
        name: sha256_hex(before + b",".join(text for n, text in texts.items() if n != name) + after)
        for name in names
    }


def _around_essence(task: JsonObject) -> tuple[bytes, bytes]:
    """Return the canonical JSON that a key hashes, before and after the members of the essence."""
    members = sorted({**_constant_members(task), _ESSENCE: {}}.items())
    texts = [(name, canonical_json({name: member})[1:-1]) for name, member in members]
    first = b",".join(text for name, text in texts if name <= _ESSENCE)
    last = b",".join(text for name, text in texts if name > _ESSENCE)
    return b"{" + first[:-1], b"}," + last + b"}"


def _order(name: str) -> bytes:
    """Return what RFC 8785 sorts member names by: their UTF-16 code units."""
    return name.encode("utf-16-be")


def nfc(value: Any) -> Any:
    """Normalise all strings and member names to NFC, but not names that would then collide."""
    if isinstance(value, str):
        return normal("NFC", value)
    if isinstance(value, list):
        return [nfc(item) for item in value]
    if isinstance(value, dict):
        renamed = {normal("NFC", name) for name in value}
        keep = len(renamed) < len(value)
        return {n if keep else normal("NFC", n): nfc(item) for n, item in value.items()}
    return value


def _as_sent(contract: JsonObject | None) -> JsonObject | None:
    """Return the contract without `schema` and `format` if they are null, which means absent."""
    if contract is None:
        return None
    return {
        name: member
        for name, member in contract.items()
        if member is not None or name not in ("schema", "format")
    }
