"""Keys and headers, kept out of the errors that go to the log."""

from __future__ import annotations

from collections.abc import Iterable

from streams.masking.masker import Masker
from streams.settings.composed import secret_variables

HIDDEN = "[REDACTED]"
_SHORTEST = 6
"""A shorter value is a word that texts have anyhow."""
_MASKER = Masker()


def hide_secrets(text: str, secrets: Iterable[str] = ()) -> str:
    """Return an error's text without secrets.

    secrets: the caller's own.  Hidden too are values of environment variables that are named as
    keys, and what the rules of masking find.
    """
    known = {each for each in (*secrets, *secret_variables()) if len(each) >= _SHORTEST}
    for each in sorted(known, key=len, reverse=True):
        text = text.replace(each, HIDDEN)
    return _MASKER.text(text)
