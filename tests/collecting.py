"""Collects tests without the garbage collector, and keeps what was collected out of its sight.

A tester holds twenty thousand tests from beginning to end.  Python's collector looks through them
again and again while they are made, which takes as long as making them, and later with each full
collection.
"""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
