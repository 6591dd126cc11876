"""A log that is served over HTTP (tlog-tiles), and the comparison of a receipt with it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import TracebackType
from typing import NamedTuple, Self

import httpx

from streams.errors import LogUnavailable
from streams.ops.tlog.merkle import HASH_BYTES, ProofInvalid, check_consistency, prove_consistency
from streams.ops.tlog.note import MAX_NOTE_BYTES, Checkpoint, Note, NoteMalformed, parse_note
from streams.ops.tlog.policy import Policy
from streams.ops.tlog.receipt import Receipt, ReceiptFault, judge_note
from streams.ops.tlog.tiles import MAX_BUNDLE_BYTES, WIDTH, Tile, TileNodes

TIMEOUT_S, ANSWER_TIMEOUT_S = 10.0, 60.0
"""How long a connection may be silent, and how long a whole answer may take, headers included."""
_UNCOMPRESSED = {"Accept-Encoding": "identity"}
_NOT_FOUND = 404


class RemoteLog:
    """A client of one log.  Redirects are not followed.

    url: the prefix of its paths.  Reading raises LogUnavailable.
    """

    def __init__(self, url: str, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.url = url.rstrip("/")
        self._loop = asyncio.Runner()  # only what runs in a loop can be ended amid headers
        self._client = httpx.AsyncClient(timeout=TIMEOUT_S, transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        with self._loop:
            self._loop.run(self._client.aclose())

    def read_checkpoint(self) -> tuple[Note, Checkpoint]:
        """Return the newest checkpoint of the log; its signatures are not verified."""
        data = self._get("checkpoint", MAX_NOTE_BYTES)
        try:
            note = parse_note(data or b"")
            return note, Checkpoint.parse(note.text)
        except NoteMalformed as exc:
            raise LogUnavailable(f"{self.url}/checkpoint has no checkpoint: {exc}") from exc

    def read_tile(self, tile: Tile) -> bytes:
        """Return a hash tile, the beginning of the full one where the partial one is gone."""
        for candidate in dict.fromkeys((tile, replace(tile, width=WIDTH))):
            data = self._get(candidate.path, WIDTH * HASH_BYTES)
            if data is not None and len(data) == candidate.width * HASH_BYTES:
                return data[: tile.width * HASH_BYTES]
        raise LogUnavailable(f"{self.url}/{tile.path} is not there, or has another length")

    def read_bundle(self, tile: Tile) -> bytes:
        """Return an entry bundle, the full one where the partial one is gone."""
        for candidate in dict.fromkeys((tile, replace(tile, width=WIDTH))):
            data = self._get(candidate.path, MAX_BUNDLE_BYTES)
            if data is not None:
                return data
        raise LogUnavailable(f"{self.url}/{tile.path} is not there")

    def check_begins_with(self, old: Checkpoint, new: Checkpoint) -> None:
        """Check that the tree of `new`, a checkpoint of this log, begins with that of `old`.

        old: of no larger size.  Raises ProofInvalid, also if the tiles do not belong to `new`.
        """
        nodes = TileNodes(new.size, self.read_tile)
        path = prove_consistency(old.size, new.size, nodes.node)
        check_consistency(old.size, old.root, new.size, new.root, path)

    def _get(self, path: str, max_bytes: int) -> bytes | None:
        """Return the body at a path, None if the log has none there."""
        url = f"{self.url}/{path}"
        try:
            return self._loop.run(self._read_answer(url, max_bytes))
        except TimeoutError as exc:
            message = f"{url} takes longer than {ANSWER_TIMEOUT_S:.0f} s"
            raise LogUnavailable(message) from exc
        except (httpx.HTTPError, httpx.InvalidURL) as exc:
            raise LogUnavailable(f"{url} cannot be read: {str(exc) or type(exc).__name__}") from exc

    async def _read_answer(self, url: str, max_bytes: int) -> bytes | None:
        """Return the body at an address, None if there is none.  Raises TimeoutError too."""
        async with (
            asyncio.timeout(ANSWER_TIMEOUT_S),
            self._client.stream("GET", url, headers=_UNCOMPRESSED) as response,
        ):
            if response.status_code == _NOT_FOUND:
                return None
            if response.status_code != httpx.codes.OK:
                raise LogUnavailable(f"{url} answers with status {response.status_code}")
            return await _read_body(response, max_bytes)


async def _read_body(response: httpx.Response, max_bytes: int) -> bytes:
    body = b""
    async for part in response.aiter_raw():
        body += part
        if len(body) > max_bytes:
            raise LogUnavailable(f"{response.url} has more than {max_bytes} bytes")
    return body


class Comparison(NamedTuple):
    """The result of comparing a receipt with its log as it is now.

    fault: None if the log begins with the tree of the receipt.  note: the log's checkpoint.
    """

    fault: ReceiptFault | None
    detail: str
    note: Note


def compare_with_log(receipt: Receipt, policy: Policy, remote: RemoteLog) -> Comparison:
    """Check that a served log is a continuation of the one that the receipt is of.

    Raises LogUnavailable.
    """
    where, old = f"the log at {remote.url}", receipt.checkpoint
    note, new = remote.read_checkpoint()
    if new.origin != old.origin:
        return Comparison(ReceiptFault.LOG_UNKNOWN, f"{where} is {new.origin}", note)
    judgement = judge_note(note, new, policy)
    if judgement.fault is not None:
        return Comparison(judgement.fault, f"{where}: {judgement.detail}", note)
    if new.size < old.size:
        detail = f"{where} has {new.size} entries, the receipt's had {old.size}"
        return Comparison(ReceiptFault.LOG_SHORTER, detail, note)
    try:
        remote.check_begins_with(old, new)
    except ProofInvalid as exc:
        detail = f"{where} does not begin with the receipt's: {exc}"
        return Comparison(ReceiptFault.LOG_INCONSISTENT, detail, note)
    return Comparison(None, f"{where} has {new.size} entries and begins with the receipt's", note)
