"""Signed notes (signed-note) and checkpoints (tlog-checkpoint): parsed strictly, and written.

A note is a text of lines, an empty line, and one line for each signature.  A checkpoint is a note
whose text is the origin of a log, the size of its tree and the root: three lines, no more.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable
from typing import NamedTuple, Self

from streams.ops.tlog.merkle import HASH_BYTES

MAX_NOTE_BYTES = 64 * 1024
MAX_SIGNATURES = 64
MAX_ORIGIN_BYTES = 255
ID_BYTES = 4
"""The length of a key's id, the first bytes of a signature in a note."""
_DASH = "\u2014 "
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")
_SIZE = re.compile("0|[1-9][0-9]{0,18}")
_MAX_SIZE = (1 << 63) - 1


class NoteMalformed(ValueError):
    """An error for bytes that are no signed note, or whose text is no checkpoint."""


class NoteSignature(NamedTuple):
    """A signature line.  key_id: 8 hex digits.  signature: what follows the id."""

    name: str
    key_id: str
    signature: bytes

    @property
    def line(self) -> str:
        return f"{_DASH}{self.name} {to_base64(bytes.fromhex(self.key_id) + self.signature)}\n"


class Note(NamedTuple):
    """A signed note.  text: ends in a line feed, as the signatures cover it."""

    text: str
    signatures: tuple[NoteSignature, ...]

    def encode(self) -> bytes:
        lines = "".join(signature.line for signature in self.signatures)
        return f"{self.text}\n{lines}".encode()

    def add(self, signatures: Iterable[NoteSignature]) -> Note:
        """Return the note with further signatures."""
        return self._replace(signatures=(*self.signatures, *signatures))


class Checkpoint(NamedTuple):
    """The state of a log.  size: the number of its entries.  root: that of its tree, 32 bytes."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """Return the text of its note."""
        return f"{self.origin}\n{self.size}\n{to_base64(self.root)}\n"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the text of a note.  Raises NoteMalformed."""
        origin, *lines = text.split("\n")
        if len(lines) != 3 or not is_name(origin):
            raise NoteMalformed("a checkpoint has three lines: origin, size, root")
        size, root, _ = lines
        if _SIZE.fullmatch(size) is None or int(size) > _MAX_SIZE:
            raise NoteMalformed(f"{size[:30]!r} is no size of a tree")
        try:
            root_bytes = from_base64(root)
        except ValueError as exc:
            raise NoteMalformed("the root is not base64") from exc
        if len(root_bytes) != HASH_BYTES:
            raise NoteMalformed(f"the root has {len(root_bytes)} bytes, not {HASH_BYTES}")
        return cls(origin, int(size), root_bytes)


def parse_note(data: bytes) -> Note:
    """Read a signed note of up to 64 KiB and 64 signatures.  Raises NoteMalformed."""
    if len(data) > MAX_NOTE_BYTES:
        raise NoteMalformed(f"a note has at most {MAX_NOTE_BYTES} bytes, this one {len(data)}")
    try:
        whole = data.decode()
    except UnicodeDecodeError as exc:
        raise NoteMalformed("a note is UTF-8") from exc
    if _CONTROL.search(whole) is not None:
        raise NoteMalformed("a note has no control characters but line feeds")
    text, separator, signatures = whole.rpartition("\n\n")
    if not separator or not text or not signatures.endswith("\n"):
        raise NoteMalformed("a note is a text, an empty line, and lines of signatures")
    lines = signatures[:-1].split("\n")
    if len(lines) > MAX_SIGNATURES:
        raise NoteMalformed(
            f"a note has at most {MAX_SIGNATURES} signatures, this one {len(lines)}"
        )
    return Note(text + "\n", tuple(map(_parse_signature, lines)))


def _parse_signature(line: str) -> NoteSignature:
    name, _, encoded = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not is_name(name):
        raise NoteMalformed(f"{line[:60]!r} is no line of a signature")
    try:
        signature = from_base64(encoded)
    except ValueError as exc:
        raise NoteMalformed(f"the signature of {name[:60]!r} is not base64") from exc
    if len(signature) <= ID_BYTES:
        raise NoteMalformed(f"the signature of {name[:60]!r} is too short")
    return NoteSignature(name, signature[:ID_BYTES].hex(), signature[ID_BYTES:])


def is_name(name: str) -> bool:
    """Return whether a text can be the name of a key, or the origin of a log.

    It has 1 to 255 bytes, and no space of any kind, plus sign or control character.
    """
    try:
        length = len(name.encode())
    except UnicodeEncodeError:
        return False
    has_space = any(character.isspace() or ord(character) < 0x20 for character in name)
    return 0 < length <= MAX_ORIGIN_BYTES and not has_space and not {"+", "\x7f"} & set(name)


def to_base64(data: bytes) -> str:
    return b64encode(data).decode()


def from_base64(text: str) -> bytes:
    """Decode base64 in the one form that encodes the bytes.  Raises ValueError."""
    try:
        data = b64decode(text, validate=True)
    except binascii.Error as exc:
        raise ValueError(str(exc)) from exc
    if to_base64(data) != text:
        raise ValueError("the base64 is not in its shortest form")
    return data
