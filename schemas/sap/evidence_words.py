"""The words that agents write for the status of a check and the severity of a violation.

Both are plain strings on the wire.  The service reads the usual words, without regard to case and
outer white space, as its own; another status is UNCHECKED, and another severity is what the policy
says.  Where its own word differs, what was reported stands beside it.

Source: SAP guide, 3.5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from schemas.objects import JsonObject
from schemas.sap import rules
from schemas.sap.constants import CHECK_STATUSES, SEVERITIES, WHITE_SPACE
from schemas.sap.shapes import Kind, ListOf, Shape, Word


class WordTable(NamedTuple):
    """A member of the evidence, and the words that are read for its own.

    items: the member of the evidence whose objects have it.  original: the member for what was
    reported.  words: the service's word by a reported one.  warning: of a word not among these.
    """

    items: str
    member: str
    original: str
    words: Mapping[str, str]
    warning: str


def _words(**spellings: str) -> dict[str, str]:
    return {spelling: word for word, listed in spellings.items() for spelling in listed.split()}


STATUS = WordTable(
    "policyChecks",
    "status",
    "reportedStatus",
    _words(
        PASS="pass passed ok okay yes true compliant satisfied valid",
        FAIL="fail failed no false violated violation noncompliant non-compliant invalid",
        UNCHECKED="unchecked unknown skipped pending n/a",
    ),
    rules.STATUS_UNMAPPED.code,
)
SEVERITY = WordTable(
    "violations",
    "severity",
    "reportedSeverity",
    _words(
        low="low info minor trivial note",
        medium="medium moderate warn warning",
        high="high major error serious severe",
        critical="critical blocker fatal",
    ),
    rules.SEVERITY_UNMAPPED.code,
)

_ENUMERATIONS = {
    ("SapCheck", STATUS.member): Word(CHECK_STATUSES),
    ("SapViolation", SEVERITY.member): Word(SEVERITIES),
}


def own_words_only(kind: Kind) -> Kind:
    """Return the kind of a member that allows only the service's own words of evidence in it."""
    if isinstance(kind, ListOf):
        return ListOf(own_words_only(kind.item))
    return own_words_shape(kind) if isinstance(kind, Shape) else kind


def own_words_shape(shape: Shape) -> Shape:
    """Return the shape that allows only the service's own words of evidence in it."""
    members = tuple(
        member._replace(
            kind=_ENUMERATIONS.get((shape.record, member.name), own_words_only(member.kind))
        )
        for member in shape.members
    )
    return shape._replace(members=members)


def map_evidence(evidence: JsonObject, unknown_severity: str) -> JsonObject:
    """Return the evidence of a valid result in the service's own words.

    unknown_severity: the severity of a violation whose word is not known.
    """
    mapped = {
        table.items: [_map_item(item, table, unknown) for item in evidence[table.items]]
        for table, unknown in ((STATUS, "UNCHECKED"), (SEVERITY, unknown_severity))
        if evidence.get(table.items)
    }
    return {**evidence, **mapped}


def _map_item(item: JsonObject, table: WordTable, unknown: str) -> JsonObject:
    reported = item[table.member]
    word = table.words.get(_folded(reported), unknown)
    if word == reported:
        return item
    return {**item, table.member: word, table.original: reported}


def evidence_warnings(evidence: JsonObject) -> Iterator[str]:
    """Yield the warnings of a valid result's evidence: of words that are not known."""
    for table in (STATUS, SEVERITY):
        items = evidence.get(table.items) or ()
        if any(_folded(item[table.member]) not in table.words for item in items):
            yield table.warning


def _folded(word: str) -> str:
    return word.strip(WHITE_SPACE).casefold()
