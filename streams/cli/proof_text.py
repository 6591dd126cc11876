"""The proof of a fact for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.cli.cells import Cell
from streams.cli.text import Page


def show_proof(proof: Mapping[str, Any], page: Page) -> None:
    """Print a proof as `GET /v1/records/{topic}/{partition}/{offset}/proof` returns it."""
    rederived, sealed = proof["rederived"], proof["sealed"]
    holds = {"holds": True, "differs": False}.get(rederived["outcome"])
    words = {True: "derived again", False: "derived otherwise", None: "cannot be derived again"}
    page.line(page.check(holds), page.plain(words[holds]), page.message(rederived["detail"]))
    if proof["receipt"] is not None:
        command = page.plain(f"headrace audit prove {proof['position']}")
        page.line(page.check(True), page.plain("in the transparency log"), page.arrow, command)
    if sealed is None:
        if proof["receipt"] is None:
            page.line(page.check(None), page.plain("not sealed"))
        return
    valid = {"valid": True, "invalid": False}.get(sealed["signature"])
    cells = _describe_entry(sealed, page) if "index" in sealed else _describe_chain(sealed, page)
    signature = page.joined("signature", page.plain(sealed["signature"]))
    page.line(page.check(valid), *cells, signature)


def _describe_entry(sealed: Mapping[str, Any], page: Page) -> tuple[Cell, ...]:
    names = ", ".join(each["name"] for each in sealed["cosigners"]) or "nobody"
    return (
        page.joined("entry", page.number(sealed["index"]), "of", page.number(sealed["size"])),
        page.joined("log", page.plain(sealed["origin"])),
        page.joined("cosigned by", page.plain(names)),
    )


def _describe_chain(sealed: Mapping[str, Any], page: Page) -> tuple[Cell, ...]:
    return (
        page.joined("sealed by checkpoint", page.number(sealed["sequence"])),
        page.joined("key", page.id(sealed["key_id"])),
    )
