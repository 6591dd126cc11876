from __future__ import annotations

from tests.unit.protocols.sap.queries.conftest import inbox_agent
from tests.unit.views.conftest import bench

__all__ = ["bench", "inbox_agent"]
