"""Bearer tokens: `hr_<id>_<secret>`, of which a file keeps the SHA-256 only.

The secret has 256 random bits, so a plain hash of it cannot be turned back by guessing.  The id
is no secret: it finds the line, whose hash is then compared in constant time.
"""

from __future__ import annotations

import hmac
import json
import logging
import secrets
import string
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from streams.access.callers import OPERATOR_NAME, RESERVED, Caller, Role
from streams.errors import SettingsError

log = logging.getLogger(__name__)

_START = "hr"
_ID_LETTERS = string.ascii_lowercase + string.digits
_ID_LENGTH = 8
_HEX = frozenset("0123456789abcdef")
_NOBODY = "0" * 64
_MEMBERS = ("id", "principal", "roles", "sha256", "expires")
_ADVICE = "Make lines with `headrace tokens new`; docs/security.md says what they mean."
MAX_PRINCIPAL = 200
"""Characters; Summit takes no longer name of a caller."""


class Entry(NamedTuple):
    """A line of the file.  digest: hex.  expires: None for never."""

    id: str
    principal: str
    roles: frozenset[Role]
    digest: str
    expires: datetime | None = None

    def line(self) -> str:
        """As JSON."""
        told: dict[str, Any] = {
            "id": self.id,
            "principal": self.principal,
            "roles": sorted(self.roles),
            "sha256": self.digest,
        }
        if self.expires is not None:
            told["expires"] = self.expires.isoformat().replace("+00:00", "Z")
        return json.dumps(told, ensure_ascii=False)

    def expired(self, now: datetime) -> bool:
        return self.expires is not None and self.expires <= now


def new_token(
    principal: str, roles: frozenset[Role], expires: datetime | None = None
) -> tuple[str, Entry]:
    """A token and its line.  Raises SettingsError for a principal that cannot be."""
    id = "".join(secrets.choice(_ID_LETTERS) for _ in range(_ID_LENGTH))
    token = f"{_START}_{id}_{secrets.token_urlsafe(32)}"
    entry = Entry(id, principal, roles, digest_of(token), expires)
    return token, parse_line(entry.line())


def digest_of(token: str) -> str:
    return sha256(token.encode()).hexdigest()


def load(path: Path) -> dict[str, Entry]:
    """The lines of a file by id; empty lines and those that begin with # are skipped.

    Raises SettingsError.
    """
    try:
        text = path.read_text("utf-8-sig")  # some editors begin a file with a mark
        if path.stat().st_mode & 0o002:
            raise SettingsError(
                f"HEADRACE_TOKENS: everybody can write to {path}", advice=f"Run `chmod o-w {path}`."
            )
    except (OSError, UnicodeDecodeError) as exc:
        raise SettingsError(f"HEADRACE_TOKENS: {path}: {exc}", advice=_ADVICE) from exc
    entries: dict[str, Entry] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            entry = parse_line(line)
        except SettingsError as exc:
            where = f"HEADRACE_TOKENS: {path}, line {number}: {exc.message}"
            raise SettingsError(where, advice=_ADVICE) from exc
        if entry.id in entries:
            raise SettingsError(
                f"HEADRACE_TOKENS: {path}, line {number}: the id {entry.id} stands there twice",
                advice=_ADVICE,
            )
        entries[entry.id] = entry
    return entries


def parse_line(line: str) -> Entry:
    """Raises SettingsError."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as exc:
        raise SettingsError("not JSON", advice=_ADVICE) from exc
    if not isinstance(value, dict) or not set(value) <= set(_MEMBERS):
        raise SettingsError(f"not an object of {', '.join(_MEMBERS)}", advice=_ADVICE)
    id, digest = value.get("id"), value.get("sha256")
    if not isinstance(id, str) or not id or not set(_ID_LETTERS).issuperset(id):
        raise SettingsError("id is not of small letters and digits", advice=_ADVICE)
    if not isinstance(digest, str) or len(digest) != 64 or not _HEX.issuperset(digest):
        raise SettingsError("sha256 is not of 64 small hex digits", advice=_ADVICE)
    roles = _roles(value.get("roles"))
    principal = _principal(value.get("principal"), roles)
    return Entry(id, principal, roles, digest, _time(value.get("expires")))


def _roles(value: Any) -> frozenset[Role]:
    names = value if isinstance(value, list) else []
    if not names or not all(isinstance(name, str) and name in list(Role) for name in names):
        raise SettingsError(f"roles is not a list of {', '.join(Role)}", advice=_ADVICE)
    return frozenset(Role(name) for name in names)


def _principal(value: Any, roles: frozenset[Role]) -> str:
    if not isinstance(value, str) or not value or not value.isprintable():
        raise SettingsError("principal is not a text that can be printed", advice=_ADVICE)
    if value != value.strip():
        raise SettingsError("principal begins or ends with space", advice=_ADVICE)
    if len(value) > MAX_PRINCIPAL:
        raise SettingsError(f"principal is above {MAX_PRINCIPAL} characters", advice=_ADVICE)
    if value in RESERVED:
        raise SettingsError(f"principal: {value} is what facts show of nobody", advice=_ADVICE)
    if value == OPERATOR_NAME and Role.OPERATOR not in roles:
        raise SettingsError(f"principal: {value} needs the role {Role.OPERATOR}", advice=_ADVICE)
    return value


def _time(value: Any) -> datetime | None:
    if value is None:
        return None
    try:
        found = datetime.fromisoformat(value)
    except (TypeError, ValueError) as exc:
        raise SettingsError("expires is not a time in ISO 8601", advice=_ADVICE) from exc
    return found.replace(tzinfo=found.tzinfo or UTC)


class TokenFile:
    """The tokens of a gateway.  A changed file counts from the next request on.

    One that cannot be read then is told in the log, and what was known goes on: a slip of an editor
    locks nobody out.  It is tried again with each request, as the fault may be the process's own
    (too many open files), and a revocation must not be lost by it.
    Raises SettingsError when it cannot be read at the start.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._told = ""
        self._stamp = _stamp(path)
        self._entries: Mapping[str, Entry] = load(path)

    def caller(self, token: str) -> Caller | None:
        """Whose token it is; None when nobody has it, or not any more."""
        self._refresh()
        parts = token.split("_", 2)
        entry = self._entries.get(parts[1]) if len(parts) == 3 else None
        known = hmac.compare_digest(digest_of(token), entry.digest if entry else _NOBODY)
        if entry is None or not known or entry.expired(datetime.now(UTC)):
            return None
        return Caller(entry.principal, entry.roles, entry.id)

    def holds(self, caller: Caller) -> bool:
        """Whether the token that they came with still counts, with the same roles."""
        self._refresh()
        entry = self._entries.get(caller.token_id)
        if entry is None or entry.expired(datetime.now(UTC)):
            return False
        return (entry.principal, entry.roles) == (caller.principal, caller.roles)

    def _refresh(self) -> None:
        stamp = _stamp(self._path)
        if stamp == self._stamp:
            return
        try:
            self._entries = load(self._path)
        except SettingsError as exc:
            if exc.message != self._told:
                log.error("the tokens are as they were: %s", exc)
            self._told = exc.message
            if not isinstance(exc.__cause__, OSError):
                self._stamp = stamp  # the same bytes say the same
        else:
            self._stamp, self._told = stamp, ""
            log.info("%d tokens are read anew", len(self._entries))


def _stamp(path: Path) -> tuple[int, ...] | None:
    """What changes when the file does."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
