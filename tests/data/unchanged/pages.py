"""What people read, and the documents that describe the interfaces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

from fastapi import FastAPI

from streams import docs
from streams.api import asyncapi
from streams.docs import dashboard, policy_files
from streams.gateway import openapi
from streams.gateway.live_tail import TailHub, router
from streams.settings import Settings
from tests.data.unchanged.commands import show_help
from tests.data.unchanged.manifest import Texts


def render() -> Texts:
    app = FastAPI()
    app.include_router(router(cast(TailHub, None)), tags=["rtes"])
    safe = Settings(tokens=Path("tokens.json"))
    return {
        **{f"reference/{name}": text for name, text in docs.render().items()},
        **show_help(),
        "dashboard.json": dashboard.text(),
        "policy/bundle.schema.json": policy_files.schema_text(),
        "openapi.json": _indented(openapi.text(Settings(), app)),
        "openapi-with-tokens.json": _indented(openapi.text(safe, app)),
        "asyncapi.json": _indented(asyncapi.text(Settings())),
    }


def _indented(text: bytes) -> str:
    """The same document, its members in the same order, on many lines."""
    return json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n"
