"""The export under the state directory, which is brought up to date before it is asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from streams.analytics.export import Options, export
from streams.engine.log import Log
from streams.settings import Settings


def folder_of(settings: Settings) -> Path:
    """Return the folder of the export under the state directory."""
    return settings.state_dir / "analytics"


def refresh(log: Log, settings: Settings, report: Callable[[str], None]) -> Path:
    """Export what is new up to the ends that the partitions have now, and return the folder.

    report: called with a line about each record that no schema decodes, and each gap.

    Raises ExportRunning, ExportForeign, ExportFormat, LogTruncated, BrokerUnavailable.
    """
    path = folder_of(settings)
    options = Options(
        on_gap=report, on_undecodable=lambda position: report(f"undecodable {position}")
    )
    for _ in export(log, settings.prefix, path, options):
        pass
    return path


def refreshed(settings: Settings) -> Path:
    """Bring the export under the state directory up to date, and return the folder."""
    from streams.log.connecting import connect
    from streams.registry.binding import COMMAND_S, use_registry

    log = connect(settings)
    try:
        with use_registry(settings, COMMAND_S):
            return refresh(log, settings, lambda line: None)
    finally:
        log.close()
