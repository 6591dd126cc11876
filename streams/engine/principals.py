"""Who has sent a record: headers that the gateway signs and the processors check.

    headrace-principal: <principal>
    headrace-signature: 1;<ms since the epoch>;<HMAC-SHA-256, base64url>

The signature is over topic, key, value, time and principal, so it holds for this one record; and
only while the record's append time is near the time signed, so that one who can write to the topic
cannot put an old record there again.  Facts and inbox records show the principal of their cause.
What processors write for each other they sign on, without a time.
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
"""Of a record that nobody has signed, or not so that it holds."""
SERVICE = b"service"
"""Of what time alone has caused."""
FRESH_MS = 300_000
"""How far the time signed may be from the append time."""
_DOMAIN = b"headrace-principal-1"
_VERSION = b"1"
_OWN = (PRINCIPAL, SIGNATURE)


class Principals:
    """keys: the first one signs, each of them is good; so that a new one can be brought in.

    All gateways and workers of one system have the same.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = tuple(keys)
        self._told = False

    @classmethod
    def of(cls, setting: str | None) -> Principals | None:
        """HEADRACE_PRINCIPAL_KEY: keys parted by commas.  None where it is unset."""
        keys = [part.strip().encode() for part in (setting or "").split(",") if part.strip()]
        return cls(keys) if keys else None

    def signed(self, output: Output, principal: bytes, now_ms: int | None) -> Output:
        """With the header.  output: its topic is the full name.

        now_ms: about its append time; None for what lies on a topic that the service alone writes.
        """
        at = b"" if now_ms is None else str(now_ms).encode()
        mac = _mac(self._keys[0], output.topic, output.key, output.value, at, principal)
        rest = [(name, value) for name, value in output.headers if name not in _OWN]
        own = [(PRINCIPAL, principal), (SIGNATURE, b";".join((_VERSION, at, mac)))]
        return output._replace(headers=[*rest, *own])

    def of_record(self, record: Record) -> bytes | None:
        """Who has sent it; None when nobody has signed it, or not so that it holds."""
        text, name = header(record, SIGNATURE), header(record, PRINCIPAL)
        if text is None or name is None:
            return None
        principal = name if self._holds(record, text, name) else None
        if principal is None and not self._told:
            self._told = True
            log.warning(
                "the signature of %s does not hold (told once); HEADRACE_PRINCIPAL_KEY must be the"
                " same in gateways and workers, and clocks within minutes of the brokers'",
                position(record),
            )
        return principal

    def _holds(self, record: Record, text: bytes, name: bytes) -> bool:
        parts = text.split(b";")
        if len(parts) != 3 or parts[0] != _VERSION or not _is_fresh(parts[1], record.timestamp):
            return False
        _, at, given = parts
        macs = (_mac(k, record.topic, record.key, record.value, at, name) for k in self._keys)
        return any(hmac.compare_digest(mac, given) for mac in macs)

    def resigned(self, record: Record, output: Output, now_ms: int) -> Output:
        """For a record that goes on the log again: the output, signed anew if the record held."""
        principal = self.of_record(record)
        rest = [(name, value) for name, value in output.headers if name not in _OWN]
        bare = output._replace(headers=rest)
        return bare if principal is None else self.signed(bare, principal, now_ms)


class Senders:
    """Who has sent what is being judged.  default: shown where nobody is known.

    Without keys nobody is known, and it costs nothing.
    """

    def __init__(self, principals: Principals | None) -> None:
        self.default = UNAUTHENTICATED
        self._principals = principals
        self._known: dict[str, bytes] = {}

    def read(self, records: Sequence[Record]) -> None:
        if self._principals is None:
            return
        for record in records:
            found = self._principals.of_record(record) if record.headers else None
            if found is not None:
                self._known[position(record)] = found

    def vouch(self, cause: str, principal: str | None) -> None:
        if self._principals is not None:
            self._known[cause] = UNAUTHENTICATED if principal is None else principal.encode()

    def proved(self, cause: str) -> str | None:
        found = self._known.get(cause)
        return None if found is None or found == UNAUTHENTICATED else found.decode()

    def shown(self, cause: str) -> bytes:
        """What facts show of who sent the record at that position."""
        if self._principals is None:
            return UNAUTHENTICATED
        return self._known.get(cause, self.default)

    def passed_on(self, output: Output, cause: str) -> Output:
        """An output that a processor will read: signed, for the facts that come of it."""
        if self._principals is None:
            return output
        shown = self.shown(cause)
        known = shown != UNAUTHENTICATED
        return self._principals.signed(output, shown, None) if known else output


def _is_fresh(at: bytes, append_time: int) -> bool:
    """Undated ones are."""
    if not at:
        return True
    return at.isdigit() and len(at) <= 15 and abs(int(at) - append_time) <= FRESH_MS


def _mac(
    key: bytes, topic: str, record_key: bytes | None, value: bytes | None, at: bytes, name: bytes
) -> bytes:
    parts = [_DOMAIN]
    for part in (topic.encode(), record_key, value, at, name):
        parts += (b"-",) if part is None else (b"+%d:" % len(part), part)
    made = hmac.digest(key, b"".join(parts), "sha256")
    return urlsafe_b64encode(made).rstrip(b"=")
