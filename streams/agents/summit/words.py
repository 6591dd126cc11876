"""`word-stats`: counts words, and makes slugs; what it says follows from the text alone."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from streams.summit.serving.run import Run

Json = dict[str, Any]


def counted(text: str, top: int) -> Json:
    """Count the words and return the most frequent ones; ties are in alphabetical order."""
    words = text.lower().split()
    ranked = sorted(Counter(words).items(), key=lambda item: (-item[1], item[0]))
    return {"words": len(words), "top": [word for word, _ in ranked[:top]]}


async def count(inputs: Json, run: Run) -> Json:
    return counted(inputs["text"], inputs["top"])


async def slugify(arguments: Json, run: Run) -> str:
    return "-".join(re.findall(r"[a-z0-9]+", arguments["title"].lower()))
