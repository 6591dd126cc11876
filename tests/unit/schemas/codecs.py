"""Running a suite over the codec in Python and over the compiled one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from schemas import codec, native


def _forget_coders() -> None:
    for cached in (codec._writer, codec._coder, codec._coder_of):
        cached.cache_clear()


@pytest.fixture(scope="module", params=["on", "off"], ids=["compiled", "python"])
def each_codec(request: pytest.FixtureRequest) -> Iterator[None]:
    """Have the tests of a module run with either codec; Python's alone where no other is."""
    if request.param == "on" and not native.is_installed():
        pytest.skip("the compiled codec is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(native.VARIABLE, request.param)
        _forget_coders()
        yield
    _forget_coders()
