"""The members of a policy, made from the settings that processors see.

A setting's path is its variable in lower case, with its section apart: HEADRACE_APC_DECAY_MODE is
`apc.decay.mode`.  A new setting of a processor is thereby a member, so that nothing that decides
stays outside.

Source: policies, 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, get_args

from schemas.apc.vocabulary import RunPhase
from streams.settings.composed import BY_FIELD
from streams.settings.service import PREFIX
from streams.settings.values import Declaration

SECTIONS = (
    "apc.budget", "apc.coordination", "apc.decay", "apc.gates", "apc.phases", "apc.priors",
    "apc.proof", "apc.transfer", "apc.verification", "apc",
    "governance", "masking", "saop.confidence", "saop", "rtes", "sap.evidence", "sap", "asap",
    "summit", "otel",
)  # fmt: skip
"""The sections whose names begin variables, a section of another before it."""

OUTSIDE = frozenset({"ASAP_SERVICE_URN", "MASK_KEY", "MAX_RECORD_BYTES"})
"""What processors see and no policy says: a name, a secret and a limit of the brokers."""

_PATHS: Mapping[str, str] = {
    **{f"APC_PHASES_{phase}": f"apc.phases.{phase}" for phase in get_args(RunPhase)},
    "APC_ARBITRATION_TOP_K": "apc.arbitration.top_k",
    "APC_GATE_MIN_SAMPLES": "apc.arbitration.min_samples",
    "APC_GATE_MIN_SCORE": "apc.arbitration.min_score",
    "RTES_MASK_ARGUMENTS": "masking.arguments",
    "RTES_PROFILE": "rtes.default_profile",
    "RTES_PROFILES": "rtes.profile_by_prefix",
    "SAP_AUTHORIZATION": "sap.authorization_file",
    "SAP_CONSTITUTION": "sap.constitution_file",
    "SUMMIT_CRITICS": "summit.critic",
}


class Form(StrEnum):
    """The form of a member's value in the file."""

    WHOLE = "whole number"
    DECIMAL = "decimal"
    FLAG = "true or false"
    WORD = "one of some words"
    WORDS = "set of words"
    FILE = "path of a file"
    PREFIXES = "table of profiles by prefix"
    CRITICS = "list of tables with agent and critic"
    TABLES = "list of tables"
    PRINCIPALS = "list of principals"


class Member(NamedTuple):
    """One member: its dotted path, the field of the settings, and the setting's declaration."""

    path: str
    field: str
    declaration: Declaration

    @property
    def pointer(self) -> str:
        """Return the JSON Pointer of the member."""
        return "/" + self.path.replace(".", "/")

    @property
    def form(self) -> Form:
        """Return the form of the value.  Raises ValueError for a setting that has none yet."""
        match self.path:
            case "rtes.profile_by_prefix":
                return Form.PREFIXES
            case "summit.critic":
                return Form.CRITICS
        if self.declaration.choices and self.declaration.kind != Form.WORDS:
            return Form.WORD
        return Form.FILE if self.declaration.kind == "path" else Form(self.declaration.kind)


def path_of(env: str) -> str:
    """Return the dotted path of a setting.  Raises ValueError for one of no section."""
    name = env.removeprefix(PREFIX)
    if name in _PATHS:
        return _PATHS[name]
    for section in SECTIONS:
        start = section.replace(".", "_").upper() + "_"
        if name.startswith(start):
            return f"{section}.{name.removeprefix(start).lower()}"
    raise ValueError(f"{env} decides, and is in no section of a policy")


def _members() -> dict[str, Member]:
    members = (
        Member(path_of(declaration.env), field, declaration)
        for field, declaration in BY_FIELD.items()
        if declaration.work and declaration.env.removeprefix(PREFIX) not in OUTSIDE
    )
    return {member.path: member for member in sorted(members)}


MEMBERS: Mapping[str, Member] = MappingProxyType(_members())
"""The members by path, in the order of the paths."""
