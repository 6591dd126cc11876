"""Authentication of a request's sender: row 6 of the table in ASAP guide, 6.2."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from schemas.asap import INVALID_REQUEST, Manifest
from streams.asap.blocking import run_in_thread
from streams.asap.faults import AUTH_INVALID, AUTH_REQUIRED, RpcFault

TokenValidator = Callable[[str], str | Awaitable[str | None] | None]
"""Returns the URN of a token's agent; None for an unknown token."""


class Authenticator:
    """A check of the bearer token of each request.

    Raises ValueError when the manifest asks for tokens and there is no validator.
    """

    def __init__(self, manifest: Manifest, validator: TokenValidator | None) -> None:
        self._validator = validator
        self._closed = manifest.auth is not None
        schemes = () if manifest.auth is None else manifest.auth.schemes
        self._takes_bearer = "bearer" in {scheme.lower() for scheme in schemes}
        if self._closed and validator is None:
            raise ValueError("token_validator is required when the manifest has auth")

    async def check(self, headers: Mapping[str, str]) -> str | None:
        """Return the URN of the sender; None when the manifest asks for no token."""
        if not self._closed:
            return None
        authorization = headers.get("authorization", "").strip()
        if not authorization:
            raise _refusal("auth_required")
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not self._takes_bearer or not token.strip():
            raise _refusal("auth_invalid")
        urn = await self._urn(token.strip())
        if not urn:
            raise _refusal("auth_invalid")
        return urn

    async def _urn(self, token: str) -> str | None:
        validator = self._validator
        assert validator is not None
        if inspect.iscoroutinefunction(validator):
            result: Any = validator(token)
        else:
            result = await run_in_thread(validator, token)
        urn: str | None = await result if inspect.isawaitable(result) else result
        return urn


def _refusal(kind: str) -> RpcFault:
    if kind == "auth_required":
        message = "Authentication required"
        return RpcFault(INVALID_REQUEST, "auth_required", message, AUTH_REQUIRED, status_code=401)
    message = "Invalid authentication token"
    return RpcFault(INVALID_REQUEST, "auth_invalid", message, AUTH_INVALID, status_code=401)
