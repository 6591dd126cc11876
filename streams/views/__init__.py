"""Read-only copies of what the service wrote, and the queries over them."""

from streams.views.live import LiveView
from streams.views.params import Params, QueryError, parse_position
from streams.views.positions import Position, ViewBehind
from streams.views.reads import Reads
from streams.views.status import ViewStats, ViewStatus
from streams.views.view import View

__all__ = [
    "LiveView",
    "Params",
    "Position",
    "QueryError",
    "Reads",
    "View",
    "ViewBehind",
    "ViewStats",
    "ViewStatus",
    "parse_position",
]
