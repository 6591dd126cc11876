"""Every error that headrace raises on purpose.

HeadraceError
├── UsageError            exit 2: the request makes no sense
│   ├── SettingsError       a HEADRACE_ variable is unknown, or its value is not allowed
│   │   ├── TokensMissing     the gateway would be open to other machines without tokens
│   │   ├── ViewsInvalid      the file of saved views is not valid
│   │   └── PolicyInvalid     the policy of a transparency log is not valid
│   ├── OriginInvalid       a text cannot be the origin of a log
│   └── ExtraMissing        packages that an extra of headrace installs are not installed
├── NegativeAnswer        exit 1: the request was understood, and the answer is no
│   ├── InvalidInput        a value breaks rules; `problems` lists them
│   ├── Unauthenticated     the gateway needs a token, or does not know this one
│   ├── Forbidden           the token does not allow it
│   ├── NotFound            nothing has that id
│   │   └── Gone              it existed, and its data was deleted
│   ├── Conflict            the present state does not allow the request
│   │   ├── RecordRefused       no version of a cached answer counts
│   │   └── AmbiguousNode       several sessions use the id of a node
│   ├── PositionsDiffer     a restored topic has other records, or offsets, than a task has read
│   └── OutputTooLarge      a record would exceed its topic's size
└── InfrastructureError   exit 3: something that headrace depends on has failed
    ├── BrokerUnavailable   no broker answers, and none can be started
    │   └── BrokerRefuses       a broker answers, and rejects our connection
    │       ├── LoginFailed       it rejects the user name, the password or the mechanism
    │       ├── TlsFailed         one side does not trust the other's certificate, or has no TLS
    │       └── AccessDenied      its ACLs do not allow the request
    ├── NoAuthorizer        Kafka keeps no ACLs
    ├── TopicsMismatch      topics are missing, or have another partition count
    ├── NotCoPartitioned    a worker was given parts of different partition numbers
    ├── Fenced              another worker has taken the task over
    ├── CommitFailed        a transaction was aborted, or its outcome is in doubt
    ├── ProduceUnknown      it is unknown whether a record was written
    ├── GatewayUnavailable  no gateway answers at that address
    ├── LogUnavailable      no transparency log can be read at that address
    ├── RegistryUnavailable the schema registry does not answer
    │   └── RegistryUntrusted   its certificate is not trusted, or it has no TLS
    ├── SchemasMismatch     the schema registry lacks schemas, or refuses them
    ├── PositionsLost       a task does not know from where to resume reading
    ├── InputTruncated      records were deleted before a task had read them
    ├── RestoreStalled      the log has lost records while a task was restored from them
    ├── InternalUnreadable  a processor's output, probably a later version's, is unreadable
    ├── StoreFailed         RocksDB failed
    ├── StateLocked         another process uses the state directory
    ├── AddressTaken        the gateway cannot listen on its address
    ├── ViewNotReady        a view is being rebuilt from the log, or has failed
    ├── TranscriptBroken    a transcript was changed after it was written
    └── TooManyDeadLetters  so many records fail that the code must be wrong

Errors of other libraries are wrapped once, where they are caught first, with `raise … from exc`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from schemas import Problem


class HeadraceError(Exception):
    """The root of all errors.  Its text says what happened, then what to do next.

    exit_code: the exit status of the command line.
    advice: what to do next, one sentence; a class has a default that `advice=` replaces.
    """

    exit_code: ClassVar[int] = 3
    default_advice: ClassVar[str] = ""

    def __init__(self, message: str, *, advice: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.advice = self.default_advice if advice is None else advice

    @property
    def code(self) -> str:
        """Return the name of the error in one word, e.g. `positions_lost`; it does not change."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()

    def __str__(self) -> str:
        return f"{self.message.rstrip('.')}. {self.advice}" if self.advice else self.message


class UsageError(HeadraceError):
    exit_code = 2
    default_advice = "See `headrace --help`."


class SettingsError(UsageError):
    default_advice = "Settings and their defaults are listed in docs/reference/settings.md."


class TokensMissing(SettingsError):
    default_advice = (
        "Set HEADRACE_TOKENS to a file of tokens, which `headrace tokens new` makes, or listen on"
        " 127.0.0.1."
    )


class ViewsInvalid(SettingsError):
    default_advice = 'The file is a list of {"name", "path"}; docs/console.md has an example.'


class PolicyInvalid(SettingsError):
    default_advice = "docs/audit.md describes policies; `headrace audit key` makes one."


class OriginInvalid(UsageError):
    default_advice = "It is a URL without scheme and trailing slash, as hr.example.com/tlog."


class ExtraMissing(UsageError):
    """An error for a feature (`what`) whose packages, the extra of pyproject.toml, are missing."""

    default_advice = "Install headrace with that extra."

    def __init__(self, extra: str, what: str) -> None:
        advice = f"Install it with `pip install 'headrace[{extra}]'`."
        super().__init__(f"{what} needs the extra `{extra}` of headrace", advice=advice)
        self.extra = extra


@contextmanager
def needs_extra(extra: str, what: str) -> Iterator[None]:
    """Raise ExtraMissing when a package that the block imports is not installed."""
    try:
        yield
    except ModuleNotFoundError as exc:
        raise ExtraMissing(extra, what) from exc


class NegativeAnswer(HeadraceError):
    exit_code = 1


class InvalidInput(NegativeAnswer):
    """An error for values that violate rules.

    problems: rule, path and message of each violation, in the order they are reported.
    indexes: for several values, the index of the value that each problem is about.
    """

    default_advice = "Correct the value and send it again."

    def __init__(
        self,
        problems: Sequence[Problem],
        *,
        advice: str | None = None,
        indexes: Sequence[int] = (),
    ) -> None:
        self.problems = tuple(problems)
        self.indexes = tuple(indexes)
        lines = [f"{rule} at {path or 'the top'}: {text}" for rule, path, text in self.problems]
        if self.indexes:
            numbered = zip(self.indexes, lines, strict=True)
            lines = [f"value at index {index}: {line}" for index, line in numbered]
        super().__init__("; ".join(lines) or "invalid input", advice=advice)


class Unauthenticated(NegativeAnswer):
    """An error for a missing or unknown token.  rule: its code in problem details."""

    default_advice = "Set HEADRACE_TOKEN to a token that `headrace tokens new` has made."

    def __init__(
        self, message: str, rule: str = "token_missing", *, advice: str | None = None
    ) -> None:
        super().__init__(message, advice=advice)
        self.rule = rule


class Forbidden(NegativeAnswer):
    """An error for a request that the token does not allow.

    rule: its code in problem details.  path: the member that it is about.
    """

    default_advice = "Use a token of that sender, or of that role; docs/security.md lists roles."

    def __init__(
        self,
        message: str,
        rule: str,
        path: str | None = None,
        *,
        advice: str | None = None,
    ) -> None:
        super().__init__(message, advice=advice)
        self.rule = rule
        self.path = path


class NotFound(NegativeAnswer):
    """An error for an unknown id.  rule: its code in problem details."""

    default_advice = (
        "Check the id (tables show the beginning of long ones; --wide shows all);"
        " what was sent a moment ago is found with --after POSITION."
    )

    def __init__(self, message: str, rule: str = "not_found", *, advice: str | None = None) -> None:
        super().__init__(message, advice=advice)
        self.rule = rule


class Gone(NotFound):
    default_advice = "The commands are still on the log, as long as their topic keeps them."


class Conflict(NegativeAnswer):
    """An error for a request that the present state forbids.  rule: its code in problem details."""

    default_advice = "Look at what is there first; the gateway's other queries show it."

    def __init__(self, message: str, rule: str, *, advice: str | None = None) -> None:
        super().__init__(message, advice=advice)
        self.rule = rule


class RecordRefused(Conflict):
    """An error for versions of which none counts.

    version: the newest one.  reason: why it does not count.  position: of its record, if known.
    """

    default_advice = "`headrace sap cache KEY --versions` lists them; `headrace verify` says more."

    def __init__(self, message: str, version: int, reason: str, position: str | None) -> None:
        super().__init__(message, "record_refused")
        self.position = position
        self.version = version
        self.reason = reason


class AmbiguousNode(Conflict):
    """An error for a node whose id several sessions use.  candidates: these sessions."""

    default_advice = "Name one of the candidates as session_id."

    def __init__(self, node: str, candidates: Sequence[str]) -> None:
        super().__init__(f"several sessions use the id of {node}", "node_ambiguous")
        self.candidates = tuple(candidates)


class OutputTooLarge(NegativeAnswer):
    default_advice = "Send less in one envelope; limits are listed in docs/reference/topics.md."


class InfrastructureError(HeadraceError):
    exit_code = 3


class BrokerUnavailable(InfrastructureError):
    default_advice = "Start one with `headrace up`, or set HEADRACE_BOOTSTRAP to one that runs."


class BrokerRefuses(BrokerUnavailable):
    default_advice = "Check the variables HEADRACE_SECURITY_…; docs/security.md explains them."


class LoginFailed(BrokerRefuses):
    default_advice = (
        "Check HEADRACE_SECURITY_SASL_USERNAME, …_SASL_PASSWORD and …_SASL_MECHANISM against the"
        " users that Kafka knows."
    )


class TlsFailed(BrokerRefuses):
    default_advice = (
        "Set HEADRACE_SECURITY_SSL_CA_LOCATION to the certificate of who signed Kafka's, whose"
        " names must include the host in HEADRACE_BOOTSTRAP, and HEADRACE_SECURITY_PROTOCOL to"
        " what that port speaks."
    )


class AccessDenied(BrokerRefuses):
    default_advice = (
        "`headrace topics acls` prints what each principal needs, and --apply sets it, run by one"
        " who may."
    )


class NoAuthorizer(InfrastructureError):
    default_advice = "Set authorizer.class.name at the brokers; docs/security.md shows how."


class TopicsMismatch(InfrastructureError):
    default_advice = "Compare with `headrace topics list`; `headrace topics create` adds topics."


class NotCoPartitioned(InfrastructureError):
    default_advice = "Run the same headrace version with the same settings in every worker."


class Fenced(InfrastructureError):
    default_advice = "The task reopens once the consumer group has confirmed the partition."


class CommitFailed(InfrastructureError):
    default_advice = "Nothing is lost: the task reopens and reads its inputs again."


class ProduceUnknown(InfrastructureError):
    default_advice = "Send again with the same id: what was written already counts as a duplicate."


class GatewayUnavailable(InfrastructureError):
    default_advice = "Start one with `headrace up` or `headrace gateway`, or check the address."


class LogUnavailable(InfrastructureError):
    default_advice = "Check the address: it is what stands before /checkpoint; or ask again later."


class RegistryUnavailable(InfrastructureError):
    default_advice = "Start it, or correct SCHEMA_REGISTRY_URL; nothing is lost meanwhile."


class RegistryUntrusted(RegistryUnavailable):
    default_advice = "Set HEADRACE_REGISTRY_SSL_CA_LOCATION to the certificate of its signer."


class SchemasMismatch(InfrastructureError):
    default_advice = "Run `headrace topics create`, which registers what is missing."


class PositionsLost(InfrastructureError):
    default_advice = "`headrace topics adopt` makes the task go on in a restored log."


class PositionsDiffer(NegativeAnswer):
    default_advice = (
        "Restore the log again in a way that keeps offsets and times, see docs/operations.md, or"
        " begin with another HEADRACE_PREFIX."
    )


class InputTruncated(InfrastructureError):
    default_advice = (
        "Raise the topic's retention; `headrace topics accept-gap TOPIC PARTITION` goes on without."
    )


class RestoreStalled(InfrastructureError):
    default_advice = "The restore begins again; see whether Kafka elects unclean leaders."


class InternalUnreadable(InfrastructureError):
    """An error for a processor's output.  row: the store's key of the row, if it is a row."""

    default_advice = "Run, in every worker, the latest headrace version that has run here."

    def __init__(
        self, message: str, *, advice: str | None = None, row: bytes | None = None
    ) -> None:
        super().__init__(message, advice=advice)
        self.row = row

    @classmethod
    def at(cls, topic: str, partition: int, offset: int, why: str) -> InternalUnreadable:
        """Return the error for the record at a position, with the command that sets it aside."""
        command = f"headrace topics set-aside {topic} {partition} {offset}"
        advice = f"{cls.default_advice} If no processor wrote it, `{command}` sets it aside."
        return cls(f"{topic}/{partition}/{offset}: {why}", advice=advice)


class StoreFailed(InfrastructureError):
    default_advice = "Check the disk; a deleted state directory is rebuilt from the log."


class StateLocked(InfrastructureError):
    default_advice = "Stop the other process, or set HEADRACE_STATE_DIR to another directory."


class AddressTaken(InfrastructureError):
    default_advice = "Set HEADRACE_GATEWAY to another address, or stop what listens there."


class ViewNotReady(InfrastructureError):
    """An error while a view is rebuilt.  lag: the known number of records still to read."""

    default_advice = "Ask again later; a view rebuilds itself from the log."

    def __init__(self, message: str, lag: int = 0, *, advice: str | None = None) -> None:
        super().__init__(message, advice=advice)
        self.lag = lag


class TranscriptBroken(InfrastructureError):
    default_advice = "Keep the file as it is, find out who changed it, and start a new one."


class TooManyDeadLetters(InfrastructureError):
    default_advice = "Look at `headrace dlq list`, fix the cause, then start the worker again."
