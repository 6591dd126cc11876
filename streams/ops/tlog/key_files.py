"""The files of a log's key: private key, public key, verifier key and a first policy."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from streams.errors import OriginInvalid, UsageError
from streams.ops.audit.keys import public_path, write_new
from streams.ops.tlog.keys import PrivateKey, VerifierKey, verifier_key
from streams.ops.tlog.note import is_name
from streams.ops.tlog.policy import NO_QUORUM, load_policy


class KeyFiles(NamedTuple):
    """The paths that belong to one private key."""

    private: Path
    public: Path
    verifier: Path
    policy: Path

    @classmethod
    def of(cls, private: Path) -> KeyFiles:
        names = (private.name + suffix for suffix in (".vkey", ".policy"))
        return cls(private, public_path(private), *map(private.with_name, names))


def write_log_key(private: Path, origin: str, ml_dsa: bool) -> VerifierKey:
    """Write what is missing of a log's key files; replace nothing.

    Raises OriginInvalid, and UsageError if a file is there that belongs to another key or origin,
    before anything is written.
    """
    check_origin(origin)
    files = KeyFiles.of(private)
    key = load_private_key(private, ml_dsa) if private.exists() else None
    if key is None:
        _refuse_leftovers(files)
        key = _generate(ml_dsa)
    verifier = verifier_key(origin, key)
    contents = {
        files.public: key.public_key().public_bytes(
            Encoding.PEM, PublicFormat.SubjectPublicKeyInfo
        ),
        files.verifier: f"{verifier}\n".encode(),
    }
    for path, content in contents.items():
        if path.exists() and path.read_bytes().strip() != content.strip():
            raise UsageError(f"{path} belongs to another key or origin than {private}, {origin}")
    if files.policy.exists() and verifier not in load_policy(files.policy).keys_of(origin):
        raise UsageError(f"{files.policy} does not list the key {verifier.name}+{verifier.id}")
    contents[files.policy] = f"log {verifier}\nquorum {NO_QUORUM}\n".encode()
    if not private.exists():
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        write_new(private, pem, 0o600)
    for path, content in contents.items():
        if not path.exists():
            write_new(path, content, 0o644)
    return verifier


def check_origin(origin: str) -> None:
    """Raise OriginInvalid for a text that cannot be the origin of a log."""
    if not is_name(origin):
        raise OriginInvalid(
            f"{origin[:80]!r} is no origin: it has 1 to 255 bytes, and no space, plus sign or"
            " control character"
        )
    if "://" in origin or origin.endswith("/"):
        raise OriginInvalid(f"{origin[:80]!r} has a scheme or a trailing slash")


def load_private_key(path: Path, ml_dsa: bool = False) -> PrivateKey:
    """Load a private key in PEM, Ed25519 or ML-DSA-44; with `ml_dsa`, only that.

    Raises UsageError.
    """
    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except OSError as exc:
        raise UsageError(f"{path} cannot be read: {exc.strerror}") from exc
    except (ValueError, TypeError, UnsupportedAlgorithm) as exc:
        raise UsageError(f"{path} holds no private key in PEM without a password") from exc
    if isinstance(key, MLDSA44PrivateKey) or (isinstance(key, Ed25519PrivateKey) and not ml_dsa):
        return key
    kinds = "ML-DSA-44" if ml_dsa else "Ed25519 or ML-DSA-44"
    raise UsageError(f"{path} holds a key that is not {kinds}")


def _refuse_leftovers(files: KeyFiles) -> None:
    for path in files[1:]:
        if path.exists():
            raise UsageError(f"{path} is there, but {files.private}, to which it belongs, is not")


def _generate(ml_dsa: bool) -> PrivateKey:
    try:
        return MLDSA44PrivateKey.generate() if ml_dsa else Ed25519PrivateKey.generate()
    except UnsupportedAlgorithm as exc:
        raise UsageError("the installed `cryptography` has no ML-DSA-44") from exc
