"""Hashes over the canonical JSON of what was sent (spec 1)."""

from __future__ import annotations

from typing import Any

from schemas.canonical import canonical_json, sha256_hex

JsonObject = dict[str, Any]


def json_hash(value: Any) -> str:
    """SHA-256, lower-case hex, of a JSON value: inputHash and outputHash.

    Raises ValueError for what has no canonical JSON.
    """
    return sha256_hex(canonical_json(value))


def call_hash(call: JsonObject) -> str:
    """Of caller, method and params, as sent."""
    return json_hash({n: call[n] for n in ("caller", "method", "params") if n in call})


def reply_hash(reply: JsonObject) -> str:
    """Of the whole reply.  An empty list of checks is one that is absent, as it is in Avro."""
    verification = reply.get("verification")
    if isinstance(verification, dict) and verification.get("checks") == []:
        reply = {**reply, "verification": _without(verification, "checks")}
    return json_hash(reply)


def manifest_hash(manifest: JsonObject) -> str:
    """Of the whole manifest, tool schemas under `arguments`; empty tools and resources are none."""
    spec = manifest.get("spec")
    if isinstance(spec, dict):
        empty = [
            name for name, none in (("tools", []), ("resources", {})) if spec.get(name) == none
        ]
        manifest = {**manifest, "spec": _without(spec, *empty)}
    return json_hash(manifest)


def _without(value: JsonObject, *names: str) -> JsonObject:
    return {name: member for name, member in value.items() if name not in names}
