"""The keys of SAP's records and rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from topology.declarations import KeyOf
from topology.keys import integer_of, text_of


def sap_key(*parts: str | None) -> str:
    """Parts joined with `/`, percent-encoded but for `A-Za-z0-9._~-`; null is empty (sap 1)."""
    return "/".join([quote(part, safe="") if part else "" for part in parts])


def sap_version(version: int) -> str:
    """Format a version for keys, with at least eight digits."""
    return f"{version:08d}"


def task_key_of(value: Mapping[str, Any]) -> str:
    return text_of(value, "taskId").lower()


def ack_key_of(value: Mapping[str, Any]) -> str:
    return "-" if value.get("taskId") is None else task_key_of(value)


def inbox_key_of(value: Mapping[str, Any]) -> str:
    target = value.get("target")
    named = isinstance(target, Mapping) and target.get("agentId") is not None
    return text_of(value, "target.agentId" if named else "target.capability")


def version_key_of(name: str) -> KeyOf:
    return lambda value: sap_key(text_of(value, name), sap_version(integer_of(value, "version")))


def stored_version_key_of(verdict: Mapping[str, Any]) -> str | None:
    if verdict["verdict"] != "stored" or verdict["version"] is None:
        return None
    return sap_key(verdict["cacheKey"], sap_version(verdict["version"]))


def learning_key_of(value: Mapping[str, Any]) -> str:
    territory = None if value.get("territory") is None else text_of(value, "territory")
    return sap_key(text_of(value, "capability"), territory, text_of(value, "fingerprint"))
