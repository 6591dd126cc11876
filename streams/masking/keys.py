"""Classification of keys: whether a key's value is a secret."""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

from schemas.text_cache import cache_short
from streams.masking import vocabulary

_PATH = re.compile(r"[/~]|[A-Za-z]:[\\/]")
MAX_LENGTH = 128  # characters at the end of a key that are read


class Role(Enum):
    """The class of a key, by its name."""

    PLAIN = 0
    SECRET = 1
    HEADER = 2
    BASIC = 3
    DIRECTORY = 4  # secret unless it is a path
    TOKEN = 5  # secret unless `unexpected` precedes it


class Key(NamedTuple):
    """The classification of a key.  public: a random-looking value is no secret."""

    role: Role
    public: bool


_COMMON = "|".join((*vocabulary.VOCABULARY, *vocabulary.COUNTED))
_CAPITAL = "|".join(word.capitalize() for word in (*vocabulary.VOCABULARY, *vocabulary.COUNTED))
_COUNTED = "|".join(vocabulary.COUNTED)
# As a part of the key, not as the end of a longer word: `next_token`, `nextToken`, but not
# `developer_token`; a key in one piece has no parts, so there the end decides (`costpertoken`).
_COUNTABLE = re.compile(
    rf"(?:^|[_.-])(?i:{_COMMON})[_.-]*(?i:token)[_.-]*$"
    rf"|[a-z0-9](?:{_CAPITAL})[_.-]*(?i:token)[_.-]*$"
    rf"|(?:{_COUNTED})token$|(?:{_COUNTED.upper()})TOKEN$"
)
_PASS = re.compile(r"(?:^|[_.-])(?i:pass)[_.-]*$|Pass[_.-]*$")
_SEPARATORS = str.maketrans("", "", "_.-")


def _role(key: str, form: str, last: str) -> Role:
    if key.rpartition(".")[2].lower() in vocabulary.HEADER_KEYS:
        return Role.HEADER
    if form in vocabulary.DIRECTORY_KEYS:
        return Role.DIRECTORY
    if form == "token":
        return Role.TOKEN
    if last == vocabulary.BASIC_PART:
        return Role.BASIC
    if _PASS.search(key) or (
        form.endswith(vocabulary.SECRET_ENDINGS) and not _COUNTABLE.search(key)
    ):
        return Role.SECRET
    return Role.PLAIN


@cache_short(4096)
def _classify(key: str) -> Key:
    form = key.lower().translate(_SEPARATORS)
    last = re.split(r"[_.-]+", key.lower().strip("_.-"))[-1]
    public = form.endswith(vocabulary.PUBLIC_ENDINGS) or last in vocabulary.PUBLIC_PARTS
    return Key(_role(key, form, last), public)


def key_of(name: str) -> Key:
    """Classify the key; the name may be any text.

    Source: SAOP guide, 5.4, secret key.
    """
    return _classify(name[-MAX_LENGTH:])


def names_path(text: str, start: int = 0) -> bool:
    """Return whether a path begins at `start`, as in a working directory."""
    return _PATH.match(text, start) is not None
