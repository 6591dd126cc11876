from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from streams.ops.rewind import Request, RewindEnvironment, Target
from tests.unit.ops.rewind.ledger import SESSION, Ledger
from tests.unit.ops.rewind.trees import Tree


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "work")


@pytest.fixture
def ledger(tree: Tree) -> Ledger:
    """Tasks A, B and C made the three commits."""
    return Ledger(dict(zip("ABC", tree.commits, strict=True)))


@pytest.fixture
def messages() -> list[str]:
    return []


@pytest.fixture
def environment(tree: Tree, ledger: Ledger, messages: list[str]) -> RewindEnvironment:
    return RewindEnvironment.of(tree.path, "gateway:1", ledger.connect, messages.append)


@pytest.fixture
def to() -> Callable[[str], Request]:
    """A rewind to the commit of a task."""
    return lambda task_id: Request(SESSION, Target(task_id))
