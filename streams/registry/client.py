"""The schema registry at SCHEMA_REGISTRY_URL, asked through Confluent's client."""

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
_LATER = (408, 429, 500, 502, 503, 504)


class Registered(NamedTuple):
    """One version of a subject.  schema: JSON."""

    id: int
    version: int
    schema: Any


class Registry:
    """url: may hold user and password.  patience_s: how long calls wait for it; None: for ever.
    tls: properties of Confluent's client, `ssl.ca.location` and so on.

    Calls block, in any thread.  They raise RegistryUnavailable once patience is over or the
    registry was closed, and SchemasMismatch for what it refuses.  A registry that has never
    answered and is not trusted (RegistryUntrusted) is not waited for.
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
        self._answered = False
        config = {"url": url, "max.retries": 0, "timeout": REQUEST_S, **tls}
        try:
            self._client = SchemaRegistryClient(config)
        except (OSError, ValueError) as exc:
            raise SettingsError(
                f"the schema registry's client refuses its settings: {exc}",
                advice="Check SCHEMA_REGISTRY_URL and HEADRACE_REGISTRY_SSL_….",
            ) from exc

    def close(self) -> None:
        """Who waits is refused."""
        self._closed.set()
        self._client.close()

    def schema(self, id: int, patience_s: float | None = None) -> Any | None:
        """JSON; None for an unknown id, and for what is no Avro.

        patience_s: instead of its own.
        """
        found = self._call(lambda: self._client.get_schema(id), patience_s)
        if found is None or found.schema_type != "AVRO":
            return None
        return _json(found.schema_str)

    def versions(self, subject: str) -> list[Registered]:
        """From the latest to the first; none of an unknown subject."""
        numbers = self._call(lambda: self._client.get_versions(subject)) or []
        found = []
        for number in sorted(numbers, reverse=True):
            version = self._version(subject, number)
            if version is not None:
                found.append(version)
        return found

    def _version(self, subject: str, number: int) -> Registered | None:
        found = self._call(lambda: self._client.get_version(subject, number))
        if found is None:
            return None
        return Registered(found.schema_id, number, _json(found.schema.schema_str))

    def register(self, subject: str, entry: SchemaEntry) -> int:
        """Its id.  What is registered already stays as it is."""
        from confluent_kafka.schema_registry import Schema

        schema = Schema(text_of(entry), "AVRO")
        found = self._call(lambda: self._client.register_schema(subject, schema))
        if found is None:
            raise SchemasMismatch(f"the registry at {self._name} has no {subject} after all")
        return int(found)

    def keep_compatible(self, subject: str) -> None:
        """Have the registry refuse versions that would break the rule of the catalogue."""
        self._call(lambda: self._client.set_compatibility(subject, COMPATIBILITY))

    def _call(self, ask: Callable[[], T], patience_s: float | None = None) -> T | None:
        """None for what is not there."""
        patience = self._patience_s if patience_s is None else patience_s
        deadline = None if patience is None else time.monotonic() + patience
        told = False
        while True:
            try:
                return self._once(ask)
            except RegistryUnavailable as exc:
                if isinstance(exc, RegistryUntrusted) and not self._answered:
                    raise
                if self._closed.is_set() or (deadline and time.monotonic() + _PAUSE_S > deadline):
                    raise
                if not told:
                    log.warning("waiting for the schema registry: %s", exc.message)
                    told = True
            if self._closed.wait(_PAUSE_S):
                raise RegistryUnavailable(f"the registry at {self._name} is not asked any more")

    def _once(self, ask: Callable[[], T]) -> T | None:
        from confluent_kafka.schema_registry.error import SchemaRegistryError

        try:
            found = ask()
            self._answered = True
            return found
        except SchemaRegistryError as exc:
            self._answered = True
            if exc.http_status_code == 404:
                return None
            said = f"the registry at {self._name} says {exc.http_status_code}: {exc.error_message}"
            if exc.http_status_code in _LATER:
                raise RegistryUnavailable(said) from exc
            raise SchemasMismatch(said, advice="Look at the registry, and at its access.") from exc
        except Exception as exc:  # of the HTTP client below, which is the library's own affair
            kind = RegistryUntrusted if _is_tls(exc) else RegistryUnavailable
            raise kind(f"no registry answers at {self._name}: {exc}") from exc


def _is_tls(exc: BaseException | None) -> bool:
    while exc is not None and not isinstance(exc, ssl.SSLError):
        exc = exc.__cause__ or exc.__context__
    return exc is not None


def _json(text: str | None) -> Any:
    """None for what is no JSON."""
    try:
        return json.loads(text or "")
    except ValueError:
        return None


def _without_user(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
