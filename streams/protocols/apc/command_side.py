"""The parts of APC/1.0 that a worker, `play` and `verify` use."""

from __future__ import annotations

from schemas.apc import rules
from streams.processing.command_side import CommandSide
from streams.protocols.apc import checks, ingress, row_checks
from streams.protocols.apc.fold import FOLD
from streams.protocols.apc.lineage import ApcLineageProcessor
from streams.protocols.apc.priors import ApcPriorsProcessor
from streams.protocols.apc.priors.checks import priors
from streams.protocols.apc.processor import ApcProcessor
from streams.replay.checks import FactCheck, codes
from topology.apc import APC_COORDINATION_TABLE, APC_EVENTS, APC_LINEAGE_TABLE, APC_THROTTLING_TABLE

APC = CommandSide(
    name="apc",
    kinds=ingress.KINDS,
    edges=ingress.EDGES,
    senders=ingress.SENDERS,
    rules={"APC": rules.ALL},
    processors=(ApcProcessor, ApcLineageProcessor, ApcPriorsProcessor),
    folds=(FOLD,),
    checks={
        APC_EVENTS: FactCheck(
            checks.check, codes(rules.ALL), "event_id", derived=codes([rules.PHASE_TYPE])
        )
    },
    row_checks={
        APC_COORDINATION_TABLE: row_checks.coordination,
        APC_THROTTLING_TABLE: row_checks.throttling,
        APC_LINEAGE_TABLE: row_checks.lineage,
    },
    total_checks=(priors,),
)
