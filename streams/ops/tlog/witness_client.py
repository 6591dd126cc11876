"""The client of witnesses (tlog-witness): it asks all at once to cosign a checkpoint.

A witness has the last checkpoint that it has cosigned.  It cosigns a new one if a consistency proof
shows that the tree has only grown, so it never cosigns two that contradict each other.  Whatever it
answers, nothing is raised: an answer that is none is a result like others.
"""

from __future__ import annotations

import asyncio
import logging
import re
import ssl
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import httpx

from streams.errors import SettingsError
from streams.ops.tlog.note import (
    MAX_NOTE_BYTES,
    Checkpoint,
    Note,
    NoteMalformed,
    NoteSignature,
    parse_note,
    to_base64,
)
from streams.ops.tlog.policy import Policy, Witness

REST_S = 1.0
"""How long the rest is waited for once the quorum has cosigned."""
MAX_PAUSE_S = 300.0
_FIRST_PAUSE_S = 1.0
_MAX_SKEW_S = 600
_SIZE_TYPE = "text/x.tlog.size"
_SIZE = re.compile(rb"(0|[1-9][0-9]{0,18})\n")
_REFUSALS = (400, 403, 404)
_log = logging.getLogger("streams.ops.witnesses")


class WitnessOutcome(StrEnum):
    """The outcome of asking a witness."""

    COSIGNED = "cosigned"
    BEHIND = "behind"  # it named two sizes, one after the other
    AHEAD = "ahead"  # it has cosigned a longer tree
    CONFLICT = "witness_conflict"  # it has cosigned another tree
    REFUSED = "refused"  # it does not know this log, or knows another key
    BAD_RESPONSE = "bad_response"
    UNAVAILABLE = "unavailable"


class WitnessResult(NamedTuple):
    """The result of asking a witness of the policy.

    size: of the tree that it has cosigned, where it says that this is longer.
    signature: its cosignature.
    """

    name: str
    outcome: WitnessOutcome
    detail: str = ""
    size: int | None = None
    signature: NoteSignature | None = None


@dataclass(frozen=True, slots=True)
class CosigningRequest:
    """A checkpoint to be cosigned.

    note: with the signatures of the log only.  prove: returns the proof that the tree begins with
    that of a size.  published: the last checkpoint that was published, None without one.
    """

    checkpoint: Checkpoint
    note: Note
    prove: Callable[[int], Sequence[bytes]]
    published: Note | None = None

    def encode(self, old: int) -> bytes:
        """Return the body for a witness that has cosigned the tree of size `old`."""
        lines = [f"old {old}", *map(to_base64, self.prove(old)), "", ""]
        return "\n".join(lines).encode() + self.note.encode()


class _Response(NamedTuple):
    status: int
    content_type: str
    body: bytes


class _BodyTooLong(ValueError):
    """An error for an answer of more than 64 KiB."""


@dataclass(slots=True)
class _Endpoint:
    """An address with the witnesses there: one witness may have several keys.

    size: of the tree that it cosigned, or named, last.  pause_s: the last pause after it did not
    answer.  asked_from: when it may be asked again, on the client's clock.
    """

    url: str
    witnesses: tuple[Witness, ...]
    size: int = 0
    pause_s: float = 0.0
    asked_from: float = 0.0


class WitnessClient:
    """A client of the witnesses of a policy that have a URL.

    timeout_s: for one request.  authorities: a file of certificates to trust instead of the
    system's.  clock: monotonic, in s.  Raises SettingsError for a file that holds none.
    """

    def __init__(
        self,
        policy: Policy,
        timeout_s: float,
        authorities: Path | None = None,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._policy, self._timeout_s, self._clock = policy, timeout_s, clock
        by_url: dict[str, list[Witness]] = {}
        for witness in policy.witnesses:
            if witness.url is not None:
                by_url.setdefault(witness.url, []).append(witness)
        self._endpoints = [_Endpoint(url, tuple(group)) for url, group in by_url.items()]
        trusted = _load_authorities(authorities)
        self._loop = asyncio.Runner()
        self._client = httpx.AsyncClient(verify=trusted, timeout=timeout_s, transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        with self._loop:
            self._loop.run(self._client.aclose())

    def probe(self, note: Note, checkpoint: Checkpoint) -> list[WitnessResult]:
        """Ask which size each witness knows, with the empty tree, which contradicts no other."""
        request = CosigningRequest(checkpoint, note, lambda old: ())
        results = self._loop.run(self._ask_all(request, lambda names: False))
        for endpoint in self._endpoints:
            self._set_pause(endpoint, failed=False)  # the first checkpoint goes to all
        return results

    def cosign(self, request: CosigningRequest) -> list[WitnessResult]:
        """Ask all witnesses; once the quorum has cosigned, wait only a second for the rest."""
        return self._loop.run(self._ask_all(request, self._policy.is_met_by))

    async def _ask_all(
        self, request: CosigningRequest, is_enough: Callable[[set[str]], bool]
    ) -> list[WitnessResult]:
        now = self._clock()
        due = [each for each in self._endpoints if each.asked_from <= now]
        tasks = {asyncio.create_task(self._ask(each, request)): each for each in due}
        await _wait_for_quorum(list(tasks), is_enough)
        results = {}
        for task, endpoint in tasks.items():
            if task.done():
                results[endpoint.url] = task.result()
            else:
                task.cancel()
                detail = "it had not answered when the quorum was there"
                results[endpoint.url] = _same(endpoint, WitnessOutcome.UNAVAILABLE, detail)
        await asyncio.gather(*tasks, return_exceptions=True)
        for endpoint in self._endpoints:
            if endpoint.url not in results:
                detail = f"it is asked again in {endpoint.asked_from - now:.0f} s"
                results[endpoint.url] = _same(endpoint, WitnessOutcome.UNAVAILABLE, detail)
        return [result for group in results.values() for result in group]

    async def _ask(self, endpoint: _Endpoint, request: CosigningRequest) -> list[WitnessResult]:
        """Ask the witnesses at an address; a second time if they name another size."""
        try:
            results = await self._ask_twice(endpoint, request)
        except _BodyTooLong as exc:
            results = _same(endpoint, WitnessOutcome.BAD_RESPONSE, str(exc))
        except TimeoutError:
            detail = f"it takes longer than {self._timeout_s:g} s"
            results = _same(endpoint, WitnessOutcome.UNAVAILABLE, detail)
        except (httpx.HTTPError, httpx.InvalidURL) as exc:
            detail = str(exc) or type(exc).__name__
            results = _same(endpoint, WitnessOutcome.UNAVAILABLE, detail)
        self._set_pause(endpoint, results[0].outcome is WitnessOutcome.UNAVAILABLE)
        return results

    def _set_pause(self, endpoint: _Endpoint, failed: bool) -> None:
        pause_s = max(_FIRST_PAUSE_S, 2 * endpoint.pause_s) if failed else 0.0
        endpoint.pause_s = min(MAX_PAUSE_S, pause_s)
        endpoint.asked_from = self._clock() + endpoint.pause_s

    async def _ask_twice(
        self, endpoint: _Endpoint, request: CosigningRequest
    ) -> list[WitnessResult]:
        ours = request.checkpoint.size
        for _ in range(2):
            old = min(endpoint.size, ours)
            response = await self._post(endpoint, request.encode(old))
            size = _parse_size(response)
            if size is None:
                return self._judge(endpoint, request, response)
            endpoint.size = size
            if size > ours:
                detail = f"it has cosigned {size} entries, and the tree has {ours}"
                results = _same(endpoint, WitnessOutcome.AHEAD, detail)
                return [result._replace(size=size) for result in results]
        return _same(endpoint, WitnessOutcome.BEHIND, "it names one size after the other")

    async def _post(self, endpoint: _Endpoint, body: bytes) -> _Response:
        """Send a request.  Raises TimeoutError, HTTPError, _BodyTooLong."""
        url, headers = f"{endpoint.url}/add-checkpoint", {"Accept-Encoding": "identity"}
        async with (
            asyncio.timeout(self._timeout_s),
            self._client.stream("POST", url, content=body, headers=headers) as response,
        ):
            answer = b""
            async for part in response.aiter_raw():
                answer += part
                if len(answer) > MAX_NOTE_BYTES:
                    raise _BodyTooLong(f"it answers with more than {MAX_NOTE_BYTES} bytes")
            content_type = response.headers.get("content-type", "").partition(";")[0].strip()
            return _Response(response.status_code, content_type, answer)

    def _judge(
        self, endpoint: _Endpoint, request: CosigningRequest, response: _Response
    ) -> list[WitnessResult]:
        status = response.status
        if status == httpx.codes.OK:
            results = [_read_cosignature(each, request, response) for each in endpoint.witnesses]
            if any(result.signature is not None for result in results):
                endpoint.size = request.checkpoint.size
            return results
        detail = f"it answers with status {status}"
        if status == httpx.codes.UNPROCESSABLE_ENTITY:
            notes = [each for each in (request.published, request.note) if each is not None]
            texts = "\n".join(each.encode().decode() for each in notes)
            _log.error("%s has cosigned another tree than these:\n%s", endpoint.url, texts)
            return _same(endpoint, WitnessOutcome.CONFLICT, detail)
        if status in _REFUSALS:
            return _same(endpoint, WitnessOutcome.REFUSED, detail)
        if status == httpx.codes.TOO_MANY_REQUESTS or status >= 500:
            return _same(endpoint, WitnessOutcome.UNAVAILABLE, detail)
        return _same(endpoint, WitnessOutcome.BAD_RESPONSE, detail)


def _load_authorities(path: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=path)
    except OSError as exc:
        reason = exc.strerror or str(exc)
        raise SettingsError(f"HEADRACE_TLOG_WITNESS_CA: {path} cannot be used: {reason}") from exc


async def _wait_for_quorum(
    tasks: Collection[asyncio.Task[list[WitnessResult]]], is_enough: Callable[[set[str]], bool]
) -> None:
    """Wait until all are done, or for a second after those that have cosigned are enough."""
    loop, pending = asyncio.get_running_loop(), set(tasks)
    names: set[str] = set()
    deadline = loop.time() + REST_S if is_enough(names) else None
    while pending:
        timeout = None if deadline is None else max(0.0, deadline - loop.time())
        done, pending = await asyncio.wait(
            pending, timeout=timeout, return_when=asyncio.FIRST_COMPLETED
        )
        if not done:
            return
        names |= {each.name for task in done for each in task.result() if each.signature}
        if deadline is None and is_enough(names):
            deadline = loop.time() + REST_S


def _same(endpoint: _Endpoint, outcome: WitnessOutcome, detail: str) -> list[WitnessResult]:
    """Return one result for all witnesses at an address."""
    return [WitnessResult(witness.name, outcome, detail) for witness in endpoint.witnesses]


def _parse_size(response: _Response) -> int | None:
    """Return the size that a witness says it has cosigned, None if it says none."""
    if response.status != httpx.codes.CONFLICT or response.content_type != _SIZE_TYPE:
        return None
    match = _SIZE.fullmatch(response.body)
    return None if match is None else int(match[1])


def _read_cosignature(
    witness: Witness, request: CosigningRequest, response: _Response
) -> WitnessResult:
    """Return the cosignature of a witness in an answer; lines of other keys are ignored."""
    checkpoint = request.checkpoint
    try:
        note = parse_note(checkpoint.text.encode() + b"\n" + response.body)
    except NoteMalformed as exc:
        return WitnessResult(witness.name, WitnessOutcome.BAD_RESPONSE, str(exc))
    for line in filter(witness.key.signed, note.signatures):
        time_s = witness.key.verify(line.signature, checkpoint)
        if time_s is not None:
            _check_time(witness, time_s)
            return WitnessResult(witness.name, WitnessOutcome.COSIGNED, signature=line)
    detail = f"no signature in its answer is by {witness.key.name}+{witness.key.id}"
    return WitnessResult(witness.name, WitnessOutcome.BAD_RESPONSE, detail)


def _check_time(witness: Witness, time_s: int) -> None:
    skew_s = time_s - time.time()
    if abs(skew_s) > _MAX_SKEW_S:
        _log.warning("the clock of the witness %s is %.0f s off", witness.name, skew_s)


def add_cosignatures(note: Note, results: Sequence[WitnessResult]) -> Note:
    """Return a checkpoint with the cosignatures, in the order of their names."""
    lines = [result.signature for result in results if result.signature is not None]
    return note.add(sorted(lines, key=lambda line: (line.name, line.key_id)))
