"""The page's lists, of kinds with `as_of` and of hidden topics, are those of the service."""

from __future__ import annotations

import re
from pathlib import Path

from streams.log.records import is_hidden
from streams.routes.things import KINDS
from topology import topics

SOURCE = Path(__file__).parents[4] / "web" / "src" / "protocols" / "kinds.ts"


def test_the_page_looks_back_at_each_kind_that_can_be_looked_back_at() -> None:
    with_as_of = {kind for kind, query in KINDS.items() if query.past is not None}
    assert read_list("KINDS_WITH_AS_OF") == with_as_of - {"trace"}


def test_the_page_asks_for_no_record_of_a_hidden_topic() -> None:
    hidden = {topic.name for topic in topics.BY_NAME.values() if is_hidden(topic)}
    assert read_list("HIDDEN_TOPICS") == hidden


def read_list(name: str) -> set[str]:
    """Return the texts of a list in the page's source."""
    listed = re.search(rf"{name}\b[^\[]*\[(.*?)\]", SOURCE.read_text(), re.DOTALL)
    assert listed
    return set(re.findall(r'"([^"]+)"', listed[1]))
