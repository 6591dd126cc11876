"""A client of the schema registry at SCHEMA_REGISTRY_URL, on top of Confluent's client."""

from __future__ import annotations

import json
import logging
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from schemas import SchemaEntry
from streams.errors import RegistryUnavailable, RegistryUntrusted, SchemasMismatch, SettingsError
from streams.registry.reading import COMPATIBILITY, text_of

T = TypeVar("T")
log = logging.getLogger(__name__)

REQUEST_S = 10.0
_PAUSE_S = 1.0
_RETRIED_STATUSES = (408, 429, 500, 502, 503, 504)


class RegisteredVersion(NamedTuple):
    """One version of a subject; `schema` is JSON."""

    id: int
    version: int
    schema: Any


class Registry:
    """A blocking client of a schema registry; it may be called from any thread.

    url: may contain user and password.  patience_s: how long calls retry; None: without limit.
    tls: properties of Confluent's client, `ssl.ca.location` and so on.

    Calls raise RegistryUnavailable when `patience_s` is over or the client was closed, and
    SchemasMismatch if the registry refuses a request.  A registry that has never answered and is
    not trusted (RegistryUntrusted) is not retried.
    """

    def __init__(
        self,
        url: str,
        patience_s: float | None = None,
        tls: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        from confluent_kafka.schema_registry import SchemaRegistryClient

        self._name = _without_user(url)
        self._patience_s = patience_s
        self._closed = threading.Event()
        self._has_answered = False
        config = {"url": url, "max.retries": 0, "timeout": REQUEST_S, **tls}
        try:
            self._client = SchemaRegistryClient(config)
        except (OSError, ValueError) as exc:
            raise SettingsError(
                f"the schema registry's client refuses its settings: {exc}",
                advice="Check SCHEMA_REGISTRY_URL and HEADRACE_REGISTRY_SSL_….",
            ) from exc

    def close(self) -> None:
        """Close the client; calls that wait raise RegistryUnavailable."""
        self._closed.set()
        self._client.close()

    def schema(self, id: int, patience_s: float | None = None) -> Any | None:
        """Return a schema as JSON, None if the id is unknown or the schema is not Avro.

        patience_s: overrides that of the client.
        """
        response = self._call(lambda: self._client.get_schema(id), patience_s)
        if response is None or response.schema_type != "AVRO":
            return None
        return _json(response.schema_str)

    def versions(self, subject: str) -> list[RegisteredVersion]:
        """Return the versions of a subject, the latest first; none for an unknown subject."""
        numbers = self._call(lambda: self._client.get_versions(subject)) or []
        versions = []
        for number in sorted(numbers, reverse=True):
            version = self._version(subject, number)
            if version is not None:
                versions.append(version)
        return versions

    def _version(self, subject: str, number: int) -> RegisteredVersion | None:
        response = self._call(lambda: self._client.get_version(subject, number))
        if response is None:
            return None
        return RegisteredVersion(response.schema_id, number, _json(response.schema.schema_str))

    def register(self, subject: str, entry: SchemaEntry) -> int:
        """Register a schema and return its id; a schema that is already registered keeps its id."""
        from confluent_kafka.schema_registry import Schema

        schema = Schema(text_of(entry), "AVRO")
        schema_id = self._call(lambda: self._client.register_schema(subject, schema))
        if schema_id is None:
            raise SchemasMismatch(f"the registry at {self._name} has no {subject} after all")
        return int(schema_id)

    def keep_compatible(self, subject: str) -> None:
        """Set the registry's compatibility rule of a subject to that of the catalogue."""
        self._call(lambda: self._client.set_compatibility(subject, COMPATIBILITY))

    def _call(self, request: Callable[[], T], patience_s: float | None = None) -> T | None:
        """Call the registry and retry while it is unavailable; return None for a 404."""
        patience = self._patience_s if patience_s is None else patience_s
        deadline = None if patience is None else time.monotonic() + patience
        has_warned = False
        while True:
            try:
                return self._call_once(request)
            except RegistryUnavailable as exc:
                if isinstance(exc, RegistryUntrusted) and not self._has_answered:
                    raise
                if self._closed.is_set() or (deadline and time.monotonic() + _PAUSE_S > deadline):
                    raise
                if not has_warned:
                    log.warning("waiting for the schema registry: %s", exc.message)
                    has_warned = True
            if self._closed.wait(_PAUSE_S):
                raise RegistryUnavailable(f"the registry at {self._name} is not asked any more")

    def _call_once(self, request: Callable[[], T]) -> T | None:
        from confluent_kafka.schema_registry.error import SchemaRegistryError

        try:
            response = request()
            self._has_answered = True
            return response
        except SchemaRegistryError as exc:
            self._has_answered = True
            if exc.http_status_code == 404:
                return None
            message = (
                f"the registry at {self._name} says {exc.http_status_code}: {exc.error_message}"
            )
            if exc.http_status_code in _RETRIED_STATUSES:
                raise RegistryUnavailable(message) from exc
            raise SchemasMismatch(
                message, advice="Look at the registry, and at its access."
            ) from exc
        except Exception as exc:  # raised by whichever HTTP client the library uses
            kind = RegistryUntrusted if _is_tls(exc) else RegistryUnavailable
            raise kind(f"no registry answers at {self._name}: {exc}") from exc


def _is_tls(exc: BaseException | None) -> bool:
    while exc is not None and not isinstance(exc, ssl.SSLError):
        exc = exc.__cause__ or exc.__context__
    return exc is not None


def _json(text: str | None) -> Any:
    """Parse JSON; return None if the text is not JSON."""
    try:
        return json.loads(text or "")
    except ValueError:
        return None


def _without_user(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
