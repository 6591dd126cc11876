"""`headrace demo`: a short story, told by a real system, that checks itself."""

from streams.demo.door import Door, HttpDoor
from streams.demo.stage import DemoFailed, Stage
from streams.demo.steps import STEPS, tell

__all__ = ["STEPS", "DemoFailed", "Door", "HttpDoor", "Stage", "tell"]
