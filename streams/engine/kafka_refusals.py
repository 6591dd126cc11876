"""Errors with which brokers refuse a connection or a record, as headrace's errors.

The Kafka client retries for ever and reports the reason only to its error callback; the caller
gets a time-out.  So this module keeps the reasons, logs each once, and raises it instead of the
time-out.
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
    OutputTooLarge,
    ProduceUnknown,
    SettingsError,
    TlsFailed,
)
from streams.settings.kafka_security import VARIABLES

log = logging.getLogger(__name__)

_MAX_DISCONNECTS = 5
"""This many connections that end without an answer mean that the broker's protocol differs."""
_NOISE = re.compile(r"^\S+://|/bootstrap(?=:)| \(after \d+ms in state \w+.*?\)|error:\w+:")
_TLS_MARKS = ("ssl/tls alert", "PLAINTEXT broker listener")
_TOO_LARGE = ("MSG_SIZE_TOO_LARGE", "RECORD_LIST_TOO_LARGE")


def refusal_of(error: Any) -> BrokerRefuses | None:
    """Translate an error of the Kafka client; return None if it is not a refusal."""
    name, text = str(error.name()), _NOISE.sub("", error.str())
    if name == "_AUTHENTICATION":
        return LoginFailed(f"Kafka does not take the login: {text}")
    if name == "_SSL" or (name == "_TRANSPORT" and any(mark in text for mark in _TLS_MARKS)):
        return TlsFailed(f"no TLS with Kafka: {text}")
    if name.endswith("AUTHORIZATION_FAILED"):
        return AccessDenied(f"Kafka does not allow it: {text}")
    return None


def delivery_error(error: Any) -> OutputTooLarge | ProduceUnknown | BrokerRefuses:
    """Translate the error with which a record was not acknowledged."""
    if refusal := refusal_of(error):
        return refusal
    if error.name() in _TOO_LARGE:
        return OutputTooLarge(f"Kafka refuses a record: {error}")
    return ProduceUnknown(f"whether all records were written is unknown: {error.str()}")


def invalid_settings(exc: Exception) -> SettingsError:
    """Return the error of settings with which the Kafka client cannot even be created."""
    text = _NOISE.sub("", str(exc.args[0].str()))
    variables = [env for kafka, env in VARIABLES.items() if kafka in text]
    return SettingsError(
        f"the Kafka client refuses its settings: {text}",
        advice=f"Check {' and '.join(variables) or 'HEADRACE_SECURITY_…'}.",
    )


class Refusals:
    """The error callback of all clients of a log.  Any thread may call it.

    Until a broker has answered once, the caller that waits for it reports the error; the log does
    not.
    """

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._lock = threading.Lock()
        self._last: BrokerRefuses | None = None
        self._disconnects = 0
        self._connecting = True

    def __call__(self, error: Any) -> None:
        refusal = refusal_of(error)
        with self._lock:
            self._disconnects += error.name() == "_ALL_BROKERS_DOWN"
            if refusal is None:
                return
            is_repeated = self._last is not None and self._last.message == refusal.message
            is_new = not is_repeated and not self._connecting
            self._last = refusal
        if is_new:
            log.warning("%s: %s", refusal.code, refusal)

    def clear(self) -> None:
        """Forget the refusals: a broker has accepted our connection."""
        with self._lock:
            self._last, self._disconnects, self._connecting = None, 0, False

    @property
    def last(self) -> BrokerRefuses | None:
        """Return the last refusal since a broker accepted our connection."""
        return self._last

    def hopeless(self) -> BrokerUnavailable | None:
        """Return why waiting for a first answer is useless, or None while one may come."""
        if self._last is not None or self._disconnects < _MAX_DISCONNECTS:
            return self._last
        return BrokerUnavailable(
            f"every connection to {self._bootstrap} ends before Kafka answers",
            advice="See whether Kafka listens there, and speaks HEADRACE_SECURITY_PROTOCOL.",
        )
