"""The reference page on masking."""

from __future__ import annotations

import re

from streams.docs.masking import masking_page
from streams.masking import vocabulary
from streams.masking.rules import ALL


def test_every_rule_word_and_example_is_on_the_page() -> None:
    page = masking_page()
    assert re.findall(r"^### (\w+)$", page, re.MULTILINE) == [rule.name for rule in ALL]
    assert all(
        f"`{word}`" in page for word in (*vocabulary.SECRET_ENDINGS, *vocabulary.PUBLIC_ENDINGS)
    )
    assert all(example in page for rule in ALL for example in (*rule.masked, *rule.unmasked))
