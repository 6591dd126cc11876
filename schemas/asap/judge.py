"""The validation of records on the log: their canonical form, and their problems."""

from __future__ import annotations

from typing import Any, NamedTuple

from pydantic import ValidationError

from schemas.asap import rules
from schemas.asap.constants import ENVELOPE_RECORD, MANIFEST_RECORD
from schemas.asap.entities import Manifest
from schemas.asap.open_json import JsonPath, open_member_problem
from schemas.asap.problems import Violation, validation_problems
from schemas.asap.validate import Limits, envelope_problems
from schemas.canonical import canonical_json, sha256_hex
from schemas.json_mapping.json_form import to_json
from schemas.problems import Problem, pointer

JsonObject = dict[str, Any]
_DEFAULT = Limits()


class Judged(NamedTuple):
    """A validated envelope.

    envelope: its canonical form; an open member whose text is no JSON is that text.
    problems: the deciding one first.  sha256, text: of the canonical JSON, None if there is none.
    """

    envelope: JsonObject
    problems: list[Problem]
    sha256: str | None
    text: bytes | None = None

    @property
    def payload_type(self) -> str:
        return str(self.envelope["payload_type"])


class JudgedManifest(NamedTuple):
    """A validated manifest; members as in `Judged`."""

    manifest: JsonObject
    problems: list[Problem]
    sha256: str | None


def judge(value: JsonObject, limits: Limits = _DEFAULT) -> Judged:
    """Validate an envelope.  value: its Avro value, from any sender."""
    envelope = to_json(ENVELOPE_RECORD, value)
    _keep_null_texts(envelope, value)
    _keep_null_texts(envelope["payload"], value["payload"][1])
    text = _text(envelope)
    problems = envelope_problems(envelope, limits, size=0 if text is None else len(text))
    return Judged(envelope, problems, None if text is None else sha256_hex(text), text)


def _keep_null_texts(members: JsonObject, value: JsonObject) -> None:
    """Set an open member whose text is `null` to that text: it is present, but no object."""
    for name, text in value.items():
        if text == "null" and name.endswith("_json"):
            members[name.removesuffix("_json")] = text


def judge_manifest(value: JsonObject) -> JudgedManifest:
    """Validate a manifest.  value: its Avro value, from any sender."""
    manifest = to_json(MANIFEST_RECORD, value)
    text = _text(manifest)
    return JudgedManifest(
        manifest, validate_manifest(manifest), None if text is None else sha256_hex(text)
    )


def _text(value: JsonObject) -> bytes | None:
    try:
        return canonical_json(value)
    except ValueError:
        return None


def validate_manifest(obj: object) -> list[Problem]:
    """Return the violations of the rule `bad_manifest` in a manifest's JSON; empty if valid."""
    if isinstance(obj, Manifest):
        obj = obj.model_dump(mode="json")
    problems = [
        _problem(path, what)
        for path, member in _open_members(obj)
        if (what := open_member_problem(member))
    ]
    paths = {problem.path for problem in problems}
    try:
        Manifest.model_validate(obj)
    except ValidationError as exc:
        problems += [p for p in validation_problems(exc, "manifest") if p.path not in paths]
    return problems


def _problem(path: JsonPath, what: str) -> Problem:
    return Violation(rules.BAD_MANIFEST.code, pointer(*path), f"{path[-1]} {what}.")


def _open_members(manifest: Any) -> list[tuple[JsonPath, Any]]:
    """Return the open members of a manifest that are not null, with their paths."""
    if not isinstance(manifest, dict):
        return []
    members: list[tuple[JsonPath, Any]] = []
    auth, capabilities = manifest.get("auth"), manifest.get("capabilities")
    if isinstance(auth, dict):
        members.append((("auth", "oauth2"), auth.get("oauth2")))
    skills = capabilities.get("skills") if isinstance(capabilities, dict) else None
    for i, skill in enumerate(skills if isinstance(skills, list) else ()):
        if isinstance(skill, dict):
            for name in ("input_schema", "output_schema"):
                members.append((("capabilities", "skills", i, name), skill.get(name)))
    return [(path, member) for path, member in members if member is not None]
