"""The command side of Summit v1, for workers, `play` and `verify`."""

from __future__ import annotations

from schemas.summit import rules
from streams.processing.command_side import CommandSide
from streams.protocols.summit import checks, ingress, row_checks, tree_checks
from streams.protocols.summit.fold import FOLD
from streams.protocols.summit.processor import SummitProcessor
from streams.replay.checks import FactCheck, codes
from topology.summit import (
    SUMMIT_AGENTS_TABLE,
    SUMMIT_EVENTS,
    SUMMIT_TREE_ORIGINS,
    SUMMIT_TREES_TABLE,
)

SUMMIT = CommandSide(
    name="summit",
    kinds=ingress.KINDS,
    edges=ingress.EDGES,
    senders=ingress.SENDERS,
    rules={"Summit": rules.ALL},
    processors=(SummitProcessor,),
    folds=(FOLD,),
    checks={
        SUMMIT_EVENTS: FactCheck(
            checks.check,
            codes(rules.ALL),
            "eventId",
            derived=codes(
                [
                    *(rules.BUDGET_USD, rules.BUDGET_TOKENS),
                    *(rules.BUDGET_TREE_USD, rules.BUDGET_TREE_TOKENS),
                ]
            ),
        )
    },
    row_checks={
        SUMMIT_AGENTS_TABLE: row_checks.agents,
        SUMMIT_TREES_TABLE: tree_checks.totals,
        SUMMIT_TREE_ORIGINS: tree_checks.origins,
    },
    rule_numbers={
        "JSON-RPC": rules.RPC,
        "in results": {rule: end.code for rule, end in rules.ENDS.items()},
    },
)
