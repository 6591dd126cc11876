"""Runs of many agents, told in phases, each when the one before is on the log.

Most are short: a call, a progress, a result.  Some go through everything that the protocol has,
legal and illegal; some run out of money or of time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from streams.engine.records import Output
from tests.e2e.outputs import PARTITIONS, Json, Outputs
from tests.e2e.summit_manifests import CRITICS, FLAPPY, GHOST, TOOLS, WORKERS, Manifests
from tests.e2e.summit_talk import Said, Talk

Phases = Sequence[Sequence[Said]]
REPEATED, CONFLICTING, BAD = 0.05, 0.01, 0.01
_ODD = ("a:b", "a.b", "a_b", "A-b")


class Traffic:
    """made: for whom records are made.  Every choice is the dice's."""

    def __init__(self, made: Outputs, dice: random.Random) -> None:
        self._made, self._dice = made, dice
        self.manifests = Manifests(made, dice)
        self._number = 0

    def stories(self, count: int, rich: int) -> list[Phases]:
        """count: of short ones.  rich: of those that have everything."""
        stories = [self._short() for _ in range(count)]
        kinds: tuple[Callable[[], Phases], ...] = (
            *(self._any, self._tool, self._spender, self._tool, self._cancelled, self._judged),
            *(self._faulty, self._timed, self._wrong_call, self._late, self._forgotten),
        )
        stories += [kinds[n % len(kinds)]() for n in range(rich)]
        self._dice.shuffle(stories)
        return stories

    def records(self, messages: Sequence[Said]) -> Iterator[Output]:
        """Some of it twice, with other content, or in the wrong place; and some rubbish."""
        for topic, value in messages:
            record, lot = self._made.record(topic, value), self._dice.random()
            yield record
            if lot < REPEATED:
                yield record
            elif lot < REPEATED + CONFLICTING:
                yield self._made.record(topic, _another(value))
            elif lot < REPEATED + CONFLICTING + BAD:
                yield from self._bad(record)

    def _bad(self, record: Output) -> Iterator[Output]:
        dice = self._dice
        yield record._replace(value=dice.choice((None, b"", b"no Avro", b"\0\0\0\0\1")))
        yield record._replace(key=dice.choice((None, b"someone-else", b"\xff\xfe")))
        yield record._replace(partition=dice.randrange(PARTITIONS))

    def _talk(self, agent_id: str | None = None) -> Talk:
        self._number += 1
        odd = self._dice.choice(_ODD) if self._dice.random() < 0.05 else ""
        agent_id = agent_id or self._dice.choice((*WORKERS, *WORKERS, *FLAPPY))
        return Talk(f"run-{self._number}{odd}", agent_id, self._dice, self.manifests.known)

    def _short(self) -> Phases:
        who, dice, n = self._talk(), self._dice, self._number
        context: Json = {"traceId": f"tr-{n % 211}"} if n % 3 else {}
        if n % 5 == 0:
            context["parentRunId"] = f"run-{dice.randrange(n + 1) + 100_000}"
        if n % 4 == 0:
            context["budget"] = {"usd": 1, "tokens": 10}
        members: Json = {"verification": who.checked()} if n % 6 == 0 else {}
        return [[who.invoke(**context)], [who.progress()], [who.result(**members)]]

    def _any(self) -> Phases:
        """Everybody speaks at once."""
        who, dice = self._talk(), self._dice
        budget: Json = dice.choice(({}, {"usd": 0.3}, {"tokens": 5, "seconds": 900.0005}))
        messages = [self._one(who) for _ in range(dice.randrange(3, 9))]
        end = dice.choice((who.result, who.error, who.result))()
        return [[who.invoke(budget=budget)], messages, [end], [self._one(who) for _ in range(3)]]

    def _one(self, who: Talk) -> Said:
        dice = self._dice
        cost = dice.choice((0.0, 0.1, 0.3, 0.3000000004, 0.3000000006))
        makers: tuple[Callable[[], Said], ...] = (
            lambda: who.progress(dice.randrange(7), cost),
            lambda: who.progress(dice.randrange(7), cost, metrics=None),
            lambda: who.progress(replyId="r1"),
            lambda: who.progress(agentId="planner"),
            lambda: who.progress(metrics={"tokens": -1, "cost_usd": 0}),
            lambda: who.progress(output={}),
            lambda: who.verification(dice.choice(CRITICS)),
            lambda: who.cancel(agentId="tool-box"),
            lambda: who.invoke({"text": "other"}),
            lambda: who.result(dice.randrange(7), cost),
        )
        return dice.choice(makers)()

    def _spender(self) -> Phases:
        who, dice = self._talk(dice_agent(self._dice)), self._dice
        usd = dice.choice((0, 0.3, 1.25))
        over = dice.choice((0.0, 0.0000000004, 0.0000000006, 0.1))
        first = who.progress(usd=usd / 2)
        ends = (who.result, who.progress, who.error)
        end = dice.choice(ends)(metrics=who.metrics(9, usd + over))
        stop = who.error(status="budget_exceeded")
        budget: Json = {"usd": usd} if dice.random() < 0.7 else {"tokens": 8}
        if dice.random() < 0.1:
            budget = {"seconds": 900}
        return [[who.invoke(budget=budget)], [first], [dice.choice((end, end, stop))]]

    def _tool(self) -> Phases:
        who, dice = self._talk(), self._dice
        name = dice.choice((*TOOLS, *TOOLS, *TOOLS, "no-such-tool"))
        arguments = dice.choice((*[None] * 8, {"title": 3}, {}))
        budget: Json = {"seconds": 1} if dice.random() < 0.15 else {"usd": 2}
        trace = {"traceId": f"tr-{self._number % 7}"} if dice.random() < 0.5 else {}
        end = dice.choice(
            (
                who.result(output="to-be"),
                who.result(output=3),
                who.result(),
                who.error(error={"code": 4, "message": "no title", "data": {"n": 1}}),
                who.cancel("operator"),
                who.result(usd=2.5),
            )
        )
        ends = [] if "seconds" in budget else [[end]]
        return [[who.tool(name, arguments, budget=budget, **trace)], [who.progress()], *ends]

    def _cancelled(self) -> Phases:
        who, dice = self._talk(), self._dice
        first = who.cancel(reason="not needed")
        other = who.cancel(dice.choice(("desk-9", "operator")))
        phases = [[who.invoke()], [who.progress()][: dice.randrange(2)], [other], [first]]
        return [*phases, [first, who.result(tokens=99, usd=1.5)]]

    def _judged(self) -> Phases:
        who, dice = self._talk(dice_agent(self._dice)), self._dice
        if dice.random() < 0.2:
            who = self._talk(dice.choice(CRITICS))
        critic = dice.choice((*CRITICS, *CRITICS, "word-stats", GHOST, "flappy-0"))
        first = who.verification(critic)
        members: Json = {"verification": who.checked()} if dice.random() < 0.5 else {}
        bad = dice.choice(
            (
                who.verification(critic, metrics={"tokens": 1, "cost_usd": -1}),
                who.verification(critic, provenance=None),
                who.verification(critic, verification={"status": "passed", "score": 2}),
                who.verification(critic, verification=None),
                who.verification(critic, metrics=who.metrics(1, 0.5)),
            )
        )
        second = who.verification(dice.choice(CRITICS))
        return [[who.invoke()], [who.result(**members)], [bad], [first, first], [second]]

    def _faulty(self) -> Phases:
        """A final reply with bad content, and a good one that comes too late."""
        who, dice = self._talk(dice_agent(self._dice)), self._dice
        twice = [{"name": "tone", "passed": True}] * 2
        bad = dice.choice(
            (
                lambda: who.result(output={"words": "two", "a/b": 1}),
                lambda: who.result(output={}),
                lambda: who.result(output=[1]),
                lambda: who.result(output=None),
                lambda: who.result(metrics=None),
                lambda: who.result(metrics={"tokens": 1, "cost_usd": 2e6}),
                lambda: who.result(provenance=None),
                lambda: who.result(provenance={"model": "", "timestamp": "2026-02-30T00:00:00Z"}),
                lambda: who.result(provenance={"model": "m", "timestamp": "2026-02-30T00:00:00Z"}),
                lambda: who.result(status="failed"),
                lambda: who.result(verification={"status": "passed", "checks": twice}),
                lambda: who.error(status="completed"),
                lambda: who.error(error=None),
                lambda: who.error(error={"code": -32001, "message": "mine"}),
                lambda: who.error(status="budget_exceeded"),
                lambda: who.error(status="failed"),
            )
        )()
        return [[who.invoke()], [who.progress()][: dice.randrange(2)], [bad], [who.result()]]

    def _timed(self) -> Phases:
        """Out of time, and what is said then."""
        who, dice = self._talk(dice_agent(self._dice)), self._dice
        budget: Json = {"seconds": dice.choice((0.2, 0.5, 1, 1.5))}
        late = dice.choice((who.result, who.progress, who.cancel))()
        phases: Phases = [[who.progress()], [late], [who.error()]]
        return [[who.invoke(budget=budget)], [], *dice.choice((phases, []))]

    def _wrong_call(self) -> Phases:
        who, dice = self._talk(), self._dice
        ghost = self._talk(GHOST)
        topic, call = who.invoke()
        params = call["params"]
        nameless = {name: value for name, value in call.items() if name != "id"}
        bad = dice.choice(
            (
                (topic, nameless),
                (topic, {**call, "jsonrpc": "1.0"}),
                (topic, {**call, "caller": "x" * 201}),
                (topic, {**call, "params": {**params, "agentId": "No Agent"}}),
                who.invoke({"text": 3, "extra/one": 1}),
                who.invoke({}),
                who.invoke({"text": "x", "how": {"fold": 3}, "top": 10}),
                who.invoke(budget={"usd": -1}),
                who.invoke(parentRunId=who.run_id),
                who.invoke(traceId="no trace"),
                who.cancel(reason=""),
            )
        )
        unknown = [who.progress(), who.cancel(), who.error(replyId="no id")]
        how = {"text": "again", "how": {}}
        return [[bad], [dice.choice(unknown)], [who.invoke(how), ghost.invoke()], [who.result()]]

    def _late(self) -> Phases:
        who = self._talk(dice_agent(self._dice))
        return [
            [who.invoke()],
            [who.result()],
            [who.progress(usd=9.5), who.cancel()],
            [who.error()],
        ]

    def _forgotten(self) -> Phases:
        """The agent never answers, and the caller named no time."""
        who = self._talk(dice_agent(self._dice))
        return [[who.invoke()], [who.progress()][: self._dice.randrange(2)]]


def dice_agent(dice: random.Random) -> str:
    return dice.choice(WORKERS)


def _another(value: Json) -> Json:
    """The same id with other content."""
    if "method" in value:
        return {**value, "caller": "another"}
    return {**value, "provenance": {"model": "another", "timestamp": "2026-01-01T00:00:00Z"}}
