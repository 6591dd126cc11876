"""The rules of the SAP guide, 5.4 once more, in the plainest form, to compare the processor with.

Times are ms since nine o'clock, which is a full second.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

WAIT_MS, LEASE_MS, MOST_WAITERS, SCAN = 30_000, 100_000, 3, 3


@dataclass(frozen=True)
class Ask:
    """A READ.  strict: only records with citations will do."""

    task: str
    mode: str = "prefer"
    max_age: int | None = None
    deadline: int | None = None
    strict: bool = False
    until: int = 0


@dataclass(frozen=True)
class Told:
    """What is compared of a verdict."""

    task: str
    verdict: str
    leader: bool = False
    version: int | None = None
    until: int | None = None


@dataclass
class Model:
    stored: list[tuple[int, bool]] = field(default_factory=list)  # second, with citations
    by_task: dict[str, int] = field(default_factory=dict)
    leader: str | None = None
    lapses: int = 0
    queue: list[Ask] = field(default_factory=list)

    def find(self, ask: Ask, now: int) -> tuple[str, int | None]:
        """The verdict without a flight, and the version of a hit."""
        if not self.stored:
            return "miss", None
        some_fresh = False
        for number in range(len(self.stored), max(0, len(self.stored) - SCAN), -1):
            second, cited = self.stored[number - 1]
            age = max(0, now // 1000 - second)
            if ask.max_age is None or age <= ask.max_age:
                some_fresh = True
                if cited or not ask.strict:
                    return "hit", number
        return ("misaligned" if some_fresh else "stale"), None

    def read(self, ask: Ask, now: int) -> list[Told]:
        verdict, version = self.find(ask, now)
        if verdict == "hit" or ask.mode == "only":
            return [Told(ask.task, verdict, version=version)]
        if self.leader is None:
            self.leader, self.lapses = ask.task, now + LEASE_MS
        if self.leader == ask.task:
            return [Told(ask.task, verdict, leader=True)]
        for other in self.queue:
            if other.task == ask.task:
                return [Told(ask.task, "waiting", until=other.until)]
        until = now + WAIT_MS if ask.deadline is None else min(now + WAIT_MS, ask.deadline)
        if len(self.queue) >= MOST_WAITERS or until <= now:
            return [Told(ask.task, verdict)]
        self.queue.append(replace(ask, until=until))
        return [Told(ask.task, "waiting", until=until)]

    def again(self, now: int) -> list[Told]:
        answers, left = [], []
        for ask in self.queue:
            verdict, version = self.find(ask, now)
            if verdict == "hit":
                answers.append(Told(ask.task, verdict, version=version))
            elif self.leader is None or self.leader == ask.task:
                if self.leader is None:
                    self.leader, self.lapses = ask.task, now + LEASE_MS
                answers.append(Told(ask.task, verdict, leader=True))
            else:
                left.append(ask)
        self.queue = left
        return answers

    def store(self, task: str, cited: bool, now: int) -> list[Told]:
        if task in self.by_task:
            answers = Told(task, "store_duplicate", version=self.by_task[task])
        else:
            self.stored.append((now // 1000, cited))
            self.by_task[task] = len(self.stored)
            answers = Told(task, "stored", version=len(self.stored))
        if self.leader == task:
            self.leader = None
        return [answers, *self.again(now)]

    def release(self, task: str, now: int) -> list[Told]:
        self.queue = [ask for ask in self.queue if ask.task != task]
        answers = [Told(task, "released")]
        if self.leader != task:
            return answers
        self.leader = None
        return answers + self.again(now)

    def tick(self, target: int) -> list[Told]:
        """Everything that is due until then, each at its own time; a lapse before a wait."""
        answers: list[Told] = []
        while True:
            dues = [ask.until + 1 for ask in self.queue]
            dues += [self.lapses] if self.leader is not None else []
            if not dues or (now := min(dues)) > target:
                return answers
            over = [ask for ask in self.queue if ask.until + 1 == now]
            if self.leader is not None and self.lapses == now:
                answers.append(Told(self.leader, "flight_lapsed"))
                self.leader = None
                answers += self.again(now)
            for ask in over:
                if ask in self.queue:
                    self.queue.remove(ask)
                    answers.append(Told(ask.task, "wait_expired"))
