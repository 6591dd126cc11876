"""`headrace demo`: a short story, told by a real system, that checks itself."""

from streams.demo.door import HttpSystemClient, SystemClient
from streams.demo.stage import DemoContext, DemoFailed
from streams.demo.steps import STEPS, tell

__all__ = ["STEPS", "DemoContext", "DemoFailed", "HttpSystemClient", "SystemClient", "tell"]
