"""What a protocol contributes to the service, stated once for each side that runs it.

A worker, `play` and `verify` need the command side, which loads no web framework; views, the
gateway and `query` need the query side as well.  `streams.protocols.commands` and
`streams.protocols.queries` list the sides of all protocols; hosts iterate these lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from schemas.rules import Rule
from streams.access.sender import Sender
from streams.engine.log import Log
from streams.engine.processor import Processor
from streams.processing.ingress import EnvelopeType, IngressTopic
from streams.replay.checks import FactCheck, RowCheck
from streams.replay.consistent_cut import ConsistentCut, LiveRows
from streams.replay.fold.fold import Fold
from streams.replay.spill import SpillStore
from streams.replay.violations import ViolationKind
from streams.settings.service import ServiceSettings
from topology.declarations import Table, Topic

TotalCheck = Callable[
    [Log, str, ConsistentCut, LiveRows, int, SpillStore], Iterator[tuple[ViolationKind, str, str]]
]
"""Takes the log, the prefix of its topics, the cut, the rows, P and a scratch; yields findings."""


@dataclass(frozen=True, kw_only=True)
class CommandSide:
    """How one protocol's commands are checked, decided, folded and verified.

    kinds: of envelopes that can be checked.  edges: the topics that users may write.
    senders: who may write each of them.  rules: the closed sets of rule codes, by the name under
    which documents list them.  processors: in the order in which timers due at one time fire.
    folds, checks, row_checks, total_checks: what `verify` and `?as_of=` rest on.
    held: tables whose rows are commands that wait for others, to be answered or to be logged.
    rule_numbers: further columns of the page on rules, by their heads: numbers by rule code.
    load_files: reads the files that the processors go by; raises SettingsError.
    """

    name: str
    kinds: tuple[EnvelopeType, ...]
    edges: tuple[IngressTopic, ...]
    senders: Mapping[Topic, Sender]
    rules: Mapping[str, tuple[Rule, ...]]
    processors: tuple[Callable[[], Processor], ...]
    folds: tuple[Fold, ...]
    checks: Mapping[Topic, FactCheck]
    row_checks: Mapping[Table, RowCheck] = field(default_factory=dict)
    total_checks: tuple[TotalCheck, ...] = ()
    held: tuple[Table, ...] = ()
    rule_numbers: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    load_files: Callable[[ServiceSettings], None] | None = None
