"""The command side of every protocol, and what workers take from all of them."""

from __future__ import annotations

from streams.engine.processor import Processor
from streams.processing.command_side import CommandSide
from streams.protocols.apc.command_side import APC
from streams.protocols.asap.command_side import ASAP
from streams.protocols.otel.command_side import OTEL
from streams.protocols.saop.command_side import SAOP
from streams.protocols.sap.command_side import SAP
from streams.protocols.summit.command_side import SUMMIT
from streams.settings.service import ServiceSettings

COMMANDS: tuple[CommandSide, ...] = (APC, SAOP, SAP, ASAP, SUMMIT, OTEL)
"""Of timers that are due at one time those of the first protocol fire first."""
RULE_CODES = frozenset(
    rule.code for side in COMMANDS for rules in side.rules.values() for rule in rules
)
"""The codes that verdicts may name."""


def all_processors() -> list[Processor]:
    """Return a new instance of each processor, for one task.

    Of timers with equal due times those of the first processor fire first: a deadline before the
    end of a wait.
    """
    return [make() for side in COMMANDS for make in side.processors]


def bind_files(settings: ServiceSettings) -> None:
    """Read the files that the processors go by, at the start of a service.

    Raises SettingsError for one that does not parse.
    """
    for side in COMMANDS:
        if side.load_files is not None:
            side.load_files(settings)
