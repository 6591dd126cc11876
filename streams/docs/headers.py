"""The page on record headers."""

from __future__ import annotations

from collections.abc import Iterable

from streams.docs.markdown import code, codes, grid
from topology import topics
from topology.declarations import Header, Topic
from topology.headers import common_of


def headers_page() -> str:
    """Return the page of headers; topics whose records have the same headers share a section."""
    alike: dict[tuple[Header, ...], list[Topic]] = {}
    for topic in topics.ALL:
        alike.setdefault(common_of(topic), []).append(topic)
    rows = [(code(t.name), code(h.name), h.meaning) for t in topics.ALL for h in t.headers]
    return (
        "# Headers\n\n"
        "The headers of the records of each topic; the AsyncAPI document describes them as JSON\n"
        "Schema. Values are UTF-8 text unless the table says otherwise. Records of clients may\n"
        "have other headers: they are ignored, and dead letters keep those that are not secret.\n"
        + "".join(_section(same, headers) for headers, same in alike.items() if headers)
        + f"\n## Additional headers of single topics\n\n{grid(('topic', 'header', 'value'), rows)}"
    )


def _section(same: Iterable[Topic], headers: Iterable[Header]) -> str:
    kinds = dict.fromkeys(topic.kind.value for topic in same)
    rows = ((code(h.name), h.meaning, "" if h.optional else "yes") for h in headers)
    return (
        f"\n## {' and '.join(kinds).capitalize()}\n\nOn {codes(topic.name for topic in same)}.\n\n"
        f"{grid(('header', 'value', 'always there'), rows)}"
    )
