"""The command side of spans, for a worker, `play` and `verify`."""

from __future__ import annotations

from schemas.otel import rules
from streams.processing.command_side import CommandSide
from streams.protocols.otel import checks, ingress
from streams.protocols.otel.processor import OtelProcessor
from streams.replay.checks import FactCheck, codes
from topology.otel import OTEL_EVENTS

OTEL = CommandSide(
    name="otel",
    kinds=ingress.KINDS,
    edges=ingress.EDGES,
    senders=ingress.SENDERS,
    rules={"OTel": rules.ALL},
    processors=(OtelProcessor,),
    folds=(),
    checks={OTEL_EVENTS: FactCheck(checks.verdict, codes(rules.ALL), "event_id")},
)
