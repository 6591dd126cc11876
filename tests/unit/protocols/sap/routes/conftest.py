from __future__ import annotations

from tests.unit.gateway.conftest import gateway, guarded

__all__ = ["gateway", "guarded"]
