"""Checks of everything that headrace needs, with advice for each failure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from streams.errors import SettingsError
from streams.ops.doctor import machine, services, spans
from streams.ops.doctor.findings import Check, Level, failed
from streams.settings import Settings

__all__ = ["CHECKS", "Check", "Level", "examine"]

CHECKS: tuple[Callable[[Settings], Iterator[Check]], ...] = (
    machine.codec,
    machine.policy,
    machine.tools,
    machine.ports,
    machine.disk,
    services.kafka,
    services.registry,
    services.tokens,
    spans.backend,
)


def examine(load: Callable[[], Settings] = Settings.load) -> Iterator[Check]:
    """Run all checks and yield their findings.  Nothing is changed."""
    try:
        settings = load()
    except SettingsError as exc:
        yield failed("settings", exc)
        return
    for check in CHECKS:
        yield from check(settings)
