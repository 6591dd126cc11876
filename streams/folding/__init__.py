"""Rows made of facts again: what `?as_of=` shows and `headrace verify` compares.

One file per table; each takes facts in their order and gives the row that they come to.
"""

from streams.folding import apc, asap, saop, sap, summit
from streams.folding.folding import OWN, CommandGone, Commands, Folding, Row, shown

ALL = (apc.FOLDING, saop.FOLDING, sap.FOLDING, asap.FOLDING, summit.FOLDING)

__all__ = ["ALL", "OWN", "CommandGone", "Commands", "Folding", "Row", "shown"]
