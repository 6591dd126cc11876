"""The settings of webhooks and push notifications, which gateways send for their doors."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from streams.settings.service import ServiceSettings, number, setting
from streams.settings.values import Format

_NAME = re.compile(r"(?=.{1,253}$)[A-Za-z0-9_]([A-Za-z0-9_-]{0,62})(\.[A-Za-z0-9_-]{1,63})*\.?")


def _is_receiver(text: str) -> bool:
    try:
        ipaddress.ip_network(text.strip())
    except ValueError:
        return _NAME.fullmatch(text.strip()) is not None and not re.fullmatch(r"[\d.]+", text)
    return True


RECEIVERS = Format(
    "hosts, addresses or networks such as 10.0.0.0/8, separated by commas",
    lambda text: all(map(_is_receiver, text.split(","))),
)


@dataclass(frozen=True, kw_only=True)
class PushSettings(ServiceSettings):
    """Settings of what is posted to addresses that clients name."""

    push_allow: str | None = setting(
        "PUSH_ALLOW",
        None,
        "hosts, addresses and networks, separated by commas, that events may be posted to although"
        " they are not public; for a loopback address that is listed, also over http",
        format=RECEIVERS,
    )
    mcp_webhook_ttl_s: int = number(
        "MCP_WEBHOOK_TTL_S",
        3600,
        "seconds after which a webhook of MCP ends unless the client refreshes it",
        60,
        86_400,
    )
    mcp_webhooks: int = number(
        "MCP_WEBHOOKS", 100, "webhooks of MCP of one principal at once", 0, 10_000
    )
