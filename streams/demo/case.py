"""The case of the last act, of which each protocol knows a part (`streams.demo.lineage`).

APC and SAP write the trace of the case with hyphens, the others without.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import NamedTuple

from streams.demo.context import DemoContext
from streams.engine.headers import iso

AT_MS = 1_777_881_600_000
AT = iso(AT_MS).decode()
GRAPH = "/v1/lineage/graph"


def _always(ctx: DemoContext) -> bool:
    return True


class Part(NamedTuple):
    """The part of one protocol in the case.

    tell: the step of the act.  kinds: how many nodes of which kinds it adds to the tree.
    possible: whether the settings are those for which the part is written.
    """

    protocol: str
    tell: Callable[[DemoContext], None]
    kinds: Mapping[str, int]
    possible: Callable[[DemoContext], bool] = _always


def trace(ctx: DemoContext) -> uuid.UUID:
    """Return the trace id of the case in this run."""
    return uuid.uuid5(uuid.NAMESPACE_URL, f"headrace:demo:{ctx.session}:case")


def traceparent(ctx: DemoContext) -> str:
    return f"00-{trace(ctx).hex}-00f067aa0ba902b7-01"


def name(ctx: DemoContext, name: str) -> str:
    return f"{name}-{ctx.session}"
