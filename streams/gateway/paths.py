"""A lookup of endpoints by path, which is faster than the framework's routing."""

from __future__ import annotations

from collections import defaultdict
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Paths(Generic[Value]):
    """A table of values by path template and method, grouped by number of segments.

    If two templates match a path, the one added first is used.
    """

    def __init__(self) -> None:
        self._templates: dict[int, list[tuple[list[str | None], dict[str, Value]]]] = defaultdict(
            list
        )

    def add(self, method: str, template: str, value: Value) -> None:
        """Add a value; a GET value is used for HEAD too."""
        parts = [None if part.startswith("{") else part for part in template.split("/")]
        templates = self._templates[len(parts)]
        methods = next(
            (methods for template_parts, methods in templates if template_parts == parts), None
        )
        if methods is None:
            methods = {}
            templates.append((parts, methods))
        methods[method] = value
        if method == "GET":
            methods["HEAD"] = value

    def find(self, method: str, path: str) -> Value | None:
        """Return the value for a percent-encoded path.

        Return None if there is no such path, or if the path does not have the method.
        """
        segments = path.split("/")
        for parts, methods in self._templates.get(len(segments), ()):
            for expected, segment in zip(parts, segments, strict=True):
                if expected != segment and (expected is not None or not segment):
                    break
            else:
                return methods.get(method)
        return None
