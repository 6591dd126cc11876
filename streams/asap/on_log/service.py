"""The service's own server: it hosts no agent, and its manifest describes it."""

from __future__ import annotations

from importlib.metadata import version

from schemas.asap import AuthScheme, Capability, Endpoint, Manifest
from streams.asap.auth import TokenValidator
from streams.asap.jsonrpc import PATH
from streams.asap.on_log.host import Host
from streams.asap.on_log.stream import LogStream
from streams.asap.registry import HandlerRegistry
from streams.asap.server import Server
from streams.protocols.asap.settings import AsapSettings

NAME = "headrace"
_DESCRIPTION = (
    "A governance log: decides envelopes between agents, keeps tasks and snapshots, and answers"
    " StateQuery and StateRestore."
)


def service_manifest(settings: AsapSettings, guarded: bool = False) -> Manifest:
    """Return the manifest of the service, whose endpoint is relative to the manifest's address.

    guarded: requests need a token.
    """
    return Manifest(
        id=settings.asap_service_urn,
        name=NAME,
        version=version("headrace"),
        description=_DESCRIPTION,
        capabilities=Capability(state_persistence=True),
        endpoints=Endpoint(asap=PATH),
        auth=AuthScheme(schemes=["bearer"]) if guarded else None,
    )


def service_server(
    settings: AsapSettings, host: Host, validator: TokenValidator | None = None
) -> Server:
    """Return the service's server.  validator: None if requests need no token."""
    manifest = service_manifest(settings, validator is not None)
    return Server(manifest, HandlerRegistry(), validator, LogStream(host))
