"""Endpoints are found as the framework would find them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from starlette.routing import Match, Route

from streams.api.route import Route as Declared
from streams.gateway.paths import Paths
from streams.routes.table import ROUTES

SEGMENTS = sorted({part for route in ROUTES for part in route.template.split("/")} - {""})


async def endpoint(_: object) -> None:
    """Never called."""


FRAMEWORK = [
    Route(route.template, endpoint, methods=[route.method], name=route.name) for route in ROUTES
]
DIRECT: Paths[str] = Paths()
for _route in ROUTES:
    DIRECT.add(_route.method, _route.template, _route.name)


def by_framework(method: str, path: str) -> str | None:
    scope = {"type": "http", "path": path, "method": method, "root_path": ""}
    fits = (route.name for route in FRAMEWORK if route.matches(scope)[0] is Match.FULL)
    return next(fits, None)


def test_every_route_is_found() -> None:
    for route in ROUTES:
        path = route.template.replace("{", "%7B").replace("}", "%2F")
        assert DIRECT.find(route.method, path) == route.name
        assert DIRECT.find("PATCH", path) is None
        if route.method == "GET":
            assert DIRECT.find("HEAD", path) == route.name


@given(
    method=st.sampled_from(["GET", "HEAD", "POST", "DELETE"]),
    parts=st.lists(st.sampled_from(SEGMENTS) | st.sampled_from(["", "%2F", "x", "."]), max_size=8),
)
def test_it_finds_what_the_framework_finds(method: str, parts: list[str]) -> None:
    path = "/" + "/".join(parts)
    assert DIRECT.find(method, path) == by_framework(method, path)


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
    assert DIRECT.find(method, path) == by_framework(method, path)
