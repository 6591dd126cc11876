"""`python -m streams.gateway.openapi` prints the document of a gateway without any settings.

The types of the console are made from it, and `BUILD.json` records its hash.
"""

from __future__ import annotations

import json
import sys
from typing import cast

from fastapi import FastAPI

from streams.gateway.live_tail import TailHub, router
from streams.gateway.openapi import document
from streams.settings import Settings


def render() -> str:
    app = FastAPI()
    app.include_router(router(cast(TailHub, None)), tags=["rtes"])  # only described
    return json.dumps(document(Settings(), app), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(render())
