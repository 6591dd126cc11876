"""Principals of records: headers that the gateway signs and the processors check.

    headrace-principal: <principal>
    headrace-signature: 1;<ms since the epoch>;<HMAC-SHA-256, base64url>

The signature covers topic, key, value, time and principal, so it is valid for this one record.  It
is valid only while the record's append time is near the signed time, so a client that can write to
the topic cannot replay an old record.  Facts and inbox records show the principal of their cause.
Records that processors write for each other are signed again, without a time.
"""

from __future__ import annotations

import hmac
import logging
from base64 import urlsafe_b64encode
from collections.abc import Sequence

from streams.engine.records import Output, Record, header, position
from topology import headers

log = logging.getLogger(__name__)

PRINCIPAL = headers.PRINCIPAL.name
SIGNATURE = headers.SIGNATURE.name
UNAUTHENTICATED = b"unauthenticated"
"""The principal of a record without a valid signature."""
SERVICE = b"service"
"""The principal of records that timers cause."""
FRESH_MS = 300_000
"""The allowed difference between signed time and append time."""
_DOMAIN = b"headrace-principal-1"
_VERSION = b"1"
_PRINCIPAL_HEADERS = (PRINCIPAL, SIGNATURE)


def split_keys(setting: str | None) -> list[bytes]:
    """Return the keys of HEADRACE_PRINCIPAL_KEY, the first of which signs; none if it is unset."""
    return [part.strip().encode() for part in (setting or "").split(",") if part.strip()]


class Principals:
    """The keys that sign and check principals, the same in all gateways and workers of one system.

    keys: the first one signs; any of them verifies, so keys can be rotated.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = tuple(keys)
        self._warned = False

    @classmethod
    def of(cls, setting: str | None) -> Principals | None:
        """Parse HEADRACE_PRINCIPAL_KEY, keys separated by commas; return None where it is unset."""
        keys = split_keys(setting)
        return cls(keys) if keys else None

    def signed(self, output: Output, principal: bytes, now_ms: int | None) -> Output:
        """Add the principal and its signature to the headers of an output with its full topic name.

        now_ms: its approximate append time; None for topics that only the service writes.
        """
        at = b"" if now_ms is None else str(now_ms).encode()
        mac = _mac(self._keys[0], output.topic, output.key, output.value, at, principal)
        other_headers = [
            (name, value) for name, value in output.headers if name not in _PRINCIPAL_HEADERS
        ]
        principal_headers = [(PRINCIPAL, principal), (SIGNATURE, b";".join((_VERSION, at, mac)))]
        return output._replace(headers=[*other_headers, *principal_headers])

    def of_record(self, record: Record) -> bytes | None:
        """Return the principal of a record; None when it has no valid signature."""
        text, name = header(record, SIGNATURE), header(record, PRINCIPAL)
        if text is None or name is None:
            return None
        principal = name if self._is_valid(record, text, name) else None
        if principal is None and not self._warned:
            self._warned = True
            log.warning(
                "the signature of %s does not hold (told once); HEADRACE_PRINCIPAL_KEY must be the"
                " same in gateways and workers, and clocks within minutes of the brokers'",
                position(record),
            )
        return principal

    def _is_valid(self, record: Record, text: bytes, name: bytes) -> bool:
        parts = text.split(b";")
        if len(parts) != 3 or parts[0] != _VERSION or not _is_fresh(parts[1], record.timestamp):
            return False
        _, at, signature = parts
        expected_macs = (
            _mac(k, record.topic, record.key, record.value, at, name) for k in self._keys
        )
        return any(hmac.compare_digest(mac, signature) for mac in expected_macs)

    def resigned(self, record: Record, output: Output, now_ms: int) -> Output:
        """Sign the output of a record that is written again, if the record's signature is valid."""
        principal = self.of_record(record)
        other_headers = [
            (name, value) for name, value in output.headers if name not in _PRINCIPAL_HEADERS
        ]
        unsigned = output._replace(headers=other_headers)
        return unsigned if principal is None else self.signed(unsigned, principal, now_ms)


class Senders:
    """The principals of the records that are being decided.

    default: the principal of records without one.  Without keys all records have none, at no cost.
    """

    def __init__(self, principals: Principals | None) -> None:
        self.default = UNAUTHENTICATED
        self._principals = principals
        self._by_position: dict[str, bytes] = {}

    def read(self, records: Sequence[Record]) -> None:
        if self._principals is None:
            return
        for record in records:
            principal = self._principals.of_record(record) if record.headers else None
            if principal is not None:
                self._by_position[position(record)] = principal

    def vouch(self, cause: str, principal: str | None) -> None:
        if self._principals is not None:
            self._by_position[cause] = UNAUTHENTICATED if principal is None else principal.encode()

    def proved(self, cause: str) -> str | None:
        principal = self._by_position.get(cause)
        return None if principal is None or principal == UNAUTHENTICATED else principal.decode()

    def principal_header(self, cause: str) -> bytes:
        """Return the principal that facts show for the record at that position."""
        if self._principals is None:
            return UNAUTHENTICATED
        return self._by_position.get(cause, self.default)

    def passed_on(self, output: Output, cause: str) -> Output:
        """Sign an output that a processor will read, so that its facts show the principal."""
        if self._principals is None:
            return output
        principal = self.principal_header(cause)
        is_authenticated = principal != UNAUTHENTICATED
        return self._principals.signed(output, principal, None) if is_authenticated else output


def _is_fresh(at: bytes, append_time: int) -> bool:
    """Check that the signed time is near the append time; signatures without a time are fresh."""
    if not at:
        return True
    return at.isdigit() and len(at) <= 15 and abs(int(at) - append_time) <= FRESH_MS


def _mac(
    key: bytes, topic: str, record_key: bytes | None, value: bytes | None, at: bytes, name: bytes
) -> bytes:
    parts = [_DOMAIN]
    for part in (topic.encode(), record_key, value, at, name):
        parts += (b"-",) if part is None else (b"+%d:" % len(part), part)
    digest = hmac.digest(key, b"".join(parts), "sha256")
    return urlsafe_b64encode(digest).rstrip(b"=")
