"""The settings of masking, for every protocol whose records may hold secrets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from streams.settings.service import ServiceSettings, number, setting
from streams.settings.tables import Column, Columns, Table, TableProblem

SHIPPED_RULES = (
    "pem_private_key", "pem_open", "pem_close", "url_credentials", "authorization", "bearer",
    "basic", "aws_key", "gcp_key", "azure_secret", "github_token", "gitlab_token", "slack_token",
    "stripe_key", "npm_token", "pypi_token", "provider_key", "jwt", "assignment", "high_entropy",
)  # fmt: skip
"""The names of the shipped rules, which a command that masks nothing does not load."""


def _check(tables: Sequence[Table]) -> Iterator[TableProblem]:
    if tables:
        from streams.masking.own_rules import table_problems  # loads the shipped rules

        yield from table_problems(tables)


RULE = Columns(
    (
        Column("name", "text", pattern=("[a-z][a-z0-9_]{0,31}", "1 to 32 of a-z, 0-9 and _")),
        Column("pattern", "text", 1, 512),
        Column("triggers", "texts", 1, 100),
        Column("masked", "texts", 1, 100),
        Column("kept", "texts", 1, 100),
    ),
    check=_check,
)
"""A masking rule.  masked, kept: examples of texts that it masks, and that it does not."""


@dataclass(frozen=True, kw_only=True)
class MaskingSettings(ServiceSettings):
    """Settings of what is masked, and of its replacements."""

    rtes_mask_arguments: bool = setting(
        "RTES_MASK_ARGUMENTS",
        True,
        "mask secrets in the arguments of tool calls",
        "true or false",
        work=True,
    )
    masking_disabled: str = setting(
        "MASKING_DISABLED",
        "",
        "shipped masking rules that replace nothing",
        "set of words",
        choices=SHIPPED_RULES,
        work=True,
    )
    masking_rule: str = setting(
        "MASKING_RULE",
        "[]",
        "masking rules besides the shipped ones",
        "list of tables",
        columns=RULE,
        work=True,
    )
    mask_key: str | None = setting(
        "MASK_KEY",
        None,
        "HMAC key of the fingerprints in masked text; if unset, there are no fingerprints",
        secret=True,
        work=True,
    )
    rtes_pem_lines: int = number(
        "RTES_PEM_LINES",
        400,
        "SANDBOX_PULSE events after which an open private key block is taken as ended",
        1,
        1_000_000,
        True,
    )
    rtes_pem_s: int = number(
        "RTES_PEM_S",
        600,
        "seconds after which an open private key block is taken as ended",
        1,
        86_400,
        True,
    )
