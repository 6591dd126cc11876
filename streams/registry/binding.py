"""What a process does about the schema registry, if one is set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from schemas import use_ids
from streams.registry.client import Registry
from streams.registry.ids import RegistryIds
from streams.registry.register import Told, register
from streams.settings.connection import ConnectionSettings

COMMAND_S = 30.0
"""How long a command waits for the registry."""


@contextmanager
def bound(
    settings: ConnectionSettings, patience_s: float | None = None
) -> Iterator[RegistryIds | None]:
    """Values are framed with the registry's ids, and read by them, for as long as this lasts.

    patience_s: how long to wait for the registry whenever it is asked; None: for ever.
    Without a registry nothing changes, and there is nothing to get.
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


def register_schemas(settings: ConnectionSettings, told: Told) -> None:
    """With the registry that is set, if one is.  Raises RegistryUnavailable, SchemasMismatch."""
    if settings.schema_registry_url is not None:
        tls = settings.registry_tls()
        with closing(Registry(settings.schema_registry_url, COMMAND_S, tls)) as registry:
            register(registry, settings.prefix, told)
