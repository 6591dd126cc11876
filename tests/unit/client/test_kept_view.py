"""Queries of a client that has no gateway."""

from __future__ import annotations

import pytest

from streams.client.kept_view import KeptView, asked_of
from streams.engine.store import DirectoryLock
from streams.errors import NotFound, UsageError
from streams.settings import Settings
from streams.views.parse import QueryError
from streams.views.positions import ViewBehind
from tests.unit.envelopes import IDEA_ID, idea
from tests.unit.views.bench import Bench

PACKET = f"/v1/apc/sessions/s1/packets/{IDEA_ID}"


@pytest.fixture
def view(bench: Bench) -> KeptView:
    settings = Settings(partitions=2, state_dir=bench.folder / "client")
    return KeptView(bench.log, settings, lambda: bench.now)


def ask(view: KeptView, path: str, query: str = "", wait_s: float = 0) -> object:
    return view.answer(asked_of(path, query), wait_s)


def test_an_answer_has_seen_all_that_was_committed(bench: Bench, view: KeptView) -> None:
    with pytest.raises(NotFound):
        ask(view, PACKET)
    bench.send("apc.packets", idea())
    answer = ask(view, PACKET)
    assert isinstance(answer, dict)
    assert answer["state"] == "ROUTED"
    view.close()


def test_an_answer_after_a_record_waits_for_it(bench: Bench, view: KeptView) -> None:
    (position,) = bench.append("apc.packets", idea())
    with pytest.raises(ViewBehind):
        ask(view, PACKET, f"after={position}")
    bench.host.run()
    assert ask(view, PACKET, f"after={position}")
    view.close()


def test_after_names_a_place_that_can_be(view: KeptView) -> None:
    for place in ("apc.events/0/1", "apc.packets/7/0", "nowhere"):
        with pytest.raises(QueryError, match="after"):
            ask(view, PACKET, f"after={place}")
    view.close()


@pytest.mark.parametrize("path", ["/", "/v1/nowhere", "/v1/apc/evaluate"])
def test_what_is_no_read_route(path: str) -> None:
    with pytest.raises(UsageError):
        asked_of(path, "")


def test_it_is_kept_for_the_next_client(bench: Bench, view: KeptView) -> None:
    bench.send("apc.packets", idea())
    ask(view, PACKET)
    view.close()
    rows_folder = bench.folder / "client" / "view" / "rows"
    assert any(rows_folder.iterdir())
    assert ask(view, PACKET)
    view.close()


def test_another_is_used_while_that_one_is_in_use(bench: Bench, view: KeptView) -> None:
    bench.send("apc.packets", idea())
    lock = DirectoryLock(bench.folder / "client" / "view")
    try:
        assert ask(view, PACKET)
        view.close()
    finally:
        lock.release()
    assert not (bench.folder / "client" / "view" / "rows").exists()
