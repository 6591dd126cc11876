"""The use of a schema registry by a process, if one is set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from schemas import use_ids
from streams.registry.client import Registry
from streams.registry.ids import RegistryIds
from streams.registry.register import Report, register
from streams.settings.connection import ConnectionSettings

COMMAND_S = 30.0
"""How long a command retries its requests to the registry."""


@contextmanager
def use_registry(
    settings: ConnectionSettings, patience_s: float | None = None
) -> Iterator[RegistryIds | None]:
    """Frame and read values with the registry's ids while the context is open.

    patience_s: how long each request retries; None: without limit. Without a registry nothing
    changes, and the context yields None.
    """
    if settings.schema_registry_url is None:
        yield None
        return
    registry = Registry(settings.schema_registry_url, patience_s, settings.registry_tls())
    ids = RegistryIds(registry, settings.prefix)
    use_ids(ids)
    try:
        yield ids
    finally:
        use_ids(None)
        ids.close()


def register_schemas(settings: ConnectionSettings, on_registered: Report) -> None:
    """Register the catalogue's schemas at the configured registry, if there is one.

    Raises RegistryUnavailable, SchemasMismatch.
    """
    if settings.schema_registry_url is not None:
        tls = settings.registry_tls()
        with closing(Registry(settings.schema_registry_url, COMMAND_S, tls)) as registry:
            register(registry, settings.prefix, on_registered)
