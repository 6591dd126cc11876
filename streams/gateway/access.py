"""The access rules of all routes of the gateway: the role that each requires of a token."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from streams.access.callers import IDENTIFYING, OPEN, AccessRule, Role
from streams.api.route import Produce, Route, SyncCommand
from streams.gateway import registry
from streams.gateway.descriptions import DESCRIPTIONS
from streams.gateway.endpoints import Endpoint
from streams.gateway.live_tail.route import PATH as STREAM
from streams.gateway.paths import Paths, RouteEntry
from streams.ingress.senders import SENDERS
from streams.routes.table import ROUTES

ANY_TOKEN = AccessRule(tuple(Role))

EXTRA_ROUTES: Mapping[tuple[str, str], AccessRule] = {
    ("GET", "/healthz"): OPEN,
    ("GET", "/readyz"): OPEN,
    ("GET", "/metrics"): OPEN,
    ("GET", "/v1/service"): IDENTIFYING,
    ("GET", "/openapi.json"): OPEN,
    ("GET", "/asyncapi.json"): OPEN,
    ("GET", STREAM): AccessRule((Role.READER,)),
    **{at: need for each in DESCRIPTIONS for at, need in each.needs.items()},
    **{("GET", path): OPEN for path in registry.READS},
    **{("POST", path): OPEN for path in registry.WRITES},
}
"""Rules of the routes that are not in the route table, by method and path."""


def get_access_rule(route: Route) -> AccessRule:
    """Return the access rule of a route.

    For a command that only operators may send, it names the rule by which others are refused.
    """
    if route.open:
        return OPEN
    role, action = route.needs, route.action
    if role is Role.OPERATOR and isinstance(action, Produce | SyncCommand):
        return AccessRule((role,), SENDERS[action.topic].rule)
    return AccessRule((role,))


def list_access_rules() -> Iterable[tuple[str, str, AccessRule]]:
    """Yield the method, path and access rule of each route."""
    for route in ROUTES:
        yield route.method, route.template, get_access_rule(route)
    for (method, path), need in EXTRA_ROUTES.items():
        yield method, path, need


def index_routes(
    endpoints: Mapping[tuple[str, str], Endpoint], open_paths: Collection[str] = ()
) -> Paths:
    """Return the route table: the access rule of each method and path, and its endpoint if any.

    open_paths: need no token, whatever their rule says.  A path that is not in the table needs any
    token.  Raises AssertionError for an endpoint without a rule.
    """
    rules = {(method, path): rule for method, path, rule in list_access_rules()}
    assert endpoints.keys() <= rules.keys(), "every endpoint needs an access rule"
    paths = Paths()
    for (method, path), rule in rules.items():
        applied = OPEN if path in open_paths else rule
        paths.add(method, RouteEntry(path, applied, endpoints.get((method, path))))
    paths.add("HEAD", RouteEntry(STREAM, rules["GET", STREAM], None))  # it would not end
    return paths
