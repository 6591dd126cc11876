"""The context of the demo's steps: sending, querying, waiting, printing, checking."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from streams.agents.process import running_agent, running_example
from streams.demo.system_client import SystemClient
from streams.engine.log import Log
from streams.engine.records import Output, position
from streams.errors import NegativeAnswer
from streams.log.dead_letters import read
from streams.log.record_json import record_json
from streams.settings import Settings
from topology.declarations import Topic

Json = dict[str, Any]
WAIT_S = 30.0


class DemoFailed(NegativeAnswer):
    default_advice = "That is a fault of headrace; please report it with this output."


@dataclass
class DemoContext:
    """The context of a run of the demo.

    door: the system's client.  log: for what has no route.  say: prints one line.

    latencies: ms from sending a record to seeing its answer.
    decision: the packet that a later step takes back.
    agent, example: context managers that run an agent of SAP with that id, or that example of
    Summit.
    """

    door: SystemClient
    log: Log
    settings: Settings
    say: Callable[[str], None]
    session: str = field(default_factory=lambda: f"demo-{uuid.uuid4().hex[:8]}")
    latencies: list[float] = field(default_factory=list)
    verdicts: dict[str, int] = field(default_factory=dict)
    checks: int = 0
    decision: Json = field(default_factory=dict)
    agent: Callable[[Settings, str], AbstractContextManager[None]] = running_agent
    example: Callable[[Settings, str], AbstractContextManager[None]] = running_example

    def send(self, topic: str, value: Json, trace: str = "") -> str:
        """Send one envelope and return its position once its answer is seen.

        trace: W3C trace context.
        """
        begun = time.monotonic()
        (position,) = self.door.send(topic, [value], trace)
        self.latencies.append((time.monotonic() - begun) * 1000)
        return position

    def send_bytes(self, topic: str, key: str, value: bytes) -> str:
        """Write bytes straight to Kafka, since every other way refuses them."""
        begun = time.monotonic()
        (record,) = self.log.append([Output(self.settings.prefix + topic, key.encode(), value)])
        self.door.see([position(record)])
        self.latencies.append((time.monotonic() - begun) * 1000)
        return position(record)

    def packet(self, packet: Json) -> Json:
        """Send a packet; returns its verdict."""
        where = self.send("apc.packets", packet)
        facts = self.facts(packet["packet_id"], packet["trace"]["session_id"])
        verdict = next(fact for fact in reversed(facts) if fact["cause"] == where)
        self.verdicts[verdict["verdict"]] = self.verdicts.get(verdict["verdict"], 0) + 1
        return verdict

    def facts(self, packet_id: str, session: str | None = None) -> list[Json]:
        """Return the facts about a packet.

        session: the packet's, if it is not the demo's.
        """
        path = f"/v1/apc/sessions/{session or self.session}/packets/{packet_id}/events"
        items: list[Json] = self.get(path)["items"]
        return items

    def state(self, packet_id: str) -> Json:
        row: Json = self.get(f"/v1/apc/sessions/{self.session}/packets/{packet_id}")
        return row

    def get(self, path: str, query: str = "") -> Any:
        answer = self.door.get(path, query)
        if answer.status != 200:
            raise DemoFailed(f"GET {path}?{query} is answered {answer.status}: {answer.body}")
        return answer.body

    def wait_for(self, what: str, question: Callable[[], Json | None]) -> Json:
        """Repeat the query until it has a result.  Raises DemoFailed after WAIT_S."""
        deadline = time.monotonic() + WAIT_S
        while (result := question()) is None:
            if time.monotonic() > deadline:
                raise DemoFailed(f"waited {WAIT_S:.0f} s for {what}")
            self.door.pause()
        return result

    def records(self, topic: Topic) -> Iterator[Json]:
        """Yield everything that is on a topic now, decoded."""
        for record in read(self.log, topic, self.settings.prefix):
            yield record_json(topic, record)

    def differs(self, *names: str) -> bool:
        """Return whether one of these settings differs from its default."""
        default = Settings()
        return any(getattr(self.settings, name) != getattr(default, name) for name in names)

    def expect(self, what: str, actual: object, expected: object) -> None:
        self.checks += 1
        if actual != expected:
            raise DemoFailed(f"{what} should be {expected}, but is {actual}")

    def show(self, name: str, text: object) -> None:
        self.say(f"    {name:<12}{text}")


def act(ctx: DemoContext, name: str, steps: Sequence[Callable[[DemoContext], None]]) -> None:
    """Run the steps of one act.  Raises DemoFailed, which names act and step."""
    begun, before = time.monotonic(), ctx.checks
    for number, step in enumerate(steps, 1):
        ctx.say(f"\n{number:>2}  {step.__doc__}")
        try:
            step(ctx)
        except DemoFailed as exc:
            raise DemoFailed(f"act {name}, step {number}: {exc.message}") from exc
    ctx.say(f"\nAll {ctx.checks - before} checks hold; {time.monotonic() - begun:.1f} s.")
