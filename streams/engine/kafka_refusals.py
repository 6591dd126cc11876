"""What brokers say when they do not take us in, in the words of headrace.

The Kafka client retries for ever and tells its error callback why; only a time-out reaches who
waits.  So the reasons are kept here, said once in the log, and raised instead of the time-out.
"""

from __future__ import annotations

import logging
import re
import threading
from typing import Any

from streams.errors import (
    AccessDenied,
    BrokerRefuses,
    BrokerUnavailable,
    LoginFailed,
    SettingsError,
    TlsFailed,
)
from streams.settings.kafka_security import VARIABLES

log = logging.getLogger(__name__)

_BROKEN_OFF = 5
"""So often connections end before a broker has answered when it speaks another protocol."""
_NOISE = re.compile(r"^\S+://|/bootstrap(?=:)| \(after \d+ms in state \w+.*?\)|error:\w+:")
_TLS = ("ssl/tls alert", "PLAINTEXT broker listener")


def refusal_of(error: Any) -> BrokerRefuses | None:
    """error: of the Kafka client.  None when it is none of a refusal."""
    name, said = str(error.name()), _NOISE.sub("", error.str())
    if name == "_AUTHENTICATION":
        return LoginFailed(f"Kafka does not take the login: {said}")
    if name == "_SSL" or (name == "_TRANSPORT" and any(mark in said for mark in _TLS)):
        return TlsFailed(f"no TLS with Kafka: {said}")
    if name.endswith("AUTHORIZATION_FAILED"):
        return AccessDenied(f"Kafka does not allow it: {said}")
    return None


def unusable(exc: Exception) -> SettingsError:
    """The Kafka client cannot even be made with what is set."""
    said = _NOISE.sub("", str(exc.args[0].str()))
    named = [env for kafka, env in VARIABLES.items() if kafka in said]
    return SettingsError(
        f"the Kafka client refuses its settings: {said}",
        advice=f"Check {' and '.join(named) or 'HEADRACE_SECURITY_…'}.",
    )


class Refusals:
    """The error callback of all clients of a log.  Any thread may call.

    Until a broker has answered once, whoever waits for that tells what was said, not the log.
    """

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._lock = threading.Lock()
        self._last: BrokerRefuses | None = None
        self._broken_off = 0
        self._waited_for = True

    def __call__(self, error: Any) -> None:
        found = refusal_of(error)
        with self._lock:
            self._broken_off += error.name() == "_ALL_BROKERS_DOWN"
            if found is None:
                return
            heard = self._last is not None and self._last.message == found.message
            news = not heard and not self._waited_for
            self._last = found
        if news:
            log.warning("%s: %s", found.code, found)

    def answered(self) -> None:
        """A broker has taken us in: what was said before does not hold any more."""
        with self._lock:
            self._last, self._broken_off, self._waited_for = None, 0, False

    @property
    def last(self) -> BrokerRefuses | None:
        """What a broker has said since one has taken us in."""
        return self._last

    def hopeless(self) -> BrokerUnavailable | None:
        """Why it is no use to wait for a first answer; None while it may come."""
        if self._last is not None or self._broken_off < _BROKEN_OFF:
            return self._last
        return BrokerUnavailable(
            f"every connection to {self._bootstrap} ends before Kafka answers",
            advice="See whether Kafka listens there, and speaks HEADRACE_SECURITY_PROTOCOL.",
        )
