"""Endpoints are found as the framework would find them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import Response
from starlette.routing import Match, Route

from streams.access.callers import OPEN
from streams.api.route import Route as Declared
from streams.gateway.access import index_routes
from streams.gateway.live_tail.route import PATH as STREAM
from streams.gateway.paths import Paths, RouteEntry
from streams.routes.table import ROUTES

SEGMENTS = sorted({part for route in ROUTES for part in route.template.split("/")} - {""})


async def endpoint(_: object) -> Response:
    """Never called."""
    raise AssertionError


FRAMEWORK = [
    Route(route.template, endpoint, methods=[route.method], name=route.name) for route in ROUTES
]
PATHS = Paths()
NAMES = {(route.method, route.template): route.name for route in ROUTES}
for _route in ROUTES:
    PATHS.add(_route.method, RouteEntry(_route.template, OPEN, endpoint))


def by_table(method: str, path: str) -> str | None:
    entry = PATHS.match(method, path).entry
    return entry and NAMES["GET" if method == "HEAD" else method, entry.template]


def by_framework(method: str, path: str) -> str | None:
    scope = {"type": "http", "path": path, "method": method, "root_path": ""}
    fits = (route.name for route in FRAMEWORK if route.matches(scope)[0] is Match.FULL)
    return next(fits, None)


def test_every_route_is_found() -> None:
    for route in ROUTES:
        path = route.template.replace("{", "%7B").replace("}", "%2F")
        assert by_table(route.method, path) == route.name
        assert by_table("PATCH", path) is None
        if route.method == "GET":
            assert by_table("HEAD", path) == route.name


@given(
    method=st.sampled_from(["GET", "HEAD", "POST", "DELETE"]),
    parts=st.lists(st.sampled_from(SEGMENTS) | st.sampled_from(["", "%2F", "x", "."]), max_size=8),
)
def test_it_finds_what_the_framework_finds(method: str, parts: list[str]) -> None:
    path = "/" + "/".join(parts)
    assert by_table(method, path) == by_framework(method, path)


@given(
    route=st.sampled_from(ROUTES),
    place=st.integers(0, 8),
    other=st.sampled_from(["", "%2F", "x", "packets", "rewinds"]),
    method=st.sampled_from(["GET", "HEAD", "POST"]),
)
def test_it_finds_what_is_nearly_a_route(
    route: Declared, place: int, other: str, method: str
) -> None:
    parts = route.template.split("/")
    if place < len(parts):
        parts[place] = other
    path = "/".join(parts)
    assert by_table(method, path) == by_framework(method, path)


def overlapping() -> Paths:
    """A table in which two templates fit the path /a/b."""
    paths = Paths()
    paths.add("GET", RouteEntry("/a/{id}", OPEN, endpoint))
    paths.add("POST", RouteEntry("/a/b", OPEN, endpoint))
    return paths


def test_a_template_without_the_method_gives_way_to_a_later_one() -> None:
    assert overlapping().match("GET", "/a/b").template == "/a/{id}"
    match = overlapping().match("POST", "/a/b")
    assert match.template == "/a/b"
    assert match.parse_ids() == {}


def test_allowed_are_the_methods_of_all_templates_that_fit() -> None:
    match = overlapping().match("PATCH", "/a/b")
    assert match.entry is None
    assert match.list_methods() == ("GET", "HEAD", "OPTIONS", "POST")
    assert match.template == "/a/{id}", "the metrics name the first that fits"
    nowhere = overlapping().match("PATCH", "/b")
    assert (nowhere.list_methods(), nowhere.template) == ((), "none")


def test_the_live_tail_has_a_rule_without_a_hub_and_takes_no_head() -> None:
    absent = index_routes({}).match("GET", STREAM)
    assert absent.entry is not None
    assert (absent.endpoint, absent.template, absent.list_methods()) == (None, "none", ())
    paths = index_routes({("GET", STREAM): endpoint})
    assert paths.match("GET", STREAM).endpoint is endpoint
    head = paths.match("HEAD", STREAM)
    assert (head.endpoint, head.template) == (None, STREAM)
    assert head.list_methods() == ("GET", "OPTIONS")
    assert head.exempt
