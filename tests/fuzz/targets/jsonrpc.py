"""Bodies of any kind posted to the JSON-RPC servers: a coded answer, and no fault of theirs.

The first byte picks the server and what its sender prefers.  What a server says of a fault of its
own is a finding, whether in the answer or in its log: both answer everything with the status 200.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from schemas.asap import Capability, Endpoint, Manifest, derived_id
from streams.api.query_side import PlayContext
from streams.asap.blocking import run_without_loop
from streams.asap.on_log import service_server
from streams.asap.registry import create_default_registry
from streams.asap.server import Server as AsapServer
from streams.engine.records import Output, Record
from streams.gateway.http_response import dump_json
from streams.ingress.edges import ingress_topic_of
from streams.processing.encode import to_output
from streams.protocols.asap import scenario as asap
from streams.protocols.summit import scenario as summit
from streams.summit.rpc import Server as SummitServer
from streams.view_store.view import View
from tests.fuzz import rpc_seeds
from tests.fuzz.examples import EXAMPLES
from tests.fuzz.json_inputs import mutated
from tests.fuzz.rpc_answers import check_asap, check_summit
from tests.fuzz.targets.processors import System
from topology.summit import SUMMIT_MANIFESTS, SUMMIT_REPLIES

MOST = 400
"""Records that one system judges before the next one is made."""
PREFERS: tuple[Mapping[str, str], ...] = ({}, {"Prefer": "wait=0"}, {"Prefer": "wait=9"})


class World:
    """A system and the servers on its log; an agent is there, and a run that it has completed."""

    def __init__(self) -> None:
        self.system = System()
        self._folder = tempfile.TemporaryDirectory()
        self._view = View(self.system.log, Path(self._folder.name) / "view", "", self._now)
        self._ids = 0
        settings = self.system.settings
        self._most = settings.summit_batch_max
        context = PlayContext(
            settings, self._view, self._now, self._append, self._id, self._partitions
        )
        self._asap = service_server(settings, asap.PlayHost(context))
        self._alone = AsapServer(_manifest(), create_default_registry())
        self._summit = SummitServer(summit.PlayHost(context))
        self._begin()

    def _begin(self) -> None:
        self._example(SUMMIT_MANIFESTS.name, "manifests/word-stats.json")
        self.post_summit((EXAMPLES / "summit/calls/invoke.json").read_bytes(), {})
        self._example(SUMMIT_REPLIES.name, "replies/result.json")

    def _example(self, topic: str, name: str) -> None:
        value = json.loads((EXAMPLES / "summit" / name).read_bytes())
        self.system.judge(
            to_output(ingress_topic_of(topic), value, self._now(), self.system.settings)
        )

    def _now(self) -> int:
        return self.system.now

    def _id(self) -> str:
        self._ids += 1
        return derived_id(f"fuzz/{self._ids}", 0, self._now())

    def _partitions(self) -> dict[str, int]:
        return {topic.name: topic.partitions for topic in self.system.log.topics().values()}

    def _append(self, outputs: Sequence[Output]) -> list[Record]:
        return [self.system.judge(output) for output in outputs]

    def post_asap(self, body: bytes, headers: Mapping[str, str]) -> None:
        check_asap(body, run_without_loop(self._asap.answer(body, headers)).text())

    def post_alone(self, body: bytes, headers: Mapping[str, str]) -> None:
        """To a server without a log; its handler has a thread."""
        check_asap(body, asyncio.run(self._alone.answer(body, headers)).text())

    def post_summit(self, body: bytes, headers: Mapping[str, str]) -> None:
        reply = run_without_loop(self._summit.answer(body, headers))
        text = None if reply.body is None else dump_json(reply.body)
        check_summit(body, reply.status, text, self._most)
        sent = reply.headers.get("Headrace-Position", "")
        assert all(each.startswith("summit.calls/0/") for each in sent.split(",") if each), sent

    def close(self) -> None:
        self._view.close()
        self._folder.cleanup()
        self.system.close()


def _manifest() -> Manifest:
    return Manifest(
        id="urn:asap:agent:indexer:eu",
        name="indexer",
        version="2.3.0",
        description="Builds indexes.",
        capabilities=Capability(),
        endpoints=Endpoint(asap="http://agent.test/asap"),
    )


POSTS: tuple[Callable[[World, bytes, Mapping[str, str]], None], ...] = (
    World.post_asap,
    World.post_alone,
    World.post_summit,
)
WORLDS: list[World] = []


def seeds() -> list[bytes]:
    bodies = (rpc_seeds.asap(), rpc_seeds.asap(), rpc_seeds.summit())
    inputs = [bytes([server]) + body for server, requests in enumerate(bodies) for body in requests]
    return [*inputs, *(bytes([5]) + body for body in rpc_seeds.summit()[:5])]


def mutate(data: bytes, dice: random.Random) -> bytes | None:
    """Now and then in a batch, with itself or a request that wants no answer."""
    mutant = mutated(data, dice)
    if mutant is None or dice.random() < 0.8:
        return mutant
    first, other = mutant[1:], json.dumps(rpc_seeds.CANCEL).encode()
    parts = [first, dice.choice((first, other, data[1:]))]
    dice.shuffle(parts)
    return mutant[:1] + b"[" + b", ".join(parts) + b"]"


def run(data: bytes) -> None:
    if not data:
        return
    if WORLDS and WORLDS[0].system.count >= MOST:
        close()
    if not WORLDS:
        WORLDS.append(World())
    prefer, server = divmod(data[0], len(POSTS))
    with faults_told() as faults:
        POSTS[server](WORLDS[0], data[1:], PREFERS[prefer % len(PREFERS)])
    assert not faults, faults


def close() -> None:
    while WORLDS:
        WORLDS.pop().close()


class _Listener(logging.Handler):
    def __init__(self, messages: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._told = messages

    def emit(self, record: logging.LogRecord) -> None:
        self._told.append(self.format(record))


@contextmanager
def faults_told() -> Iterator[list[str]]:
    """What is logged as an error meanwhile, with its traceback, even where logging is disabled.

    An assertion that fails meanwhile tells of it too.
    """
    messages: list[str] = []
    listener, logger, before = _Listener(messages), logging.getLogger("streams"), _disabled()
    logger.addHandler(listener)
    logging.disable(logging.NOTSET)
    try:
        yield messages
    except AssertionError as exc:
        raise AssertionError("\n".join([*messages, str(exc)])) from exc
    finally:
        logging.disable(before)
        logger.removeHandler(listener)


def _disabled() -> int:
    disable_level: Any = logging.root.manager.disable
    return int(disable_level)
