"""The scenario of `headrace demo`, which runs on a real system and checks itself."""

from streams.demo.context import DemoContext, DemoFailed
from streams.demo.steps import STEPS, tell
from streams.demo.system_client import HttpSystemClient, SystemClient

__all__ = ["STEPS", "DemoContext", "DemoFailed", "HttpSystemClient", "SystemClient", "tell"]
