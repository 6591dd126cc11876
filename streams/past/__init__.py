"""Looking back: what one thing was at a point of the log, folded from its facts up to there.

A query over one thing is answered from the view as always, but for the rows of that thing: those
are overlaid with what its facts come to, and what was decided later is hidden.
"""

from streams.past import apc, asap, saop, sap, summit
from streams.past.looking import Looking
from streams.past.overlay import Overlay, Rows
from streams.past.point import NAME, AsOf, point

__all__ = [
    "NAME",
    "AsOf",
    "Looking",
    "Overlay",
    "Rows",
    "apc",
    "asap",
    "point",
    "saop",
    "sap",
    "summit",
]
