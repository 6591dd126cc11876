"""From JSON to records on the log: what HTTP, the command line and `play` do alike."""

from streams.edges.encode import EDGES, Edge, as_it_is, edge_of, to_output
from streams.edges.kinds import KINDS, Kind, check, kind_of
from streams.edges.lines import Unparsed, read_value, read_values
from streams.edges.masked import Blocks

__all__ = [
    "EDGES",
    "KINDS",
    "Blocks",
    "Edge",
    "Kind",
    "Unparsed",
    "as_it_is",
    "check",
    "edge_of",
    "kind_of",
    "read_value",
    "read_values",
    "to_output",
]
