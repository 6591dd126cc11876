from __future__ import annotations

from tests.unit.views.conftest import bench
from tests.unit.views.sap.conftest import inbox_agent

__all__ = ["bench", "inbox_agent"]
