"""The run as a list of generations, each a list of packets in the order in which they are sent."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import NamedTuple

from streams.demo.fleet_simulation import faults, research, teaching
from streams.demo.fleet_simulation.context import FleetContext, Sent, Session
from streams.demo.fleet_simulation.world import FIRST_TRANSFERS, PROTOCOLS, SWARMS, USE_CASES

GENERATIONS = 40
SEED = 20260419
ENDS = {"forecast": "CLOSED", "triage": "CLOSED", "routing": "HALTED", "support": "PROMOTION"}
"""The final coordination state of each use case."""
CLOSED, HALTED = frozenset({"session_closed"}), frozenset({"session_halted"})
__all__ = ["ENDS", "GENERATIONS", "SEED", "Generation", "Sent", "Story", "tell"]


class Generation(NamedTuple):
    number: int
    sent: list[Sent]


@dataclass(frozen=True)
class Story:
    """The generations of a run.

    sessions: by use case.  suffix: the end of protocol ids.
    """

    run_id: str
    sessions: dict[str, str]
    suffix: str
    generations: list[Generation]

    @property
    def packets(self) -> list[Sent]:
        return [sent for generation in self.generations for sent in generation.sent]

    def protocol_id(self, name: str) -> str:
        return name + self.suffix


def tell(
    name: str = "evolution", seed: int = SEED, *, suffix: str = "", checks_drift: bool = False
) -> Story:
    """Return the story of generations 0 to 40.

    name: of the run, which sessions begin with.  checks_drift: whether the service demands the
    drift checks, HEADRACE_APC_REQUIRE_ANTI_DRIFT.
    """
    sessions = [
        Session(
            f"{name}-{use_case}",
            name,
            use_case,
            suffix,
            checks_drift,
            random.Random(f"{seed}/{use_case}"),
            faults=number * 6,
        )
        for number, use_case in enumerate(USE_CASES)
    ]
    generations = [
        Generation(number, _interleaved([_scene(session, number) for session in sessions]))
        for number in range(GENERATIONS + 1)
    ]
    names = {session.use_case: session.name for session in sessions}
    return Story(name, names, suffix, generations)


def _scene(session: Session, number: int) -> list[Sent]:
    fleet = FleetContext(session, number)
    if number == 0:
        research.open_session(fleet)
    for turn in range(2 if number < FIRST_TRANSFERS else 1):
        swarm = SWARMS[(number + turn) % len(SWARMS)]
        research.work(fleet, f"builder/{swarm}")
    research.beats(fleet)
    research.found_protocols(fleet)
    if number < FIRST_TRANSFERS:
        faults.commit(fleet, 2)
        teaching.retract(fleet)
        return fleet.sent
    teaching.teach(fleet)
    teaching.latecomers(fleet)
    research.decide(fleet, at_last=number == GENERATIONS)
    faults.commit(fleet, 4)
    teaching.retract(fleet)
    if number == GENERATIONS:
        _end(fleet)
    return fleet.sent


def _end(fleet: FleetContext) -> None:
    """End the use cases: two publish to the commons and close, one exhausts its budget."""
    use_case = fleet.session.use_case
    protocol = PROTOCOLS[0]
    if ENDS[use_case] == "CLOSED":
        seed = teaching.transfer(fleet, protocol, "cedar", "ember", phase="PROMOTION")
        seed["payload"]["transfer_policy"]["mode"] = "COMMONS_SEED"
        fleet.send(seed)
        rules = CLOSED
    elif ENDS[use_case] == "HALTED":
        stop = {"signal": "STOP", "reason": "the budget is used up"}
        conductor = research.CONDUCTOR
        fleet.send(fleet.new("SIGNAL", "EXECUTION", stop, conductor, research.BUILDERS))
        rules = HALTED
    else:
        return
    for student in ("birch", "delta"):
        fleet.send(teaching.transfer(fleet, protocol, "ember", student), rules)


def _interleaved(scenes: list[list[Sent]]) -> list[Sent]:
    """Merge the scenes in turn, as their packets arrive on a shared log."""
    longest = max(map(len, scenes))
    return [fleet[n] for n in range(longest) for fleet in scenes if n < len(fleet)]
