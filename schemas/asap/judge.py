"""Records off the log, judged: their canonical form, and what is wrong with them."""

from __future__ import annotations

from typing import Any, NamedTuple

from pydantic import ValidationError

from schemas.asap import rules
from schemas.asap.entities import Manifest
from schemas.asap.faults import Violation, validation_problems
from schemas.asap.open_json import Place, fault
from schemas.asap.validate import Limits, problems_of
from schemas.asap.words import ENVELOPE_RECORD, MANIFEST_RECORD
from schemas.canonical import canonical_json, sha256_hex
from schemas.json_mapping.json_form import to_json
from schemas.problems import Problem, pointer

JsonObject = dict[str, Any]
_DEFAULT = Limits()


class Judged(NamedTuple):
    """One envelope.

    envelope: its canonical form; open members whose text is no JSON stand in it as that text.
    problems: the one that decides first.  sha256, text: of the canonical JSON, None where there is
    none.
    """

    envelope: JsonObject
    problems: list[Problem]
    sha256: str | None
    text: bytes | None = None

    @property
    def payload_type(self) -> str:
        return str(self.envelope["payload_type"])


class JudgedManifest(NamedTuple):
    """One manifest; members as those of `Judged`."""

    manifest: JsonObject
    problems: list[Problem]
    sha256: str | None


def judge(value: JsonObject, limits: Limits = _DEFAULT) -> Judged:
    """value: the Avro value of an envelope, as sent by anyone."""
    envelope = to_json(ENVELOPE_RECORD, value)
    _keep_null_texts(envelope, value)
    _keep_null_texts(envelope["payload"], value["payload"][1])
    text = _text(envelope)
    problems = problems_of(envelope, limits, size=0 if text is None else len(text))
    return Judged(envelope, problems, None if text is None else sha256_hex(text), text)


def _keep_null_texts(shown: JsonObject, value: JsonObject) -> None:
    """An open member whose text is `null` is there and no object; it is not one that is absent."""
    for name, text in value.items():
        if text == "null" and name.endswith("_json"):
            shown[name.removesuffix("_json")] = text


def judge_manifest(value: JsonObject) -> JudgedManifest:
    """value: the Avro value of a manifest, as sent by anyone."""
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
    """What breaks the rule `bad_manifest` in a manifest's JSON; empty for a valid one."""
    if isinstance(obj, Manifest):
        obj = obj.model_dump(mode="json")
    found = [_problem(place, broken) for place, member in _open(obj) if (broken := fault(member))]
    told = {problem.path for problem in found}
    try:
        Manifest.model_validate(obj)
    except ValidationError as exc:
        found += [p for p in validation_problems(exc, "manifest") if p.path not in told]
    return found


def _problem(place: Place, what: str) -> Problem:
    return Violation(rules.BAD_MANIFEST.code, pointer(*place), f"{place[-1]} {what}.")


def _open(manifest: Any) -> list[tuple[Place, Any]]:
    """The open members of a manifest that are there and not null, with their places."""
    if not isinstance(manifest, dict):
        return []
    found: list[tuple[Place, Any]] = []
    auth, offered = manifest.get("auth"), manifest.get("capabilities")
    if isinstance(auth, dict):
        found.append((("auth", "oauth2"), auth.get("oauth2")))
    skills = offered.get("skills") if isinstance(offered, dict) else None
    for i, skill in enumerate(skills if isinstance(skills, list) else ()):
        if isinstance(skill, dict):
            for name in ("input_schema", "output_schema"):
                found.append((("capabilities", "skills", i, name), skill.get(name)))
    return [(place, member) for place, member in found if member is not None]
