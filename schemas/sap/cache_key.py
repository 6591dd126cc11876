"""What a task asks, as a key: the same question has the same key, whoever asks and whenever.

Source: SAP spec, 5.6.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from schemas.canonical import canonical_json, sha256_hex
from schemas.normal_form import normal

JsonObject = dict[str, Any]


class CacheKey(NamedTuple):
    """key, fingerprint: as the spec has them.  removed: the payload members left out, sorted.

    hashed: the canonical JSON that the key is the hash of.
    """

    key: str
    fingerprint: str
    removed: list[str]
    hashed: str


def essence(payload: JsonObject, volatile: Iterable[str]) -> JsonObject:
    """The payload without the top-level members named."""
    left_out = frozenset(volatile)
    return {name: member for name, member in payload.items() if name not in left_out}


def cache_key(task: JsonObject, volatile: Iterable[str], extractor_version: int = 0) -> CacheKey:
    """Of a valid task's JSON.  volatile: the configured and the learned keys."""
    payload: JsonObject = task["payload"]
    left_out = frozenset(volatile)
    kept = nfc(essence(payload, left_out))
    context = task["constitutionalContext"]
    principles = context.get("principles")
    hashed = canonical_json(
        {
            "capability": task["target"]["capability"],
            "essence": kept,
            "territory": nfc(context.get("territory")),
            "principles": None if principles is None else sorted({nfc(p) for p in principles}),
            "outputContract": nfc(_as_sent(task.get("outputContract"))),
            "sapVersion": task["protocolVersion"],
        }
    )
    return CacheKey(
        sha256_hex(hashed),
        f"e{extractor_version}.{sha256_hex(canonical_json(kept))}",
        sorted(left_out & set(payload)),
        hashed.decode(),
    )


def nfc(value: Any) -> Any:
    """All strings and member names in NFC; an object whose names would collide keeps its own."""
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
    """Without the named members that are null, which are as good as absent."""
    if contract is None:
        return None
    return {
        name: member
        for name, member in contract.items()
        if member is not None or name not in ("schema", "format")
    }
