"""Bearer tokens: `hr_<id>_<secret>`; the token file stores only their SHA-256.

The secret has 256 random bits, so its plain hash cannot be reversed by guessing.  The id is not
secret: it finds the line, whose hash is then compared in constant time.
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
from streams.access.file_stamp import stamp_file
from streams.errors import SettingsError

log = logging.getLogger(__name__)

_TOKEN_PREFIX = "hr"
_ID_LETTERS = string.ascii_lowercase + string.digits
_ID_LENGTH = 8
_HEX = frozenset("0123456789abcdef")
_NO_DIGEST = "0" * 64
_MEMBERS = ("id", "principal", "roles", "sha256", "expires")
_ADVICE = "Make lines with `headrace tokens new`; docs/security.md says what they mean."
MAX_PRINCIPAL = 200
"""Maximum length in characters; Summit accepts no longer caller name."""


class TokenRecord(NamedTuple):
    """A line of the token file.  digest: hex.  expires: None if it never expires."""

    id: str
    principal: str
    roles: frozenset[Role]
    digest: str
    expires: datetime | None = None

    def line(self) -> str:
        """Return the line as JSON."""
        members: dict[str, Any] = {
            "id": self.id,
            "principal": self.principal,
            "roles": sorted(self.roles),
            "sha256": self.digest,
        }
        if self.expires is not None:
            members["expires"] = self.expires.isoformat().replace("+00:00", "Z")
        return json.dumps(members, ensure_ascii=False)

    def expired(self, now: datetime) -> bool:
        return self.expires is not None and self.expires <= now


def new_token(
    principal: str, roles: frozenset[Role], expires: datetime | None = None
) -> tuple[str, TokenRecord]:
    """Return a new token and its line.  Raises SettingsError for an invalid principal."""
    id = "".join(secrets.choice(_ID_LETTERS) for _ in range(_ID_LENGTH))
    token = f"{_TOKEN_PREFIX}_{id}_{secrets.token_urlsafe(32)}"
    entry = TokenRecord(id, principal, roles, digest_of(token), expires)
    return token, parse_line(entry.line())


def digest_of(token: str) -> str:
    return sha256(token.encode()).hexdigest()


def load(path: Path) -> dict[str, TokenRecord]:
    """Read the lines of a token file, by id; empty lines and those that begin with # are skipped.

    Raises SettingsError.
    """
    try:
        text = path.read_text("utf-8-sig")  # some editors write a byte order mark
        if path.stat().st_mode & 0o002:
            raise SettingsError(
                f"HEADRACE_TOKENS: everybody can write to {path}", advice=f"Run `chmod o-w {path}`."
            )
    except (OSError, UnicodeDecodeError) as exc:
        raise SettingsError(f"HEADRACE_TOKENS: {path}: {exc}", advice=_ADVICE) from exc
    entries: dict[str, TokenRecord] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            entry = parse_line(line)
        except SettingsError as exc:
            message = f"HEADRACE_TOKENS: {path}, line {number}: {exc.message}"
            raise SettingsError(message, advice=_ADVICE) from exc
        if entry.id in entries:
            raise SettingsError(
                f"HEADRACE_TOKENS: {path}, line {number}: the id {entry.id} stands there twice",
                advice=_ADVICE,
            )
        entries[entry.id] = entry
    return entries


def parse_line(line: str) -> TokenRecord:
    """Parse a line of the token file.  Raises SettingsError."""
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
    roles = _parse_roles(value.get("roles"))
    principal = _parse_principal(value.get("principal"), roles)
    return TokenRecord(id, principal, roles, digest, _parse_time(value.get("expires")))


def _parse_roles(value: Any) -> frozenset[Role]:
    names = value if isinstance(value, list) else []
    if not names or not all(isinstance(name, str) and name in list(Role) for name in names):
        raise SettingsError(f"roles is not a list of {', '.join(Role)}", advice=_ADVICE)
    return frozenset(Role(name) for name in names)


def _parse_principal(value: Any, roles: frozenset[Role]) -> str:
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


def _parse_time(value: Any) -> datetime | None:
    if value is None:
        return None
    try:
        expires = datetime.fromisoformat(value)
    except (TypeError, ValueError) as exc:
        raise SettingsError("expires is not a time in ISO 8601", advice=_ADVICE) from exc
    return expires.replace(tzinfo=expires.tzinfo or UTC)


class TokenFile:
    """The tokens of a gateway.  A changed file takes effect with the next request.

    If a changed file cannot be read, the error is logged and the earlier tokens stay valid, so that
    an editing mistake locks nobody out.  Each request tries again, because the process itself may
    be at fault (too many open files) and a revocation must not be lost.
    Raises SettingsError if the file cannot be read at the start.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last_error = ""
        self._file_stamp = stamp_file(path)
        self._entries: Mapping[str, TokenRecord] = load(path)

    def caller(self, token: str) -> Caller | None:
        """Return the caller that a token belongs to, None if it is unknown or expired."""
        self._refresh()
        parts = token.split("_", 2)
        entry = self._entries.get(parts[1]) if len(parts) == 3 else None
        matches = hmac.compare_digest(digest_of(token), entry.digest if entry else _NO_DIGEST)
        if entry is None or not matches or entry.expired(datetime.now(UTC)):
            return None
        return Caller(entry.principal, entry.roles, entry.id)

    def find(self, token_id: str) -> TokenRecord | None:
        """Return the line of a token id, None if it is unknown or expired."""
        self._refresh()
        entry = self._entries.get(token_id)
        return None if entry is None or entry.expired(datetime.now(UTC)) else entry

    def roles_of(self, principal: str) -> frozenset[Role]:
        """Return the roles that all valid tokens of a principal have."""
        self._refresh()
        now = datetime.now(UTC)
        return frozenset(
            role
            for entry in self._entries.values()
            if entry.principal == principal and not entry.expired(now)
            for role in entry.roles
        )

    def holds(self, caller: Caller) -> bool:
        """Return whether the caller's token is still valid, with the same principal and roles.

        A caller by a session is one until the session ends.
        """
        entry = self.find(caller.token_id)
        if entry is None or (caller.until is not None and caller.until <= datetime.now(UTC)):
            return False
        return (entry.principal, entry.roles) == (caller.principal, caller.roles)

    def expires_of(self, caller: Caller) -> datetime | None:
        """Return when the caller's token or session expires, None if it never does."""
        entry = self._entries.get(caller.token_id)
        ends = (None if entry is None else entry.expires, caller.until)
        return min((each for each in ends if each is not None), default=None)

    def _refresh(self) -> None:
        stamp = stamp_file(self._path)
        if stamp == self._file_stamp:
            return
        try:
            self._entries = load(self._path)
        except SettingsError as exc:
            if exc.message != self._last_error:
                log.error("the tokens are as they were: %s", exc)
            self._last_error = exc.message
            if not isinstance(exc.__cause__, OSError):
                self._file_stamp = stamp  # the same bytes fail in the same way
        else:
            self._file_stamp, self._last_error = stamp, ""
            log.info("%d tokens are read anew", len(self._entries))
