"""Read-only copies of what the service wrote, and the queries over them."""

from streams.views.params import Params, QueryError, parse_position
from streams.views.view import Position, View, ViewBehind

__all__ = ["Params", "Position", "QueryError", "View", "ViewBehind", "parse_position"]
