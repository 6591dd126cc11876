"""Every route as a row of a table, without a web framework: HTTP, `query` and `play` share it."""

from streams.routes.handle import WAIT_S, Routes
from streams.routes.route import MOST_AT_ONCE, Route
from streams.routes.table import ROUTES

__all__ = ["MOST_AT_ONCE", "ROUTES", "WAIT_S", "Route", "Routes"]
