"""The registry of handlers by payload type."""

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
from streams.asap.blocking import run_in_thread

Handler = Callable[[Envelope, Manifest], Envelope | Awaitable[Envelope]]
"""Takes an envelope and the manifest of its recipient; returns the reply."""

_SEPARATORS = re.compile("[^a-z0-9]")


class HandlerRegistry:
    """Handlers by payload type, in any spelling, also for types unknown to ASAP.  Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._handlers: dict[str, tuple[str, Handler]] = {}

    def register(self, payload_type: str, handler: Handler) -> None:
        """Set the handler of a payload type, replacing any other."""
        with self._lock:
            self._handlers[_registry_key(payload_type)] = payload_type, handler

    def has_handler(self, payload_type: str) -> bool:
        with self._lock:
            return _registry_key(payload_type) in self._handlers

    def registered_as(self, payload_type: str) -> str | None:
        """Return the spelling that the type's handler was registered with, or None."""
        with self._lock:
            entry = self._handlers.get(_registry_key(payload_type))
        return None if entry is None else entry[0]

    def list_handlers(self) -> list[str]:
        """Return the payload types as they were registered."""
        with self._lock:
            return [name for name, _ in self._handlers.values()]

    def dispatch(self, envelope: Envelope, manifest: Manifest) -> Envelope:
        """Return the reply of a synchronous handler.

        Raises HandlerNotFoundError, TypeError for an asynchronous one, and what the handler raises.
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
        """Return the reply of any handler; a synchronous one runs in a thread.

        Raises HandlerNotFoundError and what the handler raises.
        """
        handler = self._handler(envelope)
        if _is_async(handler):
            reply = handler(envelope, manifest)
        else:
            reply = await run_in_thread(handler, envelope, manifest)
        return await reply if inspect.isawaitable(reply) else reply

    def _handler(self, envelope: Envelope) -> Handler:
        with self._lock:
            entry = self._handlers.get(_registry_key(envelope.payload_type))
        if entry is None:
            raise HandlerNotFoundError(envelope.payload_type)
        return entry[1]


def _registry_key(payload_type: str) -> str:
    """Return the key that all spellings of a type share."""
    known = normalize_payload_type(payload_type)
    return known or _SEPARATORS.sub("", payload_type.lower()) or payload_type


def _is_async(handler: Handler) -> bool:
    called = type(handler).__call__
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(called)


def create_echo_handler() -> Handler:
    """Return a handler that completes a TaskRequest at once, with its input as `echoed`."""

    def echo(envelope: Envelope, manifest: Manifest) -> Envelope:
        request = envelope.typed_payload()
        echoed = request.input if isinstance(request, TaskRequest) else envelope.payload
        response = TaskResponse(
            task_id=f"task_{generate_id()}",
            status=TaskStatus.COMPLETED,
            result={"echoed": echoed},
        )
        return reply_to(envelope, response, sender=manifest.id)

    return echo


def create_default_registry() -> HandlerRegistry:
    """Return a registry whose one handler echoes each TaskRequest."""
    registry = HandlerRegistry()
    registry.register("TaskRequest", create_echo_handler())
    return registry
