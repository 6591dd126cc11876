"""The objects of SAP as tables: each member, what it must be, and whether it must be there.

One declaration serves the checks, the JSON Schemas, and the reading of untrusted Avro values.

Source: SAP spec, 2.1 to 2.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from schemas.canonical import MAX_SAFE_INTEGER
from schemas.rules import Rule
from schemas.sap import rules, words
from schemas.sap.texts import is_agent_id, is_capability, is_id, parse_seconds

MOST = 256
"""Entries of a list or map."""


class Text(NamedTuple):
    """most: characters.  blank: it may be."""

    most: int = 1024
    blank: bool = True


class Form(NamedTuple):
    """A text that has to be of a form.  what: in words, for messages."""

    rule: Rule
    what: str
    holds: Callable[[str], bool]
    schema: tuple[tuple[str, object], ...] = ()


class Word(NamedTuple):
    words: tuple[str, ...]


class Number(NamedTuple):
    low: float | None = None
    high: float | None = None


class Integer(NamedTuple):
    low: int = 0
    high: int = MAX_SAFE_INTEGER


class Flag(NamedTuple):
    """True or false."""


class Open(NamedTuple):
    """Open JSON.  kind: `object`, `list` (of objects) or `any`."""

    kind: str = "object"


class ListOf(NamedTuple):
    item: Text | Shape


class Numbers(NamedTuple):
    """A map of numbers."""

    value: Number


class OfSignal(NamedTuple):
    """A member of a signal whose bounds have the rule of signals.  base: its type alone."""

    base: Text | Word | Integer


class Member(NamedTuple):
    name: str
    kind: Kind
    required: bool = False


class Shape(NamedTuple):
    """record: the Avro record, by its name in headrace.sap.

    most: members that an object which is a map as well may have, named ones included.
    """

    record: str
    members: tuple[Member, ...]
    most: int | None = None


Kind = Text | Form | Word | Number | Integer | Flag | Open | ListOf | Numbers | OfSignal | Shape

_HEX = "[0-9a-fA-F]"
TEXT = Text(4000)
NAME = Text()
ITEM = Text(blank=False)
UUID = Form(
    rules.BAD_UUID,
    "a UUID of 36 characters",
    is_id,
    (("pattern", f"^{_HEX}{{8}}(-{_HEX}{{4}}){{3}}-{_HEX}{{12}}$"),),
)
TIME = Form(
    rules.BAD_TIMESTAMP,
    "a real date and time, YYYY-MM-DDTHH:MM:SSZ",
    lambda text: parse_seconds(text) is not None,
    (("pattern", r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-5][0-9]Z$"),),
)
VERSION = Form(rules.BAD_VERSION, words.VERSION, words.VERSION.__eq__, (("const", words.VERSION),))
AGENT_ID = Form(
    rules.BAD_AGENT_ID,
    "1 to 256 characters, none of control, no blank at either end",
    is_agent_id,
    (("minLength", 1), ("maxLength", 256)),
)
CAPABILITY = Form(
    rules.BAD_CAPABILITY,
    "words of letters, digits, _ and -, joined by dots, at most 256 characters",
    is_capability,
    (("pattern", r"^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$"), ("maxLength", 256)),
)


def _must(name: str, kind: Kind) -> Member:
    return Member(name, kind, required=True)


PARTY = Shape(
    "SapParty",
    (
        _must("agentId", AGENT_ID),
        _must("agentKind", Word(words.AGENT_KINDS)),
        Member("name", NAME),
    ),
)
TARGET = Shape(
    "SapTarget",
    (
        _must("capability", CAPABILITY),
        Member("agentId", AGENT_ID),
        Member("routingHints", Open()),
    ),
)
CACHE_POLICY = Shape(
    "SapCachePolicy",
    (
        Member("mode", Word(words.MODES)),
        Member("maxAgeSec", Integer()),
        Member("mustAlign", Flag()),
    ),
)
CONTEXT = Shape(
    "SapContext",
    (
        _must("pressureLevel", Word(words.LEVELS)),
        Member("principles", ListOf(ITEM)),
        Member("pressure", Numbers(Number(0, 100))),
        Member("objectives", ListOf(Text(4000, blank=False))),
        Member("constraints", ListOf(Text(4000, blank=False))),
        Member("riskTolerance", Word(words.RISKS)),
        Member("territory", ITEM),
        Member("references", ListOf(ITEM)),
        Member("cachePolicy", CACHE_POLICY),
    ),
)
CONTRACT = Shape("SapContract", (Member("schema", Open()), Member("format", NAME)))
BUDGET = Shape(
    "SapBudget",
    (Member("tokens", Number(0)), Member("seconds", Number(0))),
    most=MOST,  # each number in it is a limit
)
TELEMETRY = Shape(
    "SapTelemetry",
    (
        Member("priority", Word(words.PRIORITIES)),
        Member("deadline", TIME),
        Member("budget", BUDGET),
        Member("trace", Flag()),
    ),
)
REPLY_TO = Shape("SapReplyTo", (Member("endpoint", NAME), Member("expectAck", Flag())))
ATTACHMENT = Shape(
    "SapAttachment", (Member("uri", NAME), Member("kind", NAME), Member("digest", NAME))
)
TASK = Shape(
    "SapTask",
    (
        _must("protocolVersion", VERSION),
        _must("taskId", UUID),
        Member("parentTaskId", UUID),
        _must("correlationId", UUID),
        _must("issuedAt", TIME),
        _must("issuer", PARTY),
        _must("target", TARGET),
        _must("constitutionalContext", CONTEXT),
        _must("payload", Open()),
        Member("outputContract", CONTRACT),
        Member("telemetry", TELEMETRY),
        Member("replyTo", REPLY_TO),
        Member("attachments", ListOf(ATTACHMENT)),
        Member("tags", ListOf(NAME)),
        Member("meta", Open()),
    ),
)
PRODUCER = Shape(
    "SapProducer",
    (_must("agentId", AGENT_ID), _must("agentKind", Word(words.PRODUCER_KINDS))),
)
CHECK = Shape(
    "SapCheck",
    (
        _must("principle", NAME),
        _must("status", Word(words.CHECK_STATUSES)),
        Member("notes", TEXT),
    ),
)
VIOLATION = Shape(
    "SapViolation",
    (
        _must("principle", NAME),
        _must("severity", Word(words.SEVERITIES)),
        Member("evidence", TEXT),
    ),
)
CACHE_USE = Shape(
    "SapCacheUse",
    (
        _must("hit", Flag()),
        Member("cacheKey", NAME),
        Member("ageSec", Integer()),
        Member("version", Integer()),
    ),
)
EVIDENCE = Shape(
    "SapEvidence",
    (
        _must("alignment", Word(words.ALIGNMENTS)),
        Member("pressureReadings", Numbers(Number())),
        Member("policyChecks", ListOf(CHECK)),
        Member("violations", ListOf(VIOLATION)),
        Member("citations", ListOf(NAME)),
        Member("cache", CACHE_USE),
    ),
)
ERROR = Shape(
    "SapError",
    (Member("code", NAME), Member("message", TEXT), Member("details", Open())),
)
RESULT = Shape(
    "SapResult",
    (
        _must("protocolVersion", VERSION),
        _must("taskId", UUID),
        _must("correlationId", UUID),
        _must("reportedAt", TIME),
        _must("producer", PRODUCER),
        _must("status", Word(words.STATUSES)),
        Member("output", Open("any")),
        Member("artifacts", Open("list")),
        Member("metrics", Open()),
        _must("constitutionalEvidence", EVIDENCE),
        Member("error", ERROR),
        Member("nextActions", Open("list")),
        Member("meta", Open()),
    ),
)
SIGNAL = Shape(
    "SapSignal",
    (
        _must("protocolVersion", VERSION),
        _must("signalId", UUID),
        _must("taskId", UUID),
        _must("correlationId", UUID),
        _must("sentAt", TIME),
        _must("operator", PARTY),
        _must("kind", Word(words.SIGNAL_KINDS)),
        Member("rating", OfSignal(Integer(1, 5))),
        Member("decision", OfSignal(Word(words.DECISIONS))),
        Member("note", OfSignal(Text(4000, blank=False))),
        Member("meta", Open()),
    ),
)
ENVELOPES = {"task": TASK, "result": RESULT, "signal": SIGNAL}
IDS = ("taskId", "parentTaskId", "correlationId", "signalId")
"""Members of envelopes that are UUIDs, and so are compared in lower case."""
