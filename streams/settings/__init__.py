"""The settings of a process: `Settings` has all of them, each declared once.

The modules of this package declare the service's settings and define declarations; protocols
declare their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streams.settings.service import PREFIX

if TYPE_CHECKING:
    from streams.settings.composed import (
        BY_ENV,
        BY_FIELD,
        SECRET_FILES,
        Settings,
        environment_without,
    )

__all__ = ["BY_ENV", "BY_FIELD", "PREFIX", "SECRET_FILES", "Settings", "environment_without"]

if not TYPE_CHECKING:

    def __getattr__(name):
        """Load what has all protocols in it on first use: they import this package themselves."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from streams.settings import composed

        return getattr(composed, name)
