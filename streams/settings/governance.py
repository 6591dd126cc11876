"""The settings of who may change a policy.

Source: policies, 2.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from streams.settings.service import ServiceSettings, number, setting
from streams.settings.values import Format

_GLOBS = re.compile(r"[^\s,\x00-\x1f\x7f]{1,256}(,[^\s,\x00-\x1f\x7f]{1,256})*")
PRINCIPALS = Format(
    "principals of at most 256 characters, separated by commas; * and ? stand for any characters",
    lambda text: _GLOBS.fullmatch(text) is not None,
)


@dataclass(frozen=True, kw_only=True)
class GovernanceSettings(ServiceSettings):
    """The principals who may publish and activate policies.

    Nothing reads these before policies are on the log.
    """

    governance_publishers: str = setting(
        "GOVERNANCE_PUBLISHERS",
        "*",
        "principals that may publish policies",
        "list of principals",
        format=PRINCIPALS,
        work=True,
    )
    governance_activators: str = setting(
        "GOVERNANCE_ACTIVATORS",
        "*",
        "principals that may activate, approve, withdraw and try policies",
        "list of principals",
        format=PRINCIPALS,
        work=True,
    )
    governance_approvals: int = number(
        "GOVERNANCE_APPROVALS",
        0,
        "approvals that an activation needs besides its request",
        0,
        5,
        True,
    )
    governance_approval_hours: int = number(
        "GOVERNANCE_APPROVAL_HOURS",
        72,
        "hours after which a pending activation lapses",
        1,
        720,
        True,
    )
