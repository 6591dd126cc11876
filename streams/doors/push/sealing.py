"""Secrets of subscriptions, sealed with the gateways' key before they are put on the log.

AES-256-GCM, with the subscription's id as associated data, so that a secret that was copied to
another subscription cannot be opened there.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

_NONCE_BYTES = 12
_KEY_BYTES = 32
_INFO = b"headrace-push"


class SecretUnreadable(Exception):
    """A secret was sealed with a key that the gateway does not have, or was changed."""


class Sealer:
    """Seals with the first of the gateways' keys, and opens with any."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._ciphers = [AESGCM(_derive(key)) for key in keys]

    @classmethod
    def of(cls, setting: str) -> Sealer:
        """Return the sealer of HEADRACE_GATEWAY_KEY: one key, or NEW,OLD."""
        return cls([key.strip().encode() for key in setting.split(",")])

    def seal(self, secret: bytes, id: str) -> bytes:
        """Return nonce and ciphertext.  id: of the subscription."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._ciphers[0].encrypt(nonce, secret, id.encode())

    def open(self, sealed: bytes, id: str) -> bytes:
        """Return the secret.  Raises SecretUnreadable."""
        nonce, ciphertext = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        for cipher in self._ciphers:
            try:
                return cipher.decrypt(nonce, ciphertext, id.encode())
            except (InvalidTag, ValueError):
                continue
        raise SecretUnreadable(f"no key of this gateway opens the secret of {id}")


def _derive(key: bytes) -> bytes:
    return HKDF(SHA256(), _KEY_BYTES, salt=None, info=_INFO).derive(key)
