"""One record for people: where it lies, its headers and value, what came of it, and its proof."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from streams.cli import common
from streams.cli.cells import Row
from streams.cli.proof_text import show_proof
from streams.cli.text import Page
from streams.settings import Settings

Json = Mapping[str, Any]
_POSITION = re.compile(r"[A-Za-z0-9._-]+/[0-9]+/[0-9]+")


def is_position(name: str) -> bool:
    """Return whether a name has the form of a position, TOPIC/PARTITION/OFFSET."""
    return _POSITION.fullmatch(name) is not None


def ask_record(position: str, query: str, settings: Settings) -> Json:
    """Return a record, what came of it, and, of a fact, its proof; the last two may be None."""
    from topology.declarations import TopicKind
    from topology.topics import BY_NAME

    record: Json = common.ask(f"/v1/records/{position}", query, settings)
    topic = BY_NAME.get(record["topic"].removeprefix(settings.prefix))
    if topic is not None and topic.kind is TopicKind.FACT:
        return {"record": record, "effects": None, "proof": ask_proof(position, settings)}
    return {"record": record, "effects": ask_effects(position, settings), "proof": None}


def ask_effects(position: str, settings: Settings) -> Json:
    """Return what came of the record at a position."""
    effects: Json = common.ask(f"/v1/records/{position}/effects", "", settings)
    return effects


def ask_proof(position: str, settings: Settings) -> Json:
    """Return the proof of the fact at a position."""
    proof: Json = common.ask(f"/v1/records/{position}/proof", "", settings)
    return proof


def show_record(answer: Json, page: Page) -> None:
    """Print what `ask_record` returns."""
    record, effects, proof = (answer[name] for name in ("record", "effects", "proof"))
    page.line(
        page.plain(record["position"], "bold"),
        page.time(record["timestamp"]),
        page.joined(page.number(record["size"]), "bytes"),
    )
    page.line(page.joined("key", page.plain(record["key"])))
    if record["schema"] is not None:
        name, number = record["schema"]["name"], record["schema"]["id"]
        page.line(page.joined("schema", page.plain(name), "id", page.plain(str(number))))
    if record["headers"]:
        _show_part("headers", record["headers"], page)
    _show_part("value", record["value"], page)
    if "value_base64" in record:
        page.line(page.joined("bytes", page.plain(record["value_base64"])))
    if effects is not None:
        _show_effects(effects, page)
    if proof is not None:
        page.line(page.plain("proof", "bold"))
        show_proof(proof, page)


def _show_part(title: str, part: Any, page: Page) -> None:
    page.line(page.plain(title, "bold"))
    if isinstance(part, Mapping):
        page.members(part, indent=2)
    else:
        page.line(page.message(part), indent=2)


def _show_effects(effects: Json, page: Page) -> None:
    page.line(page.plain("what came of it", "bold"))
    if not effects["decided"]:
        page.line(page.plain("nothing so far"), indent=2)
        return
    show_judgements(effects["verdicts"], page)
    for title in ("facts", "messages"):
        if effects[title]:
            page.line(title, page.message(effects[title]), indent=2)
    if effects["edges"]:
        page.line("edges", page.number(len(effects["edges"])), indent=2)


def show_judgements(verdicts: Sequence[Json], page: Page) -> None:
    """Print verdicts on a record, each with its rule, its fact and its message."""
    rows = [
        Row(
            [
                page.verdict(each["verdict"]),
                page.plain(each["rule"]),
                page.plain(each["fact"]),
            ],
            note=page.message(each["message"], "dim") if each["message"] else None,
        )
        for each in verdicts
    ]
    if rows:
        page.table(("verdict", "rule", "fact"), rows, indent=2)
