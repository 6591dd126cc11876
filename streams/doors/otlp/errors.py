"""The refusal of a whole request."""

from __future__ import annotations


class OtlpRefused(Exception):
    """A request is refused.

    status: of HTTP.  rule: its code.  field: the member of the request that is wrong, if one is.
    """

    def __init__(self, status: int, rule: str, message: str, field: str | None = None) -> None:
        super().__init__(f"{rule}: {message}")
        self.status = status
        self.rule = rule
        self.field = field
