"""Handlers by payload type (ASAP guide, 6.2)."""

from __future__ import annotations

import asyncio
import functools
import threading
from typing import Any

import pytest

from schemas.asap import Envelope, HandlerNotFoundError, Manifest, TaskResponse
from streams import HandlerRegistry, create_default_registry, create_echo_handler
from tests.unit.asap.support import AGENT, PLANNER, envelope, manifest


def same(envelope: Envelope, agent_manifest: Manifest) -> Envelope:
    return envelope


async def same_later(envelope: Envelope, agent_manifest: Manifest) -> Envelope:
    await asyncio.sleep(0)
    return envelope


class Later:
    async def __call__(self, envelope: Envelope, agent_manifest: Manifest) -> Envelope:
        return envelope


def registry(name: str, handler: Any) -> HandlerRegistry:
    handlers = HandlerRegistry()
    handlers.register(name, handler)
    return handlers


@pytest.mark.parametrize("registered", ["TaskRequest", "task.request", "TASK_REQUEST"])
@pytest.mark.parametrize("spelling", ["TaskRequest", "task.request", "task-request", "taskrequest"])
def test_a_type_is_found_in_any_spelling(registered: str, spelling: str) -> None:
    handlers = registry(registered, same)
    assert handlers.has_handler(spelling)
    assert handlers.list_handlers() == [registered]
    of = envelope().model_copy(update={"payload_type": spelling})
    assert handlers.dispatch(of, manifest()) is of


@pytest.mark.parametrize("name", ["acme.ping", "…", "TaskRequestX"])
def test_types_that_asap_does_not_know(name: str) -> None:
    handlers = registry(name, same)
    of = envelope().model_copy(update={"payload_type": name})
    assert handlers.dispatch(of, manifest()) is of
    assert not handlers.has_handler("TaskRequest")
    assert not handlers.has_handler("other")


def test_the_last_one_wins() -> None:
    handlers = registry("TaskRequest", create_echo_handler())
    handlers.register("task.request", same)
    of = envelope()
    assert handlers.dispatch(of, manifest()) is of
    assert handlers.list_handlers() == ["task.request"]


def test_the_list_is_a_copy() -> None:
    handlers = create_default_registry()
    handlers.list_handlers().clear()
    assert handlers.list_handlers() == ["TaskRequest"]


def test_nobody_handles_it() -> None:
    with pytest.raises(HandlerNotFoundError, match="for payload type: TaskRequest"):
        HandlerRegistry().dispatch(envelope(), manifest())
    with pytest.raises(HandlerNotFoundError):
        asyncio.run(HandlerRegistry().dispatch_async(envelope(), manifest()))


@pytest.mark.parametrize("handler", [same_later, Later(), functools.partial(same_later)])
def test_dispatch_takes_no_coroutine(handler: Any) -> None:
    with pytest.raises(TypeError, match="dispatch_async"):
        registry("TaskRequest", handler).dispatch(envelope(), manifest())


@pytest.mark.parametrize(
    "handler",
    [same, same_later, Later(), functools.partial(same_later), lambda e, m: same_later(e, m)],
)
def test_dispatch_async_takes_all(handler: Any) -> None:
    of = envelope()
    reply_envelope = asyncio.run(registry("TaskRequest", handler).dispatch_async(of, manifest()))
    assert reply_envelope is of


def test_plain_handlers_do_not_hold_up_the_loop() -> None:
    both = threading.Barrier(2, timeout=60)

    def meet(envelope: Envelope, agent_manifest: Manifest) -> Envelope:
        both.wait()
        return envelope

    async def twice() -> None:
        handlers = registry("TaskRequest", meet)
        await asyncio.gather(*(handlers.dispatch_async(envelope(), manifest()) for _ in range(2)))

    asyncio.run(twice())


def test_what_a_handler_raises_comes_through() -> None:
    def failing(envelope: Envelope, agent_manifest: Manifest) -> Envelope:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        asyncio.run(registry("TaskRequest", failing).dispatch_async(envelope(), manifest()))


def test_threads_may_register_at_once() -> None:
    handlers = HandlerRegistry()

    def work(number: int) -> None:
        for index in range(200):
            handlers.register(f"Type{number}x{index}", same)
            assert handlers.has_handler(f"type{number}X{index}")
            handlers.list_handlers()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(handlers.list_handlers()) == 1600


def test_the_echo() -> None:
    of = envelope(trace_id="tr-1")
    reply = create_default_registry().dispatch(of, manifest())
    payload = reply.typed_payload()
    assert isinstance(payload, TaskResponse)
    assert (reply.sender, reply.recipient) == (AGENT, PLANNER)
    assert (reply.correlation_id, reply.trace_id, reply.asap_version) == (of.id, "tr-1", "0.1")
    assert (payload.status, payload.result) == ("completed", {"echoed": of.payload["input"]})
    assert payload.task_id.startswith("task_")
    assert len(payload.task_id) == 5 + 26
