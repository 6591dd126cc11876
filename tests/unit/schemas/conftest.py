"""Property tests are judged by what they find, not by how busy the machine is."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from tests.unit.schemas.codecs import each_codec

__all__ = ["each_codec"]

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
