"""The settings of a bus: those of headrace, by their names, one partition, nothing from outside."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from streams.settings import BY_ENV, PREFIX, Settings

FilePath = str | os.PathLike[str] | None


def settings_of(
    constitution: FilePath, authorization: FilePath, options: Mapping[str, Any]
) -> Settings:
    """Return the settings of a bus; the environment is not read.  Raises SettingsError.

    options: by field (`sap_rate`) or variable (`HEADRACE_SAP_RATE`), `sap_` may be left out.
    """
    files = {"SAP_CONSTITUTION": constitution, "SAP_AUTHORIZATION": authorization}
    named = {_variable(name): value for name, value in options.items()}
    texts = {name: _text(value) for name, value in {**files, **named}.items() if value is not None}
    return Settings(partitions=1).assign(texts)


def _variable(name: str) -> str:
    """Return the variable of an option; for an unknown one, a name for the error message."""
    upper = name.upper().removeprefix(PREFIX)
    return f"SAP_{upper}" if PREFIX + upper not in BY_ENV else upper


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)
