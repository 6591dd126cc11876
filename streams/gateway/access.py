"""What each route needs of a token: every route of the gateway, declared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from streams.access.callers import Role
from streams.api.route import Order, Produce, Route
from streams.asap import jsonrpc
from streams.gateway import registry
from streams.gateway.paths import Paths
from streams.gateway.sse.route import PATH as STREAM
from streams.ingress.senders import SENDERS
from streams.routes.table import ROUTES
from streams.summit.rpc import PATH as SUMMIT

ROLE_MISSING = "role_missing"


class Need(NamedTuple):
    """roles: one of which the token must have.  rule: of the refusal.

    own: the endpoint itself says who may do what, in words of its protocol.
    """

    roles: tuple[Role, ...]
    rule: str = ROLE_MISSING
    own: bool = False

    @property
    def is_open(self) -> bool:
        """For everybody, with or without a token."""
        return not self.roles


OPEN = Need(())
"""What shows nothing that anybody has sent."""
ANY_TOKEN = Need(tuple(Role))

OWN: Mapping[tuple[str, str], Need] = {
    ("GET", "/healthz"): OPEN,
    ("GET", "/readyz"): OPEN,
    ("GET", "/metrics"): OPEN,
    ("GET", "/openapi.json"): OPEN,
    ("GET", "/asyncapi.json"): OPEN,
    ("GET", STREAM): Need((Role.READER,)),
    ("POST", jsonrpc.PATH): Need((Role.PRODUCER,), own=True),
    ("GET", jsonrpc.METRICS_PATH): OPEN,
    ("GET", jsonrpc.MANIFEST_PATH): OPEN,
    ("POST", SUMMIT): Need((Role.PRODUCER, Role.READER)),
    **{("GET", path): OPEN for path in registry.READS},
    **{("POST", path): OPEN for path in registry.WRITES},
}
"""By method and path, the routes that are not in the table."""


def need_of(route: Route) -> Need:
    """Where only operators may, the protocol says by which rule others are refused."""
    role, action = route.needs, route.action
    if role is Role.OPERATOR and isinstance(action, Produce | Order):
        return Need((role,), SENDERS[action.topic].rule)
    return Need((role,))


def everything() -> Iterable[tuple[str, str, Need]]:
    """Method, path and need of each route."""
    for route in ROUTES:
        yield route.method, route.template, need_of(route)
    for (method, path), need in OWN.items():
        yield method, path, need


def needs() -> Paths[Need]:
    """To find them; a path that is not among them needs a token, too."""
    found: Paths[Need] = Paths()
    for method, path, need in everything():
        found.add(method, path, need)
    return found
