from __future__ import annotations

import pytest

from streams.engine.crash_points import POINTS, install
from streams.errors import UsageError
from streams.ops.tlog.crash_points import POINTS as LOG_WRITER_POINTS

PLACES = {**POINTS, **LOG_WRITER_POINTS}


@pytest.mark.parametrize(
    "point", ["nowhere", "after-commit:0", "after-commit:x", "after-commit:-1"]
)
def test_what_names_no_point_is_refused_with_the_names_there_are(point: str) -> None:
    with pytest.raises(UsageError) as refused:
        install(point)
    assert point in str(refused.value)
    assert all(name in refused.value.advice for name in POINTS)


def test_a_point_of_another_kind_of_process_is_refused() -> None:
    with pytest.raises(UsageError, match="before-decide"):
        install("before-decide", LOG_WRITER_POINTS)


@pytest.mark.parametrize("name", PLACES)
def test_a_point_is_a_method_of_its_owner(name: str) -> None:
    point = PLACES[name]
    assert callable(vars(point.owner)[point.method])


@pytest.mark.parametrize("name", PLACES)
def test_nothing_but_the_point_that_is_asked_for_is_wrapped(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for point in PLACES.values():
        method = vars(point.owner)[point.method]
        assert not hasattr(method, "__wrapped__")
        monkeypatch.setattr(point.owner, point.method, method)  # to be put back
    install(name, PLACES)
    there = {(p.owner, p.method) for p in PLACES.values()}
    wrapped = {place for place in there if hasattr(vars(place[0])[place[1]], "__wrapped__")}
    assert wrapped == {(PLACES[name].owner, PLACES[name].method)}
