"""All settings of a process: those of the service and of each protocol, read only here.

Frameworks take `ServiceSettings`, or a class of `streams.settings` that has what they need; a
protocol takes its own class.  So none of them depends on all protocols.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from streams.protocols.apc.settings import ApcSettings
from streams.protocols.asap.settings import AsapSettings
from streams.protocols.otel.settings import OtelSettings
from streams.protocols.saop.settings import SaopSettings
from streams.protocols.sap.settings import SapSettings
from streams.protocols.summit.settings import SummitSettings
from streams.settings.connection import ConnectionSettings
from streams.settings.governance import GovernanceSettings
from streams.settings.masking import MaskingSettings
from streams.settings.push import PushSettings
from streams.settings.secret_files import list_file_variables, read_secrets
from streams.settings.service import PREFIX, declarations
from streams.settings.values import Declaration, check_names, check_value, parse


@dataclass(frozen=True, kw_only=True)
class Settings(
    # Fields are in the order of the documents, those of the last class first.
    ConnectionSettings,
    PushSettings,
    GovernanceSettings,
    OtelSettings,
    SummitSettings,
    AsapSettings,
    SapSettings,
    MaskingSettings,
    SaopSettings,
    ApcSettings,
):
    """The settings of one process.  None means unset."""

    @classmethod
    def load(cls, environ: Mapping[str, str] | None = None, **overrides: Any) -> Self:
        """Load the environment (default: this process's), then apply field values by name.

        The values of the file HEADRACE_POLICY come before those of other variables.  An empty
        variable counts as unset.  Raises SettingsError for an unknown HEADRACE_ variable, for a
        value that is not allowed, for a secret or a policy whose file cannot be used, and for an
        unknown override.
        """
        variables = os.environ if environ is None else environ
        texts = {name: text for name, text in variables.items() if _is_setting_name(name)}
        check_names(overrides, BY_FIELD)
        return replace(
            cls().assign(texts), **{k: check_value(BY_FIELD[k], v) for k, v in overrides.items()}
        )

    def assign(self, texts: Mapping[str, str]) -> Self:
        """Return these settings changed by texts, by variable, with or without its prefix."""
        by_variable = {
            name if _is_setting_name(name) else PREFIX + name: t for name, t in texts.items()
        }
        check_names(by_variable, {**BY_ENV, **SECRET_FILES})
        values = read_secrets(by_variable, SECRET_FILES)
        changes = {BY_ENV[name]: text for name, text in values.items()}
        start = self
        if "policy" in changes:
            from streams.policy import load  # it is made from the declarations here

            start = replace(self, **load(Path(changes["policy"])).fields)
        return replace(
            start,
            **{k: check_value(BY_FIELD[k], parse(BY_FIELD[k], t)) for k, t in changes.items()},
        )

    @classmethod
    def without_environment(cls, fields: Mapping[str, Any]) -> Self:
        """Return the defaults changed by values of fields, whatever the environment says."""
        return replace(cls(), **fields)


_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)


def _is_setting_name(name: str) -> bool:
    return name.startswith(PREFIX) or name in BY_ENV or name in SECRET_FILES


BY_FIELD: Mapping[str, Declaration] = declarations(Settings)
BY_ENV: Mapping[str, str] = {declared.env: key for key, declared in BY_FIELD.items()}
SECRET_FILES: Mapping[str, str] = list_file_variables(BY_FIELD.values())
"""The variables that name files of secrets, and the variables whose values these are."""


def environment_without(prefix: str) -> dict[str, str]:
    """Return this process's environment for a child, without the variables of this prefix."""
    return {name: text for name, text in os.environ.items() if not name.startswith(prefix)}


def secret_variables() -> set[str]:
    """Return the values of this process's variables that are named as keys and passwords are."""
    return {text for name, text in os.environ.items() if _SECRET_NAME.search(name)}
