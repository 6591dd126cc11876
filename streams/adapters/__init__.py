"""Agents that are written with other libraries, as agents of Summit (docs/adapters.md).

Each module makes a handler for `serve_agent` of what its library calls an agent, and needs the
extra of its name.  This package loads none of these libraries.
"""

from __future__ import annotations

from streams.adapters.metering import Price, PriceUnknown, UsageMissing

__all__ = ["Price", "PriceUnknown", "UsageMissing"]
