"""The hashes of a run, computed anew from the records that its evidence names (Summit 6.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from schemas import Undecodable, canonical_json, decode, summit
from schemas.summit.words import CALL_RECORD, INVOKE, MANIFEST_RECORD, REPLY_RECORD
from streams.engine.records import Record
from streams.views.values import Json
from topology.summit import SUMMIT_AGENTS

OK, MISMATCH, MISSING = "ok", "mismatch", "missing"
Fetch = Callable[[str], Record | None]
Kept = Callable[[str, str], Json | None]
"""Of an agent and a version."""


class Check(NamedTuple):
    """result: `missing` when a record is not there any more.  found: None then, and when the
    record has nothing that could be hashed.  source: what was read.
    """

    check: str
    result: str
    expected: str
    found: str | None
    source: str


class _Source(NamedTuple):
    """value: its JSON, None for a record of another kind.  hash: of the whole."""

    place: str
    value: Json | None = None
    hash: str | None = None
    is_there: bool = True


def checks(run: Json, fetch: Fetch, kept: Kept) -> list[Check]:
    """run: with its evidence.  fetch: reads the record at a position.  kept: the manifest in the
    row of its version, for one that is not on its topic any more.
    """
    evidence = run["evidence"]
    return [
        Check(name, _result(evidence[name], found, of), evidence[name], found, of[0].place)
        for name, found, of in _found(run, fetch, kept)
        if evidence[name] is not None
    ]


def _result(expected: str, found: str | None, of: Sequence[_Source]) -> str:
    if not all(source.is_there for source in of):
        return MISSING
    return OK if found == expected else MISMATCH


def _found(
    run: Json, fetch: Fetch, kept: Kept
) -> Iterator[tuple[str, str | None, Sequence[_Source]]]:
    """Each hash by name, and what it was computed from."""
    evidence = run["evidence"]
    call = _read(fetch, evidence["callPosition"], CALL_RECORD, summit.judge_call)
    manifest = _manifest(run, fetch, kept)
    yield "callHash", call.hash, [call]
    yield "inputHash", _input_hash(run, call.value, manifest.value), [call, manifest]
    yield "manifestHash", manifest.hash, [manifest]
    if evidence["replyPosition"] is not None:
        reply = _read(fetch, evidence["replyPosition"], REPLY_RECORD, summit.judge_reply)
        yield "replyHash", reply.hash, [reply]
        output = None if reply.value is None else _output_hash(reply.value)
        yield "outputHash", output, [reply]


def _read(fetch: Fetch, position: str, name: str, judge: Callable[[Any], Any]) -> _Source:
    record = fetch(position)
    if record is None:
        return _Source(position, is_there=False)
    try:
        judged = judge(decode(record.value or b"", name).value)
    except Undecodable:
        return _Source(position)
    return _Source(position, judged.json, judged.hash)


def _manifest(run: Json, fetch: Fetch, kept: Kept) -> _Source:
    evidence = run["evidence"]
    found = _read(fetch, evidence["manifestPosition"], MANIFEST_RECORD, summit.judge_manifest)
    if found.is_there:
        return found
    manifest = kept(run["agentId"], evidence["manifestVersion"])
    if manifest is None:
        return found
    return _Source(SUMMIT_AGENTS.name, manifest, summit.manifest_hash(manifest))


def _input_hash(run: Json, call: Json | None, manifest: Json | None) -> str | None:
    """Of what was sent, with the defaults of the schema that it was held to."""
    if call is None or manifest is None:
        return None
    try:
        given, schema = _held(run, call["params"], manifest["spec"])
        filled = summit.schema_of(_text(schema)).filled(given)
    except (LookupError, ValueError):  # another call or another manifest than the run's
        return None
    return str(summit.json_hash(filled))


def _held(run: Json, params: Json, spec: Json) -> tuple[Json, Json]:
    """What a call gives, and the schema of that.  Raises KeyError for another kind of call."""
    if run["kind"] == INVOKE:
        return params["inputs"], spec["interface"]["inputSchema"]
    tools = {tool["name"]: tool for tool in spec.get("tools", ())}
    return params["toolCall"]["arguments"], tools[run["toolName"]]["arguments"]


def _text(schema: Any) -> str:
    return canonical_json(schema).decode()


def _output_hash(reply: Json) -> str | None:
    return str(summit.json_hash(reply["output"])) if "output" in reply else None
