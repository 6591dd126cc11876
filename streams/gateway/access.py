"""What each route needs of a token: every route of the gateway, declared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from streams.access.callers import OPEN, AccessRule, Role
from streams.api.route import Produce, Route, SyncCommand
from streams.gateway import registry
from streams.gateway.descriptions import DESCRIPTIONS
from streams.gateway.paths import Paths
from streams.gateway.sse.route import PATH as STREAM
from streams.ingress.senders import SENDERS
from streams.routes.table import ROUTES

ANY_TOKEN = AccessRule(tuple(Role))

OWN: Mapping[tuple[str, str], AccessRule] = {
    ("GET", "/healthz"): OPEN,
    ("GET", "/readyz"): OPEN,
    ("GET", "/metrics"): OPEN,
    ("GET", "/openapi.json"): OPEN,
    ("GET", "/asyncapi.json"): OPEN,
    ("GET", STREAM): AccessRule((Role.READER,)),
    **{at: need for each in DESCRIPTIONS for at, need in each.needs.items()},
    **{("GET", path): OPEN for path in registry.READS},
    **{("POST", path): OPEN for path in registry.WRITES},
}
"""By method and path, the routes that are not in the table."""


def need_of(route: Route) -> AccessRule:
    """Where only operators may, the protocol says by which rule others are refused."""
    role, action = route.needs, route.action
    if role is Role.OPERATOR and isinstance(action, Produce | SyncCommand):
        return AccessRule((role,), SENDERS[action.topic].rule)
    return AccessRule((role,))


def everything() -> Iterable[tuple[str, str, AccessRule]]:
    """Method, path and need of each route."""
    for route in ROUTES:
        yield route.method, route.template, need_of(route)
    for (method, path), need in OWN.items():
        yield method, path, need


def needs() -> Paths[AccessRule]:
    """To find them; a path that is not among them needs a token, too."""
    found: Paths[AccessRule] = Paths()
    for method, path, need in everything():
        found.add(method, path, need)
    return found
