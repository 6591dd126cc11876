"""Witnesses for tests: one that follows its protocol, and answers that none gives."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from streams.ops.tlog.keys import cosign_checkpoint, cosigner_key
from streams.ops.tlog.merkle import EMPTY_ROOT, ProofInvalid, check_consistency
from streams.ops.tlog.note import Checkpoint, from_base64, parse_note
from streams.ops.tlog.policy import Policy, parse_policy
from tests.unit.ops.tlog.example_log import KEY, ORIGIN

SIZE_TYPE = "text/x.tlog.size"
Answer = Callable[[httpx.Request], Awaitable[httpx.Response]]


def respond(status: int, body: bytes = b"", content_type: str = "text/plain") -> httpx.Response:
    headers = {"content-type": content_type}
    return httpx.Response(status, headers=headers, stream=httpx.ByteStream(body))


class WitnessDouble:
    """A witness of one log.

    size, root: of the checkpoint that it has cosigned last.  requests: how many it has answered.
    lie: answers instead of it, if set.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        seed = name.encode().ljust(32, b".")
        self.private = Ed25519PrivateKey.from_private_bytes(seed)
        self.size, self.root = 0, EMPTY_ROOT
        self.requests = 0
        self.time_s = 1_732_435_300
        self.lie: Answer | None = None

    @property
    def line(self) -> str:
        """Return its line in a policy."""
        return f"witness {self.name} {cosigner_key(self.name, self.private)} http://{self.name}\n"

    async def answer(self, request: httpx.Request) -> httpx.Response:
        self.requests += 1
        if self.lie is not None:
            return await self.lie(request)
        assert (request.method, request.url.path) == ("POST", "/add-checkpoint")
        head, _, data = request.content.partition(b"\n\n")
        first, *proof = head.decode().split("\n")
        note = parse_note(data)
        checkpoint, old = Checkpoint.parse(note.text), int(first.removeprefix("old "))
        if checkpoint.origin != ORIGIN:
            return respond(404)
        if not any(KEY.verify(each.signature, checkpoint) == 0 for each in note.signatures):
            return respond(403)
        if old > checkpoint.size:
            return respond(400)
        if old != self.size:
            return respond(409, b"%d\n" % self.size, SIZE_TYPE)
        hashes = [from_base64(line) for line in proof]
        try:
            check_consistency(old, self.root, checkpoint.size, checkpoint.root, hashes)
        except ProofInvalid:
            return respond(422)
        self.size, self.root = checkpoint.size, checkpoint.root
        return respond(200, self.cosign(checkpoint))

    def cosign(self, checkpoint: Checkpoint) -> bytes:
        """Return the line of its cosignature."""
        return cosign_checkpoint(self.name, self.private, checkpoint, self.time_s).line.encode()


def always(response: Callable[[], httpx.Response]) -> Answer:
    """Return an answer that is the same for all requests."""

    async def answer(request: httpx.Request) -> httpx.Response:
        return response()

    return answer


async def stall(request: httpx.Request) -> httpx.Response:
    """Answer never."""
    await asyncio.Event().wait()
    raise AssertionError("it stalls")


def route(*witnesses: WitnessDouble) -> httpx.MockTransport:
    """Return a transport to these witnesses, by their names."""
    by_name = {witness.name: witness for witness in witnesses}

    async def handle(request: httpx.Request) -> httpx.Response:
        return await by_name[request.url.host].answer(request)

    return httpx.MockTransport(handle)


def policy_of(*witnesses: WitnessDouble, quorum: str = "all") -> Policy:
    """Return the policy with these witnesses.  quorum: all, any or a number of them."""
    lines = "".join(witness.line for witness in witnesses)
    names = " ".join(witness.name for witness in witnesses)
    group = f"group everybody {quorum} {names}\nquorum everybody\n"
    return parse_policy(f"log {KEY}\n{lines}{group}".encode())
