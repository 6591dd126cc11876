"""ASAP 0.1 for workers, `play` and `verify`."""

from __future__ import annotations

from schemas.asap import rules
from streams.processing.command_side import CommandSide
from streams.protocols.asap import checks, ingress, row_checks
from streams.protocols.asap.fold import FOLD
from streams.protocols.asap.processor import AsapProcessor
from streams.replay.checks import FactCheck, codes
from topology.asap import ASAP_EVENTS, ASAP_HELD, ASAP_SNAPSHOTS_TABLE

ASAP = CommandSide(
    name="asap",
    kinds=ingress.KINDS,
    edges=ingress.EDGES,
    senders=ingress.SENDERS,
    rules={"ASAP": rules.ALL},
    processors=(AsapProcessor,),
    folds=(FOLD,),
    checks={ASAP_EVENTS: FactCheck(checks.check, codes(rules.ALL), "event_id")},
    row_checks={ASAP_SNAPSHOTS_TABLE: row_checks.snapshots},
    parked_tables=(ASAP_HELD,),
)
