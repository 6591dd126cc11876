"""Keys of logs and witnesses: verifier keys, and signatures of checkpoints made and verified.

A verifier key is one line, `<name>+<id>+<base64 of type and public key>`.  A type says what is
signed and how:

    1  Ed25519 over the text of the note
    4  Ed25519 over a time and the text of the note: a cosignature (tlog-cosignature)
    6  ML-DSA-44 over a time, the names of signer and log, the size and the root (tlog-cosignature)

A log signs with types 1 and 6, a witness with types 4 and 6.
"""

from __future__ import annotations

import hashlib
import re
import struct
from enum import IntEnum
from typing import NamedTuple

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey, MLDSA44PublicKey

from streams.ops.tlog.note import (
    ID_BYTES,
    Checkpoint,
    NoteSignature,
    from_base64,
    is_name,
    to_base64,
)

PrivateKey = Ed25519PrivateKey | MLDSA44PrivateKey
PublicKey = Ed25519PublicKey | MLDSA44PublicKey
_TIME = struct.Struct(">Q")
_SUBTREE = b"subtree/v1\n\0"
_MAX_TIME_S = 253_402_300_799
"""The last second of the year 9999: a later time is no time of a signature."""


class KeyType(IntEnum):
    """The type of a signature, as it stands in verifier keys."""

    ED25519 = 1
    ED25519_COSIGNATURE = 4
    ML_DSA_44 = 6

    @property
    def has_time(self) -> bool:
        return self is not KeyType.ED25519


LOG_TYPES = frozenset({KeyType.ED25519, KeyType.ML_DSA_44})
WITNESS_TYPES = frozenset({KeyType.ED25519_COSIGNATURE, KeyType.ML_DSA_44})
_VERIFIER_KEY = re.compile(r"(?P<name>[^+]*)\+(?P<id>[0-9a-f]{8})\+(?P<key>[A-Za-z0-9+/=]*)")


class KeyMalformed(ValueError):
    """An error for a text that is no verifier key, or one of a type that is not known."""


class VerifierKey(NamedTuple):
    """A public key with its name and the type of the signatures that it verifies."""

    name: str
    type: KeyType
    public: bytes

    @property
    def id(self) -> str:
        """Return the id, 8 hex digits, by which signatures name the key."""
        encoded = self.name.encode() + b"\n" + bytes([self.type]) + self.public
        return hashlib.sha256(encoded).digest()[:ID_BYTES].hex()

    def __str__(self) -> str:
        return f"{self.name}+{self.id}+{to_base64(bytes([self.type]) + self.public)}"

    def signed(self, signature: NoteSignature) -> bool:
        """Return whether a signature says that it is by this key."""
        return (signature.name, signature.key_id) == (self.name, self.id)

    def verify(self, signature: bytes, checkpoint: Checkpoint) -> int | None:
        """Return the time in s of a signature of a checkpoint; 0 where its type has none.

        None if it does not verify, or its time is beyond the year 9999.
        """
        time_s = 0
        if self.type.has_time:
            if len(signature) < _TIME.size:
                return None
            (time_s,) = _TIME.unpack(signature[: _TIME.size])
            signature = signature[_TIME.size :]
        if time_s > _MAX_TIME_S:
            return None
        message = signed_message(self.type, self.name, time_s, checkpoint)
        return time_s if verify_message(self, signature, message) else None


def verify_message(key: VerifierKey, signature: bytes, message: bytes) -> bool:
    """Return whether the public key verifies a signature of a message."""
    try:
        _load_public(key.type, key.public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def parse_verifier_key(text: str) -> VerifierKey:
    """Read a verifier key of one of the three types.  Raises KeyMalformed."""
    match = _VERIFIER_KEY.fullmatch(text)
    if match is None or not is_name(match["name"]):
        raise KeyMalformed("a verifier key is <name>+<id, 8 hex digits>+<base64>")
    try:
        encoded = from_base64(match["key"])
        key = VerifierKey(match["name"], KeyType(encoded[0]), encoded[1:])
        _load_public(key.type, key.public)
    except (ValueError, IndexError) as exc:
        raise KeyMalformed(
            "its key is not base64 of Ed25519 (type 1 or 4, 32 bytes) or ML-DSA-44 (type 6, 1,312"
            " bytes)"
        ) from exc
    except UnsupportedAlgorithm as exc:
        raise KeyMalformed("the installed `cryptography` has no ML-DSA-44") from exc
    if key.id != match["id"]:
        raise KeyMalformed(f"the id of its name and key is {key.id}, not {match['id']}")
    return key


def verifier_key(origin: str, private: PrivateKey) -> VerifierKey:
    """Return the verifier key of a log's private key."""
    is_ed25519 = isinstance(private, Ed25519PrivateKey)
    kind = KeyType.ED25519 if is_ed25519 else KeyType.ML_DSA_44
    return VerifierKey(origin, kind, private.public_key().public_bytes_raw())


def sign_checkpoint(private: PrivateKey, checkpoint: Checkpoint, time_s: int) -> NoteSignature:
    """Sign a checkpoint as its log.  time_s: since the epoch; ML-DSA-44 signs it too."""
    key = verifier_key(checkpoint.origin, private)
    return _sign(private, key, checkpoint, time_s)


def cosign_checkpoint(
    name: str, private: PrivateKey, checkpoint: Checkpoint, time_s: int
) -> NoteSignature:
    """Sign a checkpoint as a witness of that name."""
    key = cosigner_key(name, private)
    return _sign(private, key, checkpoint, time_s)


def cosigner_key(name: str, private: PrivateKey) -> VerifierKey:
    """Return the verifier key of a witness's private key."""
    key = verifier_key(name, private)
    is_ed25519 = key.type is KeyType.ED25519
    return key._replace(type=KeyType.ED25519_COSIGNATURE) if is_ed25519 else key


def _sign(
    private: PrivateKey, key: VerifierKey, checkpoint: Checkpoint, time_s: int
) -> NoteSignature:
    signature = private.sign(signed_message(key.type, key.name, time_s, checkpoint))
    time = _TIME.pack(time_s) if key.type.has_time else b""
    return NoteSignature(key.name, key.id, time + signature)


def signed_message(kind: KeyType, name: str, time_s: int, checkpoint: Checkpoint) -> bytes:
    """Return the bytes that a signature of this type covers."""
    match kind:
        case KeyType.ED25519:
            return checkpoint.text.encode()
        case KeyType.ED25519_COSIGNATURE:
            return f"cosignature/v1\ntime {time_s}\n{checkpoint.text}".encode()
        case KeyType.ML_DSA_44:
            names = _with_length(name), _TIME.pack(time_s), _with_length(checkpoint.origin)
            span = _TIME.pack(0), _TIME.pack(checkpoint.size)
            return b"".join([_SUBTREE, *names, *span, checkpoint.root])


def _with_length(name: str) -> bytes:
    encoded = name.encode()
    return bytes([len(encoded)]) + encoded


def _load_public(kind: KeyType, public: bytes) -> PublicKey:
    if kind is KeyType.ML_DSA_44:
        return MLDSA44PublicKey.from_public_bytes(public)
    return Ed25519PublicKey.from_public_bytes(public)
