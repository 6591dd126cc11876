"""The exceptions of the clients of an ASAP server.

ASAPConnectionError  no usable answer came: nobody listens, or HTTP itself failed
ASAPTimeoutError     no answer came in time; the envelope may have been accepted all the same
ASAPRemoteError      the server answered with a JSON-RPC error
"""

from __future__ import annotations

from typing import Any


class ASAPConnectionError(Exception):
    """A connection that failed.  cause: the exception behind it, if there is one."""

    def __init__(self, message: str, cause: BaseException | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.cause = cause


class ASAPTimeoutError(Exception):
    """An exchange that took too long.  timeout: in seconds."""

    def __init__(self, message: str, timeout: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.timeout = timeout


class ASAPRemoteError(Exception):
    """A JSON-RPC error (ASAP guide, 6.2): code, message and data; its text names the reason."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        reason = data.get("error") if isinstance(data, dict) else None
        super().__init__(f"{code}: {message}" + (f": {reason}" if reason else ""))
        self.code = code
        self.message = message
        self.data = data

    @property
    def asap_error(self) -> str | None:
        """Return ASAP's own error code, if the server sent one."""
        code = self.data.get("asap_error") if isinstance(self.data, dict) else None
        return code if isinstance(code, str) else None
