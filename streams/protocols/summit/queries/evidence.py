"""The hashes of a run, computed again from the records in its evidence (Summit guide, 6.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from schemas import Undecodable, canonical_json, decode, summit
from schemas.summit.words import CALL_RECORD, INVOKE, MANIFEST_RECORD, REPLY_RECORD
from streams.engine.log import Log
from streams.engine.records import Record
from streams.log import fetching
from streams.protocols.summit.queries import runs
from streams.protocols.summit.queries.agents import manifest_reader
from streams.views.reads import ReadOnlyStore
from streams.views.values import Json
from topology.summit import SUMMIT_AGENTS

OK, MISMATCH, MISSING = "ok", "mismatch", "missing"
Fetch = Callable[[str], Record | None]
ManifestOf = Callable[[str, str], Json | None]
"""A function that reads the manifest of an agent and a version, None if it is unknown."""


class Check(NamedTuple):
    """The comparison of one hash.

    result: `missing` if the record is gone.  found: None then, and without anything to hash.
    source: the position or the topic that was read.
    """

    check: str
    result: str
    expected: str
    found: str | None
    source: str


class _Source(NamedTuple):
    """A record that hashes are computed from.

    value: its JSON, None for a record of another type.  hash: that of the whole.
    """

    position: str
    value: Json | None = None
    hash: str | None = None
    exists: bool = True


def run_checks(view: ReadOnlyStore, log: Log, run_id: str) -> Json:
    """Return the checks of a run, for which its records are read.  Raises NotFound."""
    results = checks(runs.run(view, run_id), fetching.records_of(log), manifest_reader(view))
    return {"runId": run_id, "checks": [check._asdict() for check in results]}


def checks(run: Json, fetch: Fetch, manifest_of: ManifestOf) -> list[Check]:
    """Compute the hashes of a run again, and compare them with its evidence.

    fetch: reads the record at a position.  manifest_of: reads the manifest from the row of its
    version, if its record is gone.
    """
    evidence = run["evidence"]
    return [
        Check(
            name,
            _result(evidence[name], computed, sources),
            evidence[name],
            computed,
            sources[0].position,
        )
        for name, computed, sources in _computed_hashes(run, fetch, manifest_of)
        if evidence[name] is not None
    ]


def _result(expected: str, computed: str | None, sources: Sequence[_Source]) -> str:
    if not all(source.exists for source in sources):
        return MISSING
    return OK if computed == expected else MISMATCH


def _computed_hashes(
    run: Json, fetch: Fetch, manifest_of: ManifestOf
) -> Iterator[tuple[str, str | None, Sequence[_Source]]]:
    """Yield the name of each hash, its computed value, and the sources of that."""
    evidence = run["evidence"]
    call = _read_source(fetch, evidence["callPosition"], CALL_RECORD, summit.judge_call)
    manifest = _manifest_source(run, fetch, manifest_of)
    yield "callHash", call.hash, [call]
    yield "inputHash", _input_hash(run, call.value, manifest.value), [call, manifest]
    yield "manifestHash", manifest.hash, [manifest]
    if evidence["replyPosition"] is not None:
        reply = _read_source(fetch, evidence["replyPosition"], REPLY_RECORD, summit.judge_reply)
        yield "replyHash", reply.hash, [reply]
        output = None if reply.value is None else _output_hash(reply.value)
        yield "outputHash", output, [reply]


def _read_source(fetch: Fetch, position: str, name: str, judge: Callable[[Any], Any]) -> _Source:
    record = fetch(position)
    if record is None:
        return _Source(position, exists=False)
    try:
        validated = judge(decode(record.value or b"", name).value)
    except Undecodable:
        return _Source(position)
    return _Source(position, validated.json, validated.hash)


def _manifest_source(run: Json, fetch: Fetch, manifest_of: ManifestOf) -> _Source:
    evidence = run["evidence"]
    source = _read_source(
        fetch, evidence["manifestPosition"], MANIFEST_RECORD, summit.judge_manifest
    )
    if source.exists:
        return source
    manifest = manifest_of(run["agentId"], evidence["manifestVersion"])
    if manifest is None:
        return source
    return _Source(SUMMIT_AGENTS.name, manifest, summit.manifest_hash(manifest))


def _input_hash(run: Json, call: Json | None, manifest: Json | None) -> str | None:
    """Return the hash of the sent inputs with the defaults of their schema."""
    if call is None or manifest is None:
        return None
    try:
        inputs, schema = _inputs_and_schema(run, call["params"], manifest["spec"])
        filled = summit.schema_of(_schema_text(schema)).filled(inputs)
    except (LookupError, ValueError):  # another call or another manifest than the run's
        return None
    return str(summit.json_hash(filled))


def _inputs_and_schema(run: Json, params: Json, spec: Json) -> tuple[Json, Json]:
    """Return the inputs of a call and their schema.  Raises KeyError for another kind of call."""
    if run["kind"] == INVOKE:
        return params["inputs"], spec["interface"]["inputSchema"]
    tools = {tool["name"]: tool for tool in spec.get("tools", ())}
    return params["toolCall"]["arguments"], tools[run["toolName"]]["arguments"]


def _schema_text(schema: Any) -> str:
    return canonical_json(schema).decode()


def _output_hash(reply: Json) -> str | None:
    return str(summit.json_hash(reply["output"])) if "output" in reply else None
