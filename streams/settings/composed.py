"""Every setting of a process: those of the service and of each protocol, read here alone.

Frameworks take `ServiceSettings`, or a class of `streams.settings` that has what they need; a
protocol takes its own class.  So none of them depends on all protocols.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from streams.protocols.apc.settings import ApcSettings
from streams.protocols.asap.settings import AsapSettings
from streams.protocols.saop.settings import SaopSettings
from streams.protocols.sap.settings import SapSettings
from streams.protocols.summit.settings import SummitSettings
from streams.settings.connection import ConnectionSettings
from streams.settings.masking import MaskingSettings
from streams.settings.service import PREFIX, declarations
from streams.settings.values import Declaration, checked, known, parse


@dataclass(frozen=True, kw_only=True)
class Settings(
    # Fields come in the order of the documents, those of the last class first.
    ConnectionSettings,
    SummitSettings,
    AsapSettings,
    SapSettings,
    MaskingSettings,
    SaopSettings,
    ApcSettings,
):
    """The settings of one process.  None stands for unset."""

    @classmethod
    def load(cls, environ: Mapping[str, str] | None = None, **overrides: Any) -> Self:
        """From the environment (default: this process's), then field values by name.

        An empty variable counts as unset.  Raises SettingsError for an unknown HEADRACE_ variable,
        for a value that is not allowed, and for an unknown override.
        """
        given = os.environ if environ is None else environ
        texts = {name: text for name, text in given.items() if _whole(name)}
        known(overrides, BY_FIELD)
        return replace(
            cls().assign(texts), **{k: checked(BY_FIELD[k], v) for k, v in overrides.items()}
        )

    def assign(self, texts: Mapping[str, str]) -> Self:
        """These settings with others given as text, by variable, with or without its prefix."""
        named = {name if _whole(name) else PREFIX + name: t for name, t in texts.items()}
        known(named, BY_ENV)
        changes = {BY_ENV[name]: text for name, text in named.items() if text != ""}
        return replace(
            self,
            **{k: checked(BY_FIELD[k], parse(BY_FIELD[k], t)) for k, t in changes.items()},
        )


def _whole(name: str) -> bool:
    return name.startswith(PREFIX) or name in BY_ENV


BY_FIELD: Mapping[str, Declaration] = declarations(Settings)
BY_ENV: Mapping[str, str] = {declared.env: key for key, declared in BY_FIELD.items()}


def environment_without(prefix: str) -> dict[str, str]:
    """This process's environment for a child of it, less the variables of this prefix."""
    return {name: text for name, text in os.environ.items() if not name.startswith(prefix)}
