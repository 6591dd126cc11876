"""Signatures of webhooks, as Standard Webhooks has them: HMAC-SHA-256 over id, time and body."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Sequence

JSON_TYPE = "application/json"
SUBSCRIPTION_ID = "x-mcp-subscription-id"
_VERSION = "v1"


def sign(secrets: Sequence[bytes], id: str, content: bytes, now_ms: int) -> dict[str, str]:
    """Return the headers of a message.  secrets: each of them signs, the newest first."""
    seconds = now_ms // 1000
    signed = f"{id}.{seconds}.".encode() + content
    signatures = (
        base64.b64encode(hmac.digest(secret, signed, "sha256")).decode() for secret in secrets
    )
    return {
        "webhook-id": id,
        "webhook-timestamp": str(seconds),
        "webhook-signature": " ".join(f"{_VERSION},{each}" for each in signatures),
    }
