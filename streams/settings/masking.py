"""The settings of masking, for every protocol whose records may hold secrets."""

from __future__ import annotations

from dataclasses import dataclass

from streams.settings.service import ServiceSettings, number, setting


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
