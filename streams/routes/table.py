"""All routes, and the matching of requests to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from streams.api.route import Produce, Query, ReplaceCommand, Route, SyncCommand
from streams.protocols.queries import QUERIES
from streams.routes import (
    agents,
    dead_letters,
    declared,
    effects,
    graph,
    log,
    overview,
    proofs,
    records,
    search,
    things,
    traces,
    transparency,
    verdicts,
)
from streams.views.parse import QueryError, QueryParams
from streams.views.positions import Position
from streams.views.query_params import AFTER, AS_OF, FRESH, Parameter

_FIRST, *_OTHERS = QUERIES
ROUTES: tuple[Route, ...] = (
    *_FIRST.routes,
    *graph.ROUTES,  # in documents it follows the lineage of APC
    *(route for side in _OTHERS for route in side.routes),
    *declared.ROUTES,
    *log.ROUTES,
    *overview.ROUTES,
    *verdicts.ROUTES,
    *agents.ROUTES,
    *search.ROUTES,
    *things.ROUTES,
    *traces.ROUTES,
    *dead_letters.ROUTES,
    *records.ROUTES,
    *effects.ROUTES,
    *proofs.ROUTES,
    *transparency.ROUTES,
)
INPUTS = tuple(
    dict.fromkeys(
        route.action.topic
        for route in ROUTES
        if isinstance(route.action, Produce | SyncCommand | ReplaceCommand)
    )
)
"""The topics that HTTP writes, and so the topics that `after` may name."""


class NoRoute(Exception):
    """An error for an unknown path, or a method not among `allowed`; empty for an unknown path."""

    def __init__(self, method: str, path: str, allowed: tuple[str, ...]) -> None:
        takes = f"{path} takes {', '.join(allowed)}, not {method}"
        super().__init__(takes if allowed else f"there is no {path}")
        self.allowed = allowed


class MatchedRoute(NamedTuple):
    """A request matched to its route.

    after: the position to wait for.  as_of: the text of the past moment to query.
    fresh: whether to wait for everything that the topics hold now.
    """

    route: Route
    ids: Mapping[str, str]
    params: QueryParams
    after: Position | None
    as_of: str | None = None
    fresh: bool = False


def match_request(route: Route, ids: Mapping[str, str], query: str) -> MatchedRoute:
    """Parse the query of a matched request.  Raises QueryError for one that the route rejects."""
    params = QueryParams(query, parameters_of(route))
    after = params.position() if route.reads else None
    as_of = params.text(AS_OF.name)
    fresh = route.reads and params.flag(FRESH.name)
    if as_of is not None and (after is not None or fresh):
        other = AFTER.name if after is not None else FRESH.name
        raise QueryError(AS_OF.name, f"not together with {other}: that one is about now")
    return MatchedRoute(route, ids, params, after, as_of, fresh)


def parameters_of(route: Route) -> tuple[Parameter, ...]:
    parameters = (*route.parameters, AFTER, FRESH) if route.reads else route.parameters
    if isinstance(route.action, Query) and not route.reads:
        parameters = (*parameters, FRESH)  # what reads no view is always fresh
    return (*parameters, AS_OF) if route.takes_as_of else parameters


def find(method: str, path: str) -> tuple[Route, dict[str, str]]:
    """Return the route and the ids in a percent-encoded path.  Raises NoRoute."""
    allowed = []
    for route in ROUTES:
        ids = match(route.template, path)
        if ids is not None and route.method == method:
            return route, ids
        if ids is not None:
            allowed.append(route.method)
    raise NoRoute(method, path, tuple(sorted(allowed)))


def match(template: str, path: str) -> dict[str, str] | None:
    """Return the ids in a percent-encoded path; None when it does not match the template."""
    names, parts = template.split("/"), path.split("/")
    if len(names) != len(parts):
        return None
    ids: dict[str, str] = {}
    for name, part in zip(names, parts, strict=True):
        if name.startswith("{"):
            try:
                ids[name[1:-1]] = unquote_to_bytes(part).decode()
            except UnicodeDecodeError:
                return None
        elif name != part:
            return None
    return ids


def check_after(position: Position, prefix: str, partitions: Mapping[str, int]) -> None:
    """Check the position that `?after=` names.  Raises QueryError for an impossible one.

    partitions: the partition count of each topic, by full name.
    """
    names = sorted(prefix + topic.name for topic in INPUTS)
    if position.topic not in names:
        raise QueryError("after", f"a position on one of {', '.join(names)}")
    if position.partition >= partitions.get(position.topic, 0):
        raise QueryError("after", f"{position.topic} has no partition {position.partition}")
