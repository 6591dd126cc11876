"""The handles of tasks: a handle proves itself, so any gateway that has the key knows it for ever.

A handle is `t1.KIND.ID.MAC`: the letter of a kind of things, the base64url of the id, and the first
22 characters of the base64url of an HMAC-SHA-256 over the caller's principal, kind and id.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from streams.settings import Settings

_VERSION = "t1"
_MAC_CHARACTERS = 22
_MOST_CHARACTERS = 4096
_FILE = "mcp-task-key"
_BY_SEND = "send\0"
"""Begins the id of what `send` made, for kinds of which tools make some too."""
Keys = Sequence[bytes]
"""The keys that handles may have been made with; the first makes new ones."""


class Handle(NamedTuple):
    """A thing.  letter: of its kind.  name: of its node, without the kind.

    by_send: `send` made it, and not the tool of an agent, so its result is that of `send`.
    """

    letter: str
    name: str
    by_send: bool = False


def write_handle(keys: Keys, principal: str | None, handle: Handle) -> str:
    id = (_BY_SEND if handle.by_send else "") + handle.name
    text = _encode(id.encode())
    return f"{_VERSION}.{handle.letter}.{text}.{_mac(keys[0], principal, handle.letter, id)}"


def read_handle(keys: Keys, principal: str | None, text: str) -> Handle | None:
    """Return what a handle of this principal stands for, None for any other text."""
    parts = text.split(".")
    if len(text) > _MOST_CHARACTERS or len(parts) != 4 or parts[0] != _VERSION:
        return None
    _, letter, encoded, mac = parts
    try:
        id = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    except (binascii.Error, ValueError):
        return None
    macs = [_mac(key, principal, letter, id) for key in keys]
    if not any(hmac.compare_digest(mac.encode(), each.encode()) for each in macs):
        return None
    return Handle(letter, id.removeprefix(_BY_SEND), id.startswith(_BY_SEND))


def _mac(key: bytes, principal: str | None, letter: str, id: str) -> str:
    message = "\0".join(("task", principal or "", letter, id))
    return _encode(hmac.digest(key, message.encode(), "sha256"))[:_MAC_CHARACTERS]


def _encode(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def load_keys(settings: Settings) -> Keys:
    """Return the gateways' keys; without the setting, that of the state directory, made if new."""
    if settings.gateway_key is not None:
        return [each.strip().encode() for each in settings.gateway_key.split(",")]
    return [_own_key(settings.state_dir / _FILE)]


def _own_key(path: Path) -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    with open(draft, "xb", opener=_private) as file:
        file.write(secrets.token_bytes(32))
    try:
        os.link(draft, path)  # fails if another gateway was first, whose key is then the key
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return path.read_bytes()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
