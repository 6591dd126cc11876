"""The cache key of a task: the same request has the same key, for every issuer at any time.

Source: SAP guide, 5.6.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from schemas.canonical import canonical_json, sha256_hex
from schemas.normal_form import normal

JsonObject = dict[str, Any]


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
    context = task["constitutionalContext"]
    principles = context.get("principles")
    hashed = canonical_json(
        {
            "capability": task["target"]["capability"],
            "essence": payload_essence,
            "territory": nfc(context.get("territory")),
            "principles": None if principles is None else sorted({nfc(p) for p in principles}),
            "outputContract": nfc(_as_sent(task.get("outputContract"))),
            "sapVersion": task["protocolVersion"],
        }
    )
    return CacheKey(
        sha256_hex(hashed),
        f"e{extractor_version}.{sha256_hex(canonical_json(payload_essence))}",
        sorted(excluded & set(payload)),
        hashed.decode(),
    )


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
