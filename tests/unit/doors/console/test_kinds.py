"""The page looks back at things of the kinds whose routes have `as_of`, and at no others."""

from __future__ import annotations

import re
from pathlib import Path

from streams.routes.things import KINDS

SOURCE = Path(__file__).parents[4] / "web" / "src" / "protocols" / "kinds.ts"


def test_the_page_looks_back_at_each_kind_that_can_be_looked_back_at() -> None:
    listed = re.search(r"KINDS_WITH_AS_OF.*?\[(.*?)\]", SOURCE.read_text(), re.DOTALL)
    assert listed
    with_as_of = {kind for kind, query in KINDS.items() if query.past is not None}
    assert {*re.findall(r'"([a-z:]+)"', listed[1])} == with_as_of - {"trace"}
