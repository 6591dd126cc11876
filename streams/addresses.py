"""Where a gateway keeps its files, and says where it listens."""

from __future__ import annotations

from pathlib import Path

from streams.settings import Settings


def gateway_directory(settings: Settings) -> Path:
    return settings.state_dir / "gateway"


def address_file(settings: Settings) -> Path:
    """Holds the gateway's URL while it runs, whatever port it was given."""
    return gateway_directory(settings) / "address"
