"""The endpoint of a request, found without the framework, whose way there costs more than it."""

from __future__ import annotations

from collections import defaultdict
from typing import Generic, TypeVar

Found = TypeVar("Found")


class Paths(Generic[Found]):
    """Templates by their number of segments; of two that fit, the one added first counts."""

    def __init__(self) -> None:
        self._templates: dict[int, list[tuple[list[str | None], dict[str, Found]]]] = defaultdict(
            list
        )

    def add(self, method: str, template: str, found: Found) -> None:
        """HEAD is answered like GET."""
        parts = [None if part.startswith("{") else part for part in template.split("/")]
        several = self._templates[len(parts)]
        methods = next((methods for own, methods in several if own == parts), None)
        if methods is None:
            methods = {}
            several.append((parts, methods))
        methods[method] = found
        if method == "GET":
            methods["HEAD"] = found

    def find(self, method: str, path: str) -> Found | None:
        """path: percent-encoded.  None when there is no such path, or not for this method."""
        given = path.split("/")
        for parts, methods in self._templates.get(len(given), ()):
            for own, part in zip(parts, given, strict=True):
                if own != part and (own is not None or not part):
                    break
            else:
                return methods.get(method)
        return None
