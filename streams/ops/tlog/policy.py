"""Policies (tlog-policy): whose logs are accepted, and which witnesses must have cosigned.

    log <verifier key> [<url>]
    witness <name> <verifier key> [<url>]
    group <name> all|any|<k> <name>...
    quorum <name>|none

Several keys with one origin are keys of the same log: one of them suffices.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from streams.errors import PolicyInvalid
from streams.ops.tlog.keys import (
    LOG_TYPES,
    WITNESS_TYPES,
    KeyMalformed,
    KeyType,
    VerifierKey,
    parse_verifier_key,
)
from streams.ops.tlog.note import Checkpoint, Note, NoteSignature

MAX_POLICY_BYTES = 64 * 1024
MAX_LINES_OF_A_KIND = 32
NO_QUORUM = "none"
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")
_BLANKS = re.compile("[ \t]+")


class LogKey(NamedTuple):
    """A key of a log, and where the log is served."""

    key: VerifierKey
    url: str | None


class Witness(NamedTuple):
    """A witness.  url: the prefix of its requests; None: it is only verified."""

    name: str
    key: VerifierKey
    url: str | None


class Group(NamedTuple):
    """A group, which has cosigned when `needed` of its members have."""

    name: str
    needed: int
    members: tuple[str, ...]


class Cosignature(NamedTuple):
    """A verified cosignature: the name of the witness in the policy, and the time in s."""

    name: str
    at_s: int


class SignatureInvalid(ValueError):
    """An error for a signature that names a key of the policy and does not verify."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A parsed policy.  quorum: the name of a witness or a group, or `none`."""

    logs: tuple[LogKey, ...]
    witnesses: tuple[Witness, ...]
    groups: tuple[Group, ...]
    quorum: str

    def keys_of(self, origin: str) -> tuple[VerifierKey, ...]:
        """Return the keys of a log."""
        return tuple(log.key for log in self.logs if log.key.name == origin)

    def signed_by_log(self, note: Note, checkpoint: Checkpoint) -> bool:
        """Return whether a key of its log has signed the checkpoint.  Raises SignatureInvalid."""
        times = [_verify(key, note, checkpoint) for key in self.keys_of(checkpoint.origin)]
        return any(time is not None for time in times)

    def cosignatures(self, note: Note, checkpoint: Checkpoint) -> tuple[Cosignature, ...]:
        """Return the cosignatures by witnesses of the policy.  Raises SignatureInvalid."""
        times = [(each.name, _verify(each.key, note, checkpoint)) for each in self.witnesses]
        return tuple(Cosignature(name, at_s) for name, at_s in times if at_s is not None)

    def is_met_by(self, names: Iterable[str]) -> bool:
        """Return whether these witnesses are a quorum."""
        met = set(names)
        for group in self.groups:  # each names only groups above it
            if len(met.intersection(group.members)) >= group.needed:
                met.add(group.name)
        return self.quorum == NO_QUORUM or self.quorum in met

    def witnesses_of_quorum(self) -> tuple[str, ...]:
        """Return the names of the witnesses that count for the quorum, in the file's order."""
        counting = {self.quorum}
        for group in reversed(self.groups):
            if group.name in counting:
                counting.update(group.members)
        return tuple(each.name for each in self.witnesses if each.name in counting)


def _verify(key: VerifierKey, note: Note, checkpoint: Checkpoint) -> int | None:
    """Return the time of a key's signature, None if it has not signed.  Raises SignatureInvalid."""
    lines: list[NoteSignature] = [line for line in note.signatures if key.signed(line)]
    times = [key.verify(line.signature, checkpoint) for line in lines]
    if None in times:
        raise SignatureInvalid(f"a signature of {key.name} ({key.id}) does not verify")
    return times[0] if times else None


def load_policy(path: Path) -> Policy:
    """Read a policy file.  Raises PolicyInvalid, with the line."""
    try:
        with path.open("rb") as file:
            return parse_policy(file.read(MAX_POLICY_BYTES + 1))
    except OSError as exc:
        raise PolicyInvalid(f"{path} cannot be read: {exc.strerror}") from exc
    except PolicyInvalid as exc:
        raise PolicyInvalid(f"{path}, {exc.message}") from exc


def parse_policy(data: bytes) -> Policy:
    """Read the bytes of a policy.  Raises PolicyInvalid, whose message begins with the line."""
    if len(data) > MAX_POLICY_BYTES:
        raise PolicyInvalid(f"line 1: a policy has at most {MAX_POLICY_BYTES} bytes")
    parser = _Parser()
    number = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            if _CONTROL.search(line) is not None:
                raise ValueError("control characters but tabs are not allowed")
            parser.take(line.decode(errors="surrogateescape"))
        except ValueError as exc:
            raise PolicyInvalid(f"line {number}: {exc}") from exc
    if parser.quorum is None:
        raise PolicyInvalid(f"line {number}: there is no line `quorum`")
    parts = tuple(parser.logs), tuple(parser.witnesses), tuple(parser.groups)
    return Policy(*parts, parser.quorum)


@dataclass(slots=True)
class _Parser:
    """The definitions of the lines read so far.  members: names that a group has already."""

    logs: list[LogKey] = field(default_factory=list)
    witnesses: list[Witness] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    quorum: str | None = None
    names: set[str] = field(default_factory=set)
    members: set[str] = field(default_factory=set)

    def take(self, line: str) -> None:
        """Read one line.  Raises ValueError."""
        words = [word for word in _BLANKS.split(line) if word]
        if not words or words[0].startswith("#"):
            return
        keyword, *values = words
        parsers: dict[str, Callable[[list[str]], None]] = {
            "log": self._take_log,
            "witness": self._take_witness,
            "group": self._take_group,
            "quorum": self._take_quorum,
        }
        if keyword not in parsers:
            raise ValueError(f"{keyword[:60]!r} is none of {', '.join(parsers)}")
        parsers[keyword](values)

    def _take_log(self, values: list[str]) -> None:
        if len(values) not in (1, 2):
            raise ValueError("a log is `log <verifier key> [<url>]`")
        key = _parse_key(values[0], LOG_TYPES, [log.key for log in self.logs])
        _check_count(self.logs, "logs")
        self.logs.append(LogKey(key, _parse_urls(values[1:])))

    def _take_witness(self, values: list[str]) -> None:
        if len(values) not in (2, 3):
            raise ValueError("a witness is `witness <name> <verifier key> [<url>]`")
        name, encoded, *url = values
        key = _parse_key(encoded, WITNESS_TYPES, [each.key for each in self.witnesses])
        _check_count(self.witnesses, "witnesses")
        self._define(name)
        self.witnesses.append(Witness(name, key, _parse_urls(url)))

    def _take_group(self, values: list[str]) -> None:
        if len(values) < 3:
            raise ValueError("a group is `group <name> all|any|<k> <name>...`")
        name, threshold, *members = values
        _check_count(self.groups, "groups")
        for member in members:
            if member not in self.names:
                raise ValueError(f"{member[:60]!r} is not defined above")
            if member in self.members:
                raise ValueError(f"{member[:60]!r} is a member already")
            self.members.add(member)
        self._define(name)
        self.groups.append(Group(name, _parse_threshold(threshold, len(members)), tuple(members)))

    def _take_quorum(self, values: list[str]) -> None:
        if len(values) != 1:
            raise ValueError("a quorum is `quorum <name>` or `quorum none`")
        if self.quorum is not None:
            raise ValueError("there is a second line `quorum`")
        if values[0] != NO_QUORUM and values[0] not in self.names:
            raise ValueError(f"{values[0][:60]!r} is not defined above")
        self.quorum = values[0]

    def _define(self, name: str) -> None:
        if name == NO_QUORUM or name in self.names:
            raise ValueError(f"the name {name[:60]!r} is taken")
        self.names.add(name)


def _check_count(lines: list[LogKey] | list[Witness] | list[Group], kind: str) -> None:
    if len(lines) == MAX_LINES_OF_A_KIND:
        raise ValueError(f"a policy has at most {MAX_LINES_OF_A_KIND} {kind}")


def _parse_key(text: str, types: frozenset[KeyType], keys: Iterable[VerifierKey]) -> VerifierKey:
    try:
        key = parse_verifier_key(text)
    except KeyMalformed as exc:
        raise ValueError(f"{text[:60]!r} is no verifier key: {exc}") from exc
    if key.type not in types:
        names = " or ".join(str(int(each)) for each in sorted(types))
        raise ValueError(f"the key of {key.name} has the type {int(key.type)}, not {names}")
    if key.public in {each.public for each in keys}:
        raise ValueError(f"the key of {key.name} is there already")
    return key


def _parse_urls(values: list[str]) -> str | None:
    """Return the URL of a line, None if it has none."""
    return parse_url(values[0]) if values else None


def parse_url(text: str) -> str:
    """Return a URL of http or https without its trailing slash.  Raises ValueError."""
    try:
        parts = urlsplit(text)
        is_web = parts.scheme in ("http", "https") and bool(parts.hostname)
        is_plain = not (parts.query or parts.fragment or parts.username) and parts.port != 0
    except ValueError as exc:
        raise ValueError(f"{text[:60]!r} is no URL") from exc
    if not (is_web and is_plain):
        raise ValueError(f"{text[:60]!r} is no URL of http or https")
    return text.rstrip("/")


def _parse_threshold(text: str, count: int) -> int:
    if text in ("all", "any"):
        return count if text == "all" else 1
    if re.fullmatch("[1-9][0-9]?", text) is None or int(text) > count:
        raise ValueError(f"{text[:60]!r} is not all, any or a number from 1 to {count}")
    return int(text)
