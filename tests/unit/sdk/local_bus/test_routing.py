"""Who gets a task: the agent it names, or the first that is able and available."""

from __future__ import annotations

from typing import Any

import pytest

from streams import Ack, Nack
from streams.errors import SettingsError
from tests.unit.sdk.local_bus.support import CAPABILITY, BusBench, id_of, open_bus, task

TARGET_A = {"capability": CAPABILITY, "agentId": "a"}


def refusal(at: BusBench, **target: Any) -> Nack:
    receipt = at.bus.dispatch(task(target={"capability": CAPABILITY, **target}))
    assert isinstance(receipt, Nack)
    return receipt


def test_an_unknown_destination() -> None:
    with open_bus() as at:
        at.bus.register("b", [CAPABILITY], lambda task: 1)
        nack = refusal(at, agentId="a")
        assert nack.reason is not None
        assert nack.reason.startswith("Unknown destination: a")
        assert (nack.rule, nack.code) == ("unknown_destination", "NOT_FOUND")
        assert at.bus.task(id_of(1)) is None
        assert at.kinds() == ["task", "ack"]


@pytest.mark.parametrize("target", [{}, {"agentId": "a"}])
def test_no_handler(target: dict[str, str]) -> None:
    with open_bus() as at:
        at.bus.register("a", ["other.thing"], lambda task: 1)
        nack = refusal(at, **target)
        assert nack.reason is not None
        assert nack.reason.startswith("No handler: ")
        assert (nack.rule, nack.code) == ("no_handler", "NOT_FOUND")


@pytest.mark.parametrize("target", [{}, {"agentId": "a"}])
def test_a_destination_that_is_not_available(target: dict[str, str]) -> None:
    with open_bus() as at:
        at.bus.register("a", [CAPABILITY], lambda task: 1, available=False)
        nack = refusal(at, **target)
        assert nack.reason is not None
        assert nack.reason.startswith("Destination not available: ")
        assert (nack.rule, nack.code) == ("destination_unavailable", "UNPROCESSABLE")
        at.bus.set_available("a", True)
        assert isinstance(at.bus.dispatch(task()), Ack)
        assert at.status() == "SUCCEEDED"


def test_validation_comes_before_routing() -> None:
    with open_bus() as at:
        assert at.bus.dispatch(task(protocolVersion="1")).rule == "bad_version"
        assert at.bus.dispatch(task()).rule == "no_handler"


def test_by_capability_the_first_available_in_order_of_registration() -> None:
    with open_bus() as at:
        for name in ("c", "a", "b"):
            at.bus.register(name, [CAPABILITY, "x"], lambda task, name=name: name)
        at.bus.dispatch(task(1))
        at.bus.set_available("c", False)
        at.bus.dispatch(task(2))
        at.bus.set_available("c", True)
        at.bus.dispatch(task(3))
        at.bus.dispatch(task(4, target={"capability": CAPABILITY, "agentId": "b"}))
        outcomes = [at.bus.outcome(id_of(n)) for n in range(1, 5)]
        assert [one.output for one in outcomes if one] == ["c", "a", "c", "b"]
        assert [one.producer.agentId for one in outcomes if one] == ["c", "a", "c", "b"]


def test_an_agent_is_registered_once() -> None:
    with open_bus() as at:
        at.bus.register("a", [CAPABILITY], lambda task: 1)
        with pytest.raises(ValueError, match="a is registered"):
            at.bus.register("a", ["x"], lambda task: 1)
        with pytest.raises(KeyError):
            at.bus.set_available("b", True)


def test_who_leaves_before_delivery_gets_nothing() -> None:
    with open_bus(deliver="manual") as at:
        at.bus.register("a", [CAPABILITY], lambda task: "a")
        at.bus.dispatch(task(target=TARGET_A))
        at.bus.set_available("a", False)
        assert at.bus.deliver_pending() == 0
        at.bus.set_available("a", True)
        assert at.bus.deliver_pending() == 1
        assert at.status() == "SUCCEEDED"


def test_settings_and_files_are_checked_at_the_start() -> None:
    with pytest.raises(SettingsError, match="SAP_RATE"):
        BusBench(sap_rat=3)
    with pytest.raises(SettingsError):
        BusBench(HEADRACE_SAP_CACHE_SCAN=0)
    with pytest.raises(SettingsError):
        BusBench(constitution=__file__)
    with pytest.raises(SettingsError):
        BusBench(authorization="/nowhere/at/all.toml")
    with pytest.raises(ValueError, match="inline or manual"):
        BusBench(deliver="later")
