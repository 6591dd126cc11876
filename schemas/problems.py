"""Problems of values: a rule code, a JSON Pointer and one sentence for people."""

from __future__ import annotations

from typing import NamedTuple


class Problem(NamedTuple):
    """One problem of a value.

    rule: a code of the protocol's closed set.  path: a JSON Pointer.  message: a sentence.
    """

    rule: str
    path: str
    message: str


class ShapeError(ValueError):
    """An error for a text that is not I-JSON, or a value that its Avro record cannot carry."""

    def __init__(self, rule: str, path: str, message: str) -> None:
        super().__init__(f"{rule} at {path or 'the root'}: {message}")
        self.problem = Problem(rule, path, message)

    @property
    def rule(self) -> str:
        return self.problem.rule

    @property
    def path(self) -> str:
        return self.problem.path

    @property
    def message(self) -> str:
        return self.problem.message


def pointer(*parts: str | int) -> str:
    """Return the JSON Pointer (RFC 6901) of member names and array indexes."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)
