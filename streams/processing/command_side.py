"""The command side of a protocol: its validation, processors, folds and checks.

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
from streams.processing.log_check import LogCheck
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
"""Takes the log, the topic prefix, the cut, the rows, P and a spill store; yields violations."""


@dataclass(frozen=True, kw_only=True)
class CommandSide:
    """The validation, processing, folds and checks of one protocol's commands.

    kinds: the envelopes that can be validated.  edges: the topics that users may write.
    senders: the permitted senders of each of them.  rules: the closed sets of rule codes, by the
    name in the documents.  processors: in the order in which timers due at the same time fire.
    folds, checks, row_checks, total_checks: used by `verify` and `?as_of=`.
    log_checks: run by the doctor.
    parked_tables: tables of commands that wait for other commands before they get a verdict or are
    logged.
    rule_numbers: more columns of the page on rules, by their headings: numbers by rule code.
    load_files: reads the files that the processors use; raises SettingsError.
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
    log_checks: tuple[LogCheck, ...] = ()
    parked_tables: tuple[Table, ...] = ()
    rule_numbers: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    load_files: Callable[[ServiceSettings], None] | None = None
