"""The route table of the gateway, in which each request is matched once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from streams.access.callers import AccessRule
from streams.gateway.endpoints import Endpoint
from streams.gateway.limits import EXEMPT


class RouteEntry(NamedTuple):
    """One method of one path template.

    endpoint: None where access is checked but nothing is served, such as a stream without a hub.
    exempt: its requests do not count towards the limit of concurrent requests.
    """

    template: str
    rule: AccessRule
    endpoint: Endpoint | None

    @property
    def exempt(self) -> bool:
        return self.template in EXEMPT


class RouteMatch(NamedTuple):
    """The match of one request.

    entry: None if no template fits, or none that fits has the method.
    fitting: the entries by method of each template that fits, up to that of the entry.
    segments: of the path, percent-encoded.
    """

    entry: RouteEntry | None
    fitting: Sequence[Mapping[str, RouteEntry]]
    segments: Sequence[str]

    @property
    def exempt(self) -> bool:
        return any(entry.exempt for entry in self._entries())

    @property
    def template(self) -> str:
        """Return the template that answers: of the entry, else the first that fits, else "none"."""
        if self.entry is not None and self.entry.endpoint is not None:
            return self.entry.template
        served = (entry.template for entry in self._entries() if entry.endpoint is not None)
        return next(served, "none")

    @property
    def endpoint(self) -> Endpoint | None:
        return None if self.entry is None else self.entry.endpoint

    def list_methods(self) -> tuple[str, ...]:
        """Return the methods that the path allows; empty if there is no such path."""
        methods = {
            method
            for entries in self.fitting
            for method, entry in entries.items()
            if entry.endpoint is not None
        }
        return tuple(sorted(methods | {"OPTIONS"})) if methods else ()

    def parse_ids(self) -> dict[str, str]:
        """Return the ids in the path.  Raises UnicodeDecodeError if one is not UTF-8."""
        assert self.entry is not None
        return {
            name[1:-1]: unquote_to_bytes(segment).decode()
            for name, segment in zip(self.entry.template.split("/"), self.segments, strict=True)
            if name.startswith("{")
        }

    def _entries(self) -> Iterator[RouteEntry]:
        return (entry for entries in self.fitting for entry in entries.values())


_REST = "/{path}"
"""The end of a template that fits every path which begins like it."""


class _Template(NamedTuple):
    """A path template.  parts: its segments, None for an id."""

    parts: list[str | None]
    entries: dict[str, RouteEntry]

    def fits(self, segments: list[str]) -> bool:
        for expected, segment in zip(self.parts, segments, strict=True):
            if expected != segment and (expected is not None or not segment):
                return False
        return True


class Paths:
    """A table of route entries by path template and method, grouped by number of segments.

    If several templates fit a path, the first one added that has the method is used.  A template
    that ends with `/{path}` fits all paths which begin like it and fit no other template.
    """

    def __init__(self) -> None:
        self._templates: dict[int, list[_Template]] = defaultdict(list)
        self._rests: dict[str, dict[str, RouteEntry]] = defaultdict(dict)

    def add(self, method: str, entry: RouteEntry) -> None:
        """Add an entry; that of GET is used for HEAD too."""
        if entry.template.endswith(_REST):
            entries = self._rests[entry.template.removesuffix(_REST) + "/"]
            entries.update(dict.fromkeys(_methods_of(method), entry))
            return
        parts = [None if part.startswith("{") else part for part in entry.template.split("/")]
        templates = self._templates[len(parts)]
        template = next((each for each in templates if each.parts == parts), None)
        if template is None:
            template = _Template(parts, {})
            templates.append(template)
        template.entries.update(dict.fromkeys(_methods_of(method), entry))

    def match(self, method: str, path: str) -> RouteMatch:
        """Match a percent-encoded path."""
        segments = path.split("/")
        fitting: list[Mapping[str, RouteEntry]] = []
        for template in self._templates.get(len(segments), ()):
            if template.fits(segments):
                fitting.append(template.entries)
                if entry := template.entries.get(method):
                    return RouteMatch(entry, fitting, segments)
        for beginning, entries in () if fitting else self._rests.items():
            if path.startswith(beginning):
                segments = [*beginning.split("/")[:-1], path.removeprefix(beginning)]
                return RouteMatch(entries.get(method), [entries], segments)
        return RouteMatch(None, fitting, segments)


def _methods_of(method: str) -> tuple[str, ...]:
    return ("GET", "HEAD") if method == "GET" else (method,)
