"""The key that signs checkpoints, and the keys that verify them.

Both are PEM files: PKCS#8 without a password for the private key, SubjectPublicKeyInfo for the
public one.
"""

from __future__ import annotations

import os
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from schemas import sha256_hex
from streams.errors import SettingsError, UsageError

_ADVICE = "`headrace audit key FILE` makes a pair."


class Verifier:
    """A public key."""

    def __init__(self, key: Ed25519PublicKey) -> None:
        self._key = key
        self.id = sha256_hex(key.public_bytes(Encoding.Raw, PublicFormat.Raw))[:16]

    def holds(self, signature: str, message: bytes) -> bool:
        """Return whether the signature (base64) is that of the message."""
        try:
            self._key.verify(b64decode(signature, validate=True), message)
        except (InvalidSignature, ValueError):  # ValueError: not base64
            return False
        return True


Keys = Mapping[str, Verifier]
"""Public keys by their ids: the current one, and those that it has replaced."""


class Signer:
    """A private key."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.verifier = Verifier(key.public_key())

    def sign(self, message: bytes) -> str:
        """Return the signature in base64."""
        return b64encode(self._key.sign(message)).decode()


def new_pair(path: Path) -> Verifier:
    """Write a new key pair: a private key that only its owner can read, and a public key beside it.

    The public key's file has the same name with `.pub`.  Raises UsageError if one of the files
    exists.
    """
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    for file, text, mode in ((path, private, 0o600), (public_path(path), public, 0o644)):
        write_new(file, text, mode)
    return Verifier(key.public_key())


def public_path(path: Path) -> Path:
    """Return the path of the public key that belongs to a private key."""
    return path.with_name(path.name + ".pub")


def write_new(path: Path, text: bytes, mode: int) -> None:
    """Write a file that is not there yet.  Raises UsageError."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError as exc:
        raise UsageError(f"{path} is there already", advice="A key is never replaced.") from exc
    except OSError as exc:
        raise UsageError(f"{path} cannot be written: {exc.strerror}") from exc
    with os.fdopen(descriptor, "wb") as file:
        file.write(text)


def signer(path: Path | None) -> Signer:
    """Load a private key.  Raises SettingsError."""
    if path is None:
        raise SettingsError("HEADRACE_AUDIT_KEY names no private key", advice=_ADVICE)
    try:
        key = load_pem_private_key(_read(path), password=None)
    except (ValueError, TypeError) as exc:
        raise SettingsError(f"{path} holds no private key in PEM", advice=_ADVICE) from exc
    if not isinstance(key, Ed25519PrivateKey):
        raise SettingsError(f"{path} holds a key that is not Ed25519", advice=_ADVICE)
    return Signer(key)


def keys_of(paths: Sequence[Path]) -> Keys:
    """Load public keys.  Raises SettingsError."""
    return {key.id: key for key in map(_load_public_key, paths)}


def _load_public_key(path: Path) -> Verifier:
    try:
        key = load_pem_public_key(_read(path))
    except ValueError as exc:
        raise SettingsError(f"{path} holds no public key in PEM", advice=_ADVICE) from exc
    if not isinstance(key, Ed25519PublicKey):
        raise SettingsError(f"{path} holds a key that is not Ed25519", advice=_ADVICE)
    return Verifier(key)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as exc:
        raise SettingsError(f"{path} cannot be read: {exc.strerror}", advice=_ADVICE) from exc
