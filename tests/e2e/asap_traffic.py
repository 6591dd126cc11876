"""Tasks and calls of many agents, told in phases, each when the one before is on the log.

Most tasks are short: a request, a working update that saves, another save, the response with a
final state.  Some go through everything that the protocol has, legal and illegal; some share an
idempotency key, have a parent, or run out of time.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import TypeVar

from streams.engine.records import Output
from tests.e2e.asap_envelopes import Speaker, envelope
from tests.e2e.outputs import PARTITIONS, Json, Outputs
from topology.asap import ASAP_ENVELOPES, ASAP_MANIFESTS

PLANNERS = tuple(f"urn:asap:agent:planner:{n}" for n in range(3))
WORKERS = tuple(f"urn:asap:agent:worker:{n}" for n in range(6))
GHOST, STRANGER = "urn:asap:agent:ghost", "urn:asap:agent:stranger"
Phase = list[Json] | tuple[Json, ...]
"""A list is said in any order, a tuple in its own."""
Phases = Sequence[Phase]
Said = TypeVar("Said")
REPEATED, CONFLICTING, MISPLACED = 0.05, 0.01, 0.005
_ENDS = ("completed", "completed", "completed", "failed", "cancelled")
_ODD = ("/1", "%2F", "@2", " \u00e9\U0001f9ed", "..", "?at=1", ":")
_STATES = ({"data": {"page": 9}}, {"page": 10, "data": None}, {"data": [1]}, None)


class Traffic:
    """made: for whom records are made.  Every choice is the dice's."""

    def __init__(self, made: Outputs, dice: random.Random) -> None:
        self._made, self._dice = made, dice
        self._number = 0

    def manifests(self) -> list[Output]:
        """Of everybody but the ghost; one of them twice."""
        manifests = [
            {
                "id": urn,
                "name": urn,
                "version": "1.0",
                "description": "",
                "capabilities": {"asap_version": "0.1", "skills": [], "mcp_tools": []}
                | {"state_persistence": True, "streaming": False},
                "endpoints": {"asap": "http://localhost/asap", "events": None},
                "auth": None,
                "signature": None,
            }
            for urn in (*PLANNERS, *WORKERS, STRANGER, WORKERS[0])
        ]
        return [self._made.record(ASAP_MANIFESTS, each) for each in manifests]

    def stories(self, count: int, rich: int) -> list[Phases]:
        """count: of short ones.  rich: of those that have everything."""
        stories = [self._short() for _ in range(count)]
        stories += [self._rich(self._dice.random() < 0.5) for _ in range(rich)]
        stories += [self._call() for _ in range(rich // 2)]
        stories += [self._timed() for _ in range(rich // 10)]
        stories += [self._many_names() for _ in range(rich // 40)]
        self._dice.shuffle(stories)
        return stories

    def families(self, count: int) -> list[Phases]:
        """Requests with keys and parents: each phase knows those before it."""
        stories = [self._keyed() for _ in range(count)] + [self._chain() for _ in range(count // 8)]
        queued = [each for _ in range(count) for each in self._queued()]
        return stories + queued + [self._too_many() for _ in range(count // 16)]

    def records(self, values: Sequence[Json]) -> Iterator[Output]:
        """Some of it twice, with other content, or in the wrong place; and some rubbish."""
        for value in values:
            record, lot = self._made.record(ASAP_ENVELOPES, value), self._dice.random()
            yield record
            if lot < REPEATED:
                yield record
            elif lot < REPEATED + CONFLICTING:
                other = self._dice.choice(({"trace_id": "another"}, {"sender": STRANGER}))
                yield self._made.record(ASAP_ENVELOPES, {**value, **other})
            elif lot < REPEATED + CONFLICTING + MISPLACED:
                yield from self._bad(value)

    def _bad(self, value: Json) -> Iterator[Output]:
        rubbish = self._dice.choice((None, b"", b"no Avro", b"\0\0\0\0\1", b"\0\0\0\0\0x"))
        yield Output(self._made.name(ASAP_ENVELOPES), value["id"].encode(), rubbish)
        key = self._dice.choice((None, b"someone-else", b"\xff\xfe"))
        yield self._made.record(ASAP_ENVELOPES, value)._replace(key=key)
        yield self._made.record(ASAP_ENVELOPES, self._broken(value))
        somewhere = self._dice.randrange(PARTITIONS)
        yield self._made.record(ASAP_ENVELOPES, value)._replace(partition=somewhere)

    def _broken(self, value: Json) -> Json:
        kind, payload = value["payload_type"], value["payload"]
        of_kind: dict[str, Json] = {
            "TaskRequest": {"payload": {**payload, "config": {"timeout_seconds": 0}}},
            "MessageSend": {"payload": {**payload, "sender": STRANGER}},
            "TaskResponse": {"correlation_id": None},
        }
        any_kind = (
            {"asap_version": "0.2"},
            {"id": ""},
            {"sender": "urn:asap:agent:headrace"},
            {"recipient": "urn:nobody"},
            {"extensions": {"dev.headrace.nothing": 1}},
        )
        return {**value, **self._dice.choice((*any_kind, *[of_kind.get(kind, {})] * 5))}

    def _speaker(self) -> Speaker:
        dice = self._dice
        self._number += 1
        odd = dice.choice(_ODD) if dice.random() < 0.05 else ""
        people = [dice.choice(PLANNERS), dice.choice(WORKERS)]
        if dice.random() < 0.02:
            people[1] = people[0]
        return Speaker(f"t{self._number}{odd}", *people)

    def _asked(self, who: Speaker, parent: str | None = None, **config: object) -> Json:
        return who.request(config, parent, self._number)

    def _short(self) -> Phases:
        who, dice = self._speaker(), self._dice
        sourced = dice.random() < 0.3
        mode = "event-sourced" if sourced else "snapshot"
        request = self._asked(who, state_mode=mode, timeout_seconds=3600)
        change = {"data": {"at": 1, "of": who.task_id}, "checkpoint": dice.random() < 0.3}
        begun = who.update("working", progress={"percent": 40}, extensions=_saving(change))
        again: Json = {"patch": {"at": 2}} if sourced else {"data": {"at": 2}}
        end = who.response(dice.choice(_ENDS), {"data": {"done": who.task_id}})
        return [[request], [begun], [who.save(again)], [end]]

    def _rich(self, sourced: bool) -> Phases:
        """In the middle, requester, worker and its double all speak at once."""
        who, dice = self._speaker(), self._dice
        mode: Json = {"state_mode": "event-sourced", "event_retention_hours": 1} if sourced else {}
        first: list[Phase] = [[self._asked(who, **mode)], [who.update("working")]]
        updates = [self._any(who, sourced) for _ in range(dice.randrange(4, 14))]
        turns = [
            [who.update(dice.choice(("paused", "input_required")), input_request={"prompt": "?"})]
        ]
        turns += [[dice.choice((who.update("working"), who.message("user")))]]
        more = [self._any(who, sourced) for _ in range(dice.randrange(6))]
        late = [who.response("failed"), who.cancel(), who.query(None), who.save({"data": {}})]
        late += [who.message("user"), who.restore(f"{who.task_id}@1")]
        return [*first, updates, *turns, more, *self._ended(who), dice.sample(late, 3)]

    def _ended(self, who: Speaker) -> list[Phase]:
        dice, lot = self._dice, self._dice.random()
        if lot < 0.2:
            return [[who.cancel()], [who.response("cancelled", {"data": {"late": True}})]]
        if lot < 0.3:
            done = who.update("completed", extensions=_saving({"data": {"by": "update"}}))
            return [[done], [who.response("completed", size=10)]]
        state, size = dice.choice(_STATES), dice.choice((0, 0, 9000))
        return [[who.response(dice.choice((*_ENDS, "paused")), state, size=size)]]

    def _any(self, who: Speaker, sourced: bool) -> Json:
        dice, n = self._dice, self._dice.randrange(1000)
        lot = dice.randrange(20)
        if lot < 5:
            return who.save({"data": {"n": n}, "checkpoint": lot == 0}, to_requester=lot == 1)
        if lot < 8:
            patch = {f"m{n % 4}": dice.choice((n, None, {"deep": {"n": n}}))}
            change: Json = {"patch": patch, "checkpoint": lot == 5}
            fixed: Json = {"data": {"n": n}, "version": n % 7 + 1}
            if n % 2:
                who.snapshot_ids.append(f"{who.task_id}-s{len(who.snapshot_ids)}")
                fixed |= {"id": who.snapshot_ids[-1], "created_at": "2026-01-02T03:04:05.678901Z"}
            return who.save(change if sourced or lot == 5 else fixed)
        if lot == 8:
            return who.save(dice.choice(({"delete": True, "version": n % 5 + 1}, {"delete": True})))
        if lot < 11:
            return who.query(dice.choice((None, 0, n % 9, n % 40)), by_worker=lot == 9)
        if lot < 13:
            known = f"{who.task_id}@{n % 12}" if sourced else dice.choice(who.snapshot_ids)
            return who.restore(known, by_worker=lot == 11)
        if lot == 13:
            return who.message(dice.choice(("user", "assistant")), by_worker=n % 2 == 0)
        if lot == 14:
            return who.artifact()
        if lot == 15:
            return who.update("working", "progress", progress={"percent": n % 101})
        if lot == 16:
            return who.update("working", named=f"job-{n % 2}")
        return self._wrong(who)

    def _wrong(self, who: Speaker) -> Json:
        dice = self._dice
        foreign = {"recipient": STRANGER}
        return dice.choice(
            (
                lambda: who.cancel(STRANGER),
                lambda: who.update("submitted"),
                lambda: who.update("rejected"),
                lambda: who.update("working", "input_required"),
                lambda: who.update("failed", "progress"),
                lambda: who.update("working", **foreign),
                lambda: {**who.query(None), "sender": STRANGER},
                lambda: {**who.artifact(), "sender": who.requester, "recipient": who.worker},
                lambda: who.response("working"),
            )
        )()

    def _many_names(self) -> Phases:
        """A worker that has a new id for the task each time."""
        who = self._speaker()
        updates = [who.update("working", named=f"{who.task_id}-job-{n}") for n in range(18)]
        return [[self._asked(who)], [who.update("working")], updates, [who.response("completed")]]

    def _timed(self) -> Phases:
        """Out of time while it waits, and what the agents say then."""
        who, dice = self._speaker(), self._dice
        sourced = {"state_mode": "event-sourced"} if dice.random() < 0.5 else {}
        request = self._asked(who, timeout_seconds=dice.choice((1, 1.5, 2)), **sourced)
        begun = who.update("working", extensions=_saving({"data": {"begun": True}}))
        return [[request], [begun]]

    def _keyed(self) -> Phases:
        """Three requests with one key, and what is said of each."""
        first, key = self._speaker(), f"nightly-{self._number}"
        others = []
        for _ in range(2):
            other = self._speaker()
            other.requester, other.worker = first.requester, first.worker
            others.append(other)
        same = self._dice.random() < 0.5
        number = self._number
        requests = [
            one.request({"idempotency_key": key}, None, number if same else number + n)
            for n, one in enumerate((first, *others))
        ]
        updates = [one.update("working") for one in (first, *others)]
        ends = [
            one.response("completed", {"data": {"by": one.task_id}}) for one in (first, *others)
        ]
        again = self._speaker()
        again.requester, again.worker = first.requester, first.worker
        last = again.request({"idempotency_key": key}, None, number)
        return [requests, updates, ends, [last, again.update("working")]]

    def _queued(self) -> tuple[Phases, Phases]:
        """All at once: a request that asks other keys, a task's whole life behind it, a child."""
        who, child, dice = self._speaker(), self._speaker(), self._dice
        sourced = dice.random() < 0.5
        mode = {"state_mode": "event-sourced"} if sourced else {}
        request = who.request({"idempotency_key": who.task_id, **mode}, "nobody", self._number)
        updates = [self._any(who, sourced) for _ in range(dice.randrange(30))]
        envelopes = (request, who.update("working"), *updates, who.response("completed"))
        return [envelopes], [(self._asked(child, who.task_id), child.update("working"))]

    def _too_many(self) -> Phases:
        """More than may wait behind one request."""
        who = self._speaker()
        request = who.request({"idempotency_key": who.task_id}, None, self._number)
        return [(request, *[who.message("user") for _ in range(120)])]

    def _chain(self) -> Phases:
        """A parent that is unknown, and eleven generations below: the last is too deep."""
        phases: list[Phase] = []
        parent: str | None = "nobody" if self._dice.random() < 0.3 else None
        for n in range(12):
            who = self._speaker()
            key = {"idempotency_key": who.task_id} if n % 4 == 3 else {}
            phases.append([self._asked(who, parent, **key), who.update("working")][: 2 - n % 2])
            parent = who.task_id
        ghost = self._speaker()
        ghost.worker = GHOST
        return [*phases, [self._asked(ghost), ghost.update("working")]]

    def _call(self) -> Phases:
        dice, self._number = self._dice, self._number + 1
        caller, callee = dice.choice(PLANNERS), dice.choice((*WORKERS, GHOST))
        key, tool = f"call-{self._number}", dice.random() < 0.6
        trace: Json = {"trace_id": f"trace-{self._number % 211}"} if dice.random() < 0.5 else {}
        call = self._tool_call(key, caller, callee) if tool else self._fetch(key, caller, callee)
        answer = self._result(key, callee, caller) if tool else self._data(key, callee, caller)
        odd = dice.choice(
            (
                {"sender": STRANGER},
                {"recipient": STRANGER},
                {"correlation_id": "another"} if tool else {},
                {} if tool else {"payload": {"resource_uri": "file:///else", "content": {}}},
            )
        )
        wrong = {**answer, **odd, "id": f"{key}/odd"}
        late = {**answer, "id": f"{key}/late"}
        end = [] if dice.random() < 0.15 else [[answer]]
        if dice.random() < 0.3:
            trace["correlation_id"] = f"t{dice.randrange(1, self._number)}"
        return [[{**call, **trace}], [wrong], *end, *([[late]] if end else [])]

    def _tool_call(self, key: str, caller: str, callee: str) -> Json:
        payload: Json = {"request_id": key, "tool_name": "search", "mcp_context": None}
        payload["arguments"] = {"q": key}
        return envelope(f"{key}/open", "McpToolCall", payload, caller, callee)

    def _result(self, key: str, callee: str, caller: str) -> Json:
        success = self._dice.random() < 0.7
        payload: Json = {"request_id": key, "success": success, "result": None, "error": None}
        payload["result" if success else "error"] = {} if success else "no"
        about = {"correlation_id": f"{key}/open"}
        return envelope(f"{key}/answer", "McpToolResult", payload, callee, caller, **about)

    def _fetch(self, key: str, caller: str, callee: str) -> Json:
        payload = {"resource_uri": f"file:///{key}"}
        return envelope(key, "McpResourceFetch", payload, caller, callee)

    def _data(self, key: str, callee: str, caller: str) -> Json:
        payload = {"resource_uri": f"file:///{key}", "content": {"of": key}}
        about = {"correlation_id": key}
        return envelope(f"{key}/answer", "McpResourceData", payload, callee, caller, **about)


def lines(phase: Phase) -> Sequence[Sequence[Json]]:
    """What is to be said in order."""
    return [phase] if isinstance(phase, tuple) else [[value] for value in phase]


def _saving(change: Json) -> Json:
    return {"dev.headrace.snapshot": change}


def in_phases(stories: Sequence[Sequence[Said]]) -> Iterator[list[Said]]:
    """Phase by phase: for each story what it says in that phase."""
    for n in range(max(len(story) for story in stories)):
        yield [story[n] for story in stories if n < len(story)]
