"""Which handler answers which payload type."""

from __future__ import annotations

import inspect
import re
import threading
from collections.abc import Awaitable, Callable

from schemas.asap import (
    Envelope,
    HandlerNotFoundError,
    Manifest,
    TaskRequest,
    TaskResponse,
    TaskStatus,
    generate_id,
    normalize_payload_type,
    reply_to,
)
from streams.asap.blocking import in_thread

Handler = Callable[[Envelope, Manifest], Envelope | Awaitable[Envelope]]
"""Takes an envelope and the manifest of the agent it came to; gives the reply."""

_IDLE = re.compile("[^a-z0-9]")


class HandlerRegistry:
    """Payload types in any spelling, those that ASAP does not know too.  Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._handlers: dict[str, tuple[str, Handler]] = {}

    def register(self, payload_type: str, handler: Handler) -> None:
        """In place of the one that this type had."""
        with self._lock:
            self._handlers[_folded(payload_type)] = payload_type, handler

    def has_handler(self, payload_type: str) -> bool:
        with self._lock:
            return _folded(payload_type) in self._handlers

    def registered_as(self, payload_type: str) -> str | None:
        """The name that its handler was registered under; None without one."""
        with self._lock:
            found = self._handlers.get(_folded(payload_type))
        return None if found is None else found[0]

    def list_handlers(self) -> list[str]:
        """The payload types as they were registered."""
        with self._lock:
            return [name for name, _ in self._handlers.values()]

    def dispatch(self, envelope: Envelope, manifest: Manifest) -> Envelope:
        """The reply of a handler that is no coroutine.

        Raises HandlerNotFoundError, TypeError for one that is, and what the handler raises.
        """
        reply = self._handler(envelope)(envelope, manifest)
        if inspect.isawaitable(reply):
            if inspect.iscoroutine(reply):
                reply.close()
            raise TypeError(
                f"the handler of {envelope.payload_type} is asynchronous: use dispatch_async"
            )
        return reply

    async def dispatch_async(self, envelope: Envelope, manifest: Manifest) -> Envelope:
        """The reply of any handler; one that is no coroutine runs in a thread.

        Raises HandlerNotFoundError and what the handler raises.
        """
        handler = self._handler(envelope)
        if _is_async(handler):
            reply = handler(envelope, manifest)
        else:
            reply = await in_thread(handler, envelope, manifest)
        return await reply if inspect.isawaitable(reply) else reply

    def _handler(self, envelope: Envelope) -> Handler:
        with self._lock:
            found = self._handlers.get(_folded(envelope.payload_type))
        if found is None:
            raise HandlerNotFoundError(envelope.payload_type)
        return found[1]


def _folded(payload_type: str) -> str:
    """What all spellings of a type have in common."""
    known = normalize_payload_type(payload_type)
    return known or _IDLE.sub("", payload_type.lower()) or payload_type


def _is_async(handler: Handler) -> bool:
    called = type(handler).__call__
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(called)


def create_echo_handler() -> Handler:
    """Answers a TaskRequest at once: completed, with its input as `echoed`."""

    def echo(envelope: Envelope, manifest: Manifest) -> Envelope:
        request = envelope.typed_payload()
        asked = request.input if isinstance(request, TaskRequest) else envelope.payload
        response = TaskResponse(
            task_id=f"task_{generate_id()}",
            status=TaskStatus.COMPLETED,
            result={"echoed": asked},
        )
        return reply_to(envelope, response, sender=manifest.id)

    return echo


def create_default_registry() -> HandlerRegistry:
    """One that echoes each TaskRequest."""
    registry = HandlerRegistry()
    registry.register("TaskRequest", create_echo_handler())
    return registry
