"""The endpoints of the console, by method and path."""

from __future__ import annotations

from collections.abc import Iterator

from streams.doors.console.description import ALL_BELOW, REDIRECTS, SESSION
from streams.doors.console.serve import Site, make_page, make_redirect
from streams.doors.console.session import Sessions
from streams.doors.console.sign_in import make_sign_in, make_sign_out
from streams.doors.console.views import PATH, ViewsFile, make_list
from streams.gateway.context import Gateway
from streams.gateway.endpoints import Endpoint
from streams.settings import Settings


def make_sessions(gateway: Gateway) -> Sessions | None:
    """Return the sessions of a gateway; None without tokens, or without a console."""
    if gateway.tokens is None or gateway.settings.console == "off":
        return None
    return Sessions(gateway.tokens, gateway.settings)


def make_endpoints(
    gateway: Gateway, sessions: Sessions | None
) -> Iterator[tuple[str, str, Endpoint]]:
    """Yield the method, path and endpoint of each.  Raises ViewsInvalid."""
    yield "GET", PATH, make_list(read_views_file(gateway.settings))
    if gateway.settings.console == "off":
        return
    for path in REDIRECTS:
        yield "GET", path, make_redirect()
    yield "GET", ALL_BELOW, make_page(Site(gateway.settings.console_dir))
    yield "POST", SESSION, make_sign_in(sessions)
    yield "DELETE", SESSION, make_sign_out(sessions)


def read_views_file(settings: Settings) -> ViewsFile | None:
    """Return the file of saved views, if one is set.  Raises ViewsInvalid."""
    return None if settings.console_views is None else ViewsFile(settings.console_views)
