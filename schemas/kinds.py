"""What can be validated by name: `validate("apc.packet", value)`."""

from __future__ import annotations

from collections.abc import Callable

from schemas import apc, asap, rtes, saop, sap, summit
from schemas.problems import Problem

KINDS: dict[str, Callable[[object], list[Problem]]] = {
    "apc.packet": apc.validate,
    "saop.turn": saop.validate_turn,
    "saop.rewind": saop.validate_rewind,
    "sap.task": sap.validate_task,
    "sap.result": sap.validate_result,
    "sap.signal": sap.validate_signal,
    "asap.envelope": asap.validate,
    "asap.manifest": asap.validate_manifest,
    "summit.manifest": summit.check_manifest,
    "summit.call": summit.check_call,
    "summit.reply": summit.check_reply,
    "rtes.event": rtes.validate_event,
    "rtes.payload": rtes.validate_payload,
}
"""The kinds of envelope by name, each with its validation."""


def validate(kind: str, value: object) -> list[Problem]:
    """What breaks the rules in a JSON value of the kind named; empty for a valid one.

    Raises KeyError for a kind that is not in `KINDS`.
    """
    return KINDS[kind](value)
