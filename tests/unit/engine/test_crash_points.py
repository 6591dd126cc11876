from __future__ import annotations

import pytest

from streams.engine.crash_points import POINTS, install
from streams.errors import UsageError


@pytest.mark.parametrize(
    "point", ["nowhere", "after-commit:0", "after-commit:x", "after-commit:-1"]
)
def test_what_names_no_point_is_refused_with_the_names_there_are(point: str) -> None:
    with pytest.raises(UsageError) as refused:
        install(point)
    assert point in str(refused.value)
    assert all(name in refused.value.advice for name in POINTS)


@pytest.mark.parametrize("name", POINTS)
def test_a_point_is_a_method_of_its_owner(name: str) -> None:
    point = POINTS[name]
    assert callable(vars(point.owner)[point.method])


@pytest.mark.parametrize("name", POINTS)
def test_nothing_but_the_point_that_is_asked_for_is_wrapped(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for point in POINTS.values():
        method = vars(point.owner)[point.method]
        assert not hasattr(method, "__wrapped__")
        monkeypatch.setattr(point.owner, point.method, method)  # to be put back
    install(name)
    there = {(p.owner, p.method) for p in POINTS.values()}
    wrapped = {place for place in there if hasattr(vars(place[0])[place[1]], "__wrapped__")}
    assert wrapped == {(POINTS[name].owner, POINTS[name].method)}
