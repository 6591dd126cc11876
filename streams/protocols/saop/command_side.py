"""The command side of SAOP and RTES, for a worker, `play` and `verify`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas.rtes import rules as rtes_rules
from schemas.saop import rules
from streams.processing.command_side import CommandSide
from streams.protocols.saop import checks, control_checks, ingress, rewind_checks
from streams.protocols.saop.fold import FOLD
from streams.protocols.saop.processor import SaopProcessor
from streams.protocols.saop.rtes import RtesProcessor
from streams.replay.checks import VERDICT_KINDS, FactCheck, codes
from topology.saop import (
    CONTROLS,
    REWINDS,
    RTES_EVENTS,
    RTES_REJECTIONS,
    SAOP_CONTROL_LOG,
    SAOP_ESCALATIONS,
    SAOP_LOG,
    SAOP_REWIND_LOG,
    SAOP_TURNS_HELD,
    SAOP_VERDICTS,
)

_SAOP, _RTES = codes(rules.ALL), codes(rtes_rules.ALL)


def _is_verdict(fact: Mapping[str, Any]) -> bool:
    """Return whether a fact is a verdict; the expiry of a prepared rewind is a fact, but none."""
    return fact["verdict"] in VERDICT_KINDS and fact["phase"] != rewind_checks.LAPSE


def _answers_event(fact: Mapping[str, Any]) -> bool:
    """Return whether an event answers one that was sent; pauses of the service answer none."""
    return fact["rule"] not in checks.OF_SERVICE


SAOP = CommandSide(
    name="saop",
    kinds=ingress.KINDS,
    edges=ingress.EDGES,
    senders=ingress.SENDERS,
    rules={"SAOP": rules.ALL, "RTES": rtes_rules.ALL},
    processors=(SaopProcessor, RtesProcessor),
    folds=(FOLD,),
    checks={
        SAOP_VERDICTS: FactCheck(checks.verdict, _SAOP, promised_on=SAOP_LOG),
        SAOP_REWIND_LOG: FactCheck(rewind_checks.logged, _SAOP, answers=_is_verdict),
        SAOP_CONTROL_LOG: FactCheck(control_checks.logged, _SAOP),
        SAOP_LOG: FactCheck(checks.logged),
        SAOP_ESCALATIONS: FactCheck(checks.escalation, id_member="escalation_id"),
        RTES_EVENTS: FactCheck(checks.event, _RTES, "event_id", answers=_answers_event),
        RTES_REJECTIONS: FactCheck(checks.rejection, _RTES),
    },
    row_checks={REWINDS: rewind_checks.rewinds, CONTROLS: control_checks.controls},
    parked_tables=(SAOP_TURNS_HELD,),
)
