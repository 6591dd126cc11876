"""The settings of Summit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from streams.settings.service import ServiceSettings, number, setting
from streams.settings.values import Format

_AGENT = "[a-z0-9-]{1,100}"
_CRITICS = re.compile(rf"({_AGENT}={_AGENT}(,(?=.)|$))*")
CRITICS = Format(
    "agent=critic[,agent=critic…], with the names of agents",
    lambda text: _CRITICS.fullmatch(text) is not None,
)


MAX_USD, MAX_SECONDS, MAX_SAFE_INTEGER = 1_000_000, 604_800, 2**53 - 1
"""As the schemas have them, which a command that only reads does not load."""


def cap(member: str, unit: str, high: int, kind: str) -> Any:
    return setting(
        f"SUMMIT_MAX_{member.upper()}",
        None,
        f"most {unit} that the budget of a call may have, and must name; if unset, no bound",
        kind,
        high=high,
        work=True,
        rules=("budget.cap",),
    )


@dataclass(frozen=True, kw_only=True)
class SummitSettings(ServiceSettings):
    """The settings that an operator of Summit can change."""

    summit_run_timeout_s: int = number(
        "SUMMIT_RUN_TIMEOUT_S",
        600,
        "timeout in seconds of a run whose call sets no `budget.seconds`",
        1,
        MAX_SECONDS,
        True,
        rules=("run.timeout",),
    )
    summit_batch_max: int = number(
        "SUMMIT_BATCH_MAX",
        100,
        "largest number of requests in one batch to `POST /summit`",
        1,
        10_000,
    )
    summit_wait_s: int = number(
        "SUMMIT_WAIT_S", 30, "seconds that `POST /summit` waits for a run to end", 0, 86_400
    )
    summit_wait_max_s: int = number(
        "SUMMIT_WAIT_MAX_S",
        600,
        "longest wait in seconds that `Prefer: wait` may ask for at `/summit`",
        0,
        86_400,
    )
    summit_critics: str = setting(
        "SUMMIT_CRITICS",
        "",
        "agent=critic, separated by commas: the critic that judges each completed run of an agent"
        " whose manifest names none",
        "list of critics",
        format=CRITICS,
        work=True,
    )
    summit_budget_required: bool = setting(
        "SUMMIT_BUDGET_REQUIRED",
        False,
        "reject calls that make a run and have no budget",
        "true or false",
        work=True,
        rules=("budget.missing",),
    )
    summit_max_usd: Decimal | None = cap("usd", "dollars", MAX_USD, "decimal")
    summit_max_tokens: int | None = cap("tokens", "tokens", MAX_SAFE_INTEGER, "whole number")
    summit_max_seconds: Decimal | None = cap("seconds", "seconds", MAX_SECONDS, "decimal")
    summit_tree_max: int = number(
        "SUMMIT_TREE_MAX",
        10_000,
        "most runs below another that are counted for it; with more, a run with a budget of dollars"
        " or tokens is ended",
        1,
        1_000_000,
        True,
        rules=("tree.full", "budget.tree_size"),
    )
    summit_judge_gate: bool = setting(
        "SUMMIT_JUDGE_GATE",
        False,
        "answer a waiting caller only when the critic that the service called has judged the run",
        "true or false",
    )
