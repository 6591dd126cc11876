"""The package `headrace` has the public names, and loads what they need on first use."""

from __future__ import annotations

import tomllib

import pytest

import headrace
import streams
import streams.asap
from streams import errors
from tests.processes import ROOT, loaded_by

HEAVY = ("confluent_kafka", "rocksdict", "faust", "fastapi", "httpx")


@pytest.mark.parametrize("name", streams.__all__)
def test_a_public_name_of_the_service_is_there(name: str) -> None:
    assert getattr(headrace, name) is getattr(streams, name)


def test_all_of_asap_is_there_twice() -> None:
    for name in streams.asap.__all__:
        expected = getattr(streams.asap, name)
        assert getattr(headrace, name) is expected
        assert getattr(headrace.asap, name) is expected


def test_the_names_are_listed() -> None:
    assert set(headrace.__all__) == {"asap", *streams.__all__}
    assert {"Client", "errors", "asap"} <= set(dir(headrace))
    assert headrace.errors is errors


def test_an_unknown_name_is_refused_as_usual() -> None:
    with pytest.raises(AttributeError, match="module 'headrace' has no attribute 'Clinet'"):
        _ = headrace.Clinet


def test_the_import_loads_nothing_heavy() -> None:
    assert loaded_by("import headrace", HEAVY) == []
    assert loaded_by("from headrace import *", ("faust",)) == []


def test_the_wheel_has_the_package_and_the_command_begins_in_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "headrace" in project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert project["project"]["scripts"] == {"headrace": "headrace.__main__:main"}
