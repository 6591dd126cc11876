"""Killed before any one of its operations, and again while that is settled: both sides moved, or
neither."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from streams.ops.rewind import Request, RewindEnvironment, RewindError, Target, resume, rewind
from streams.ops.rewind import run as steps
from streams.ops.rewind.git import Git
from streams.ops.rewind.journal import Journal
from streams.ops.rewind.service import OutcomeUnknown, Refused
from tests.unit.ops.rewind.ledger import SESSION, Killed, Ledger
from tests.unit.ops.rewind.trees import Tree

pytestmark = pytest.mark.slow

REQUEST = Request(SESSION, Target("A"))
OPERATIONS = 120
"""More than any of these rewinds has."""


class Axe:
    """Falls before the operation of that number: of git, of the journal or of the service."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.left: int | None = None
        for owner, name in ((Git, "ask"), (Journal, "write"), (Journal, "delete")):
            patch.setattr(owner, name, self._watched(getattr(owner, name)))

    def _watched(self, operation: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **kwargs: Any) -> Any:
            self.fall()
            return operation(*args, **kwargs)

        return watched

    def fall(self) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise Killed

    def kills(self, work: Callable[[], object], operation: int) -> bool:
        """Whether the work got as far as that operation, and was killed there."""
        self.left = operation
        try:
            work()
        except Killed:
            return True
        except RewindError:
            return False
        finally:
            self.left = None
        return False


@pytest.fixture
def axe(monkeypatch: pytest.MonkeyPatch) -> Axe:
    monkeypatch.setattr(steps, "PAUSE_S", 0)
    monkeypatch.setattr(steps, "CONFIRM_S", 0)
    return Axe(monkeypatch)


class Stage:
    """A fresh work tree and service, that fails as the case says."""

    def __init__(self, folder: Path, axe: Axe, case: Callable[[Ledger], None]) -> None:
        self.tree = Tree(folder)
        self.ledger = Ledger(dict(zip("ABC", self.tree.commits, strict=True)), watch=axe.fall)
        case(self.ledger)
        self.place = RewindEnvironment.of(
            folder, "gateway:1", self.ledger.connect, lambda line: None
        )
        self.branches = self.tree.branches

    def begin_again(self) -> None:
        """The service is well, and what was left is settled."""
        self.ledger.before.clear()
        self.ledger.after.clear()
        resume(self.place)

    def check(self) -> None:
        tree = self.tree
        place = (tree.commits[0], None) if self.ledger.is_applied() else (tree.commits[2], "main")
        assert tree.head == place
        assert tree.files() == tree.files_of(place[0])
        assert (tree.status, tree.branches) == ("", self.branches)
        assert not tree.journal.exists()
        assert not list(tree.journal.parent.glob("*.lock"))


def well(ledger: Ledger) -> None: ...


def refused(ledger: Ledger) -> None:
    ledger.before["confirm"] = Refused("over", "rewind_lapsed", "lapsed")


def unheard(ledger: Ledger) -> None:
    ledger.before["confirm"] = OutcomeUnknown("too slow")


def unanswered(ledger: Ledger) -> None:
    ledger.after["confirm"] = OutcomeUnknown("too slow")


def missing(ledger: Ledger) -> None:
    ledger.hashes["A"] = "beef" * 10


CASES = (well, refused, unheard, unanswered, missing)


def stages(
    folder: Path, axe: Axe, case: Callable[[Ledger], None], every: int = 1
) -> Iterator[Stage]:
    """One for each operation before which the rewind was killed."""
    for operation in range(0, OPERATIONS, every):
        stage = Stage(folder / f"{case.__name__}-{operation}", axe, case)
        if not axe.kills(partial(rewind, stage.place, REQUEST), operation):
            assert operation > 5
            return
        yield stage
    raise AssertionError("there are more operations than were tried")


@pytest.mark.parametrize("case", CASES)
def test_what_a_kill_leaves_is_settled(
    tmp_path: Path, axe: Axe, case: Callable[[Ledger], None]
) -> None:
    for stage in stages(tmp_path, axe, case):
        stage.begin_again()
        stage.check()


def test_the_same_command_again_brings_it_to_its_end(tmp_path: Path, axe: Axe) -> None:
    for stage in stages(tmp_path, axe, well):
        assert rewind(stage.place, REQUEST)["state"] == "applied"
        stage.check()
        assert stage.tree.head == (stage.tree.commits[0], None)


@pytest.mark.parametrize("case", [well, unanswered, unheard])
def test_a_kill_while_that_is_settled(
    tmp_path: Path, axe: Axe, case: Callable[[Ledger], None]
) -> None:
    for again in range(2, 14, 3):
        for stage in stages(tmp_path / str(again), axe, case, every=3):
            axe.kills(partial(resume, stage.place), again)
            stage.begin_again()
            stage.check()


def test_a_rewind_that_lapsed_meanwhile(tmp_path: Path, axe: Axe) -> None:
    for stage in stages(tmp_path, axe, well):
        lapse = {"prepared": "lapsed"}
        states = stage.ledger.states
        stage.ledger.states = {name: lapse.get(state, state) for name, state in states.items()}
        stage.begin_again()
        stage.check()
