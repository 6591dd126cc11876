"""Secrets from files: `HEADRACE_X_FILE` names the file that contains the value of `HEADRACE_X`.

A file that is mounted into a container is shown neither by the container's description nor in the
environment of the processes that it starts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from streams.errors import SettingsError
from streams.settings.values import Declaration

SUFFIX = "_FILE"
MAX_SECRET_BYTES = 65_536
"""The largest file that is read: a path of something endless must not fill the memory."""


def list_file_variables(declarations: Iterable[Declaration]) -> dict[str, str]:
    """Return the variable of each secret setting, by the variable that names its file."""
    return {each.env + SUFFIX: each.env for each in declarations if each.secret}


def read_secrets(texts: Mapping[str, str], file_variables: Mapping[str, str]) -> dict[str, str]:
    """Return texts by variable, with the contents of files instead of their paths.

    An empty text counts as unset, and is left out.  Raises SettingsError, which never shows the
    content, for a file that cannot be used, and where a value and its file are both set.
    """
    nonempty = {variable: text for variable, text in texts.items() if text != ""}
    for file_variable, variable in file_variables.items():
        if file_variable not in nonempty:
            continue
        if variable in nonempty:
            raise SettingsError(
                f"{variable} and {file_variable} are both set", advice="Unset one of them."
            )
        nonempty[variable] = _read_secret(file_variable, Path(nonempty.pop(file_variable)))
    return nonempty


def _read_secret(variable: str, path: Path) -> str:
    """Return the content of a file without one newline at its end.  Raises SettingsError."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_SECRET_BYTES + 1)
    except OSError as exc:
        raise SettingsError(f"{variable}: {path}: {exc.strerror}") from exc
    if len(content) > MAX_SECRET_BYTES:
        raise SettingsError(f"{variable}: {path} is larger than {MAX_SECRET_BYTES} bytes")
    secret = re.sub(rb"\r?\n\Z", b"", content)
    if not secret:
        raise SettingsError(f"{variable}: {path} is empty")
    return _decode(secret, f"{variable}: {path} is not a text in UTF-8")


def _decode(secret: bytes, message: str) -> str:
    """Return the text.  Raises SettingsError, also for the NUL that no variable can contain."""
    try:
        text = secret.decode()
    except UnicodeDecodeError:
        raise SettingsError(message) from None  # that error has the secret in it
    if "\0" in text:
        raise SettingsError(message)
    return text
