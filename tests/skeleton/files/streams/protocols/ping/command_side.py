"""Pings as a worker, `play` and `verify` have them."""

from __future__ import annotations

from schemas.ping import rules
from streams.processing.command_side import CommandSide
from streams.protocols.ping import checks, ingress
from streams.protocols.ping.fold import FOLDING
from streams.protocols.ping.processor import PingProcessor
from streams.replay.checks import FactCheck, codes
from topology.ping import PING_ANSWERS

PING = CommandSide(
    name="ping",
    kinds=ingress.KINDS,
    edges=ingress.EDGES,
    senders=ingress.SENDERS,
    rules={"Ping": rules.ALL},
    processors=(PingProcessor,),
    folds=(FOLDING,),
    checks={PING_ANSWERS: FactCheck(checks.check, codes(rules.ALL), "answer_id")},
)
