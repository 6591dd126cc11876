"""The public names of headrace, in one import.

`Client`, the async client; `errors`; `LocalBus` and its classes; `serve_agent` and its classes for
Summit agents; `agent_stream` and `Settings`; and all names of ASAP, which are in `headrace.asap`
too.  A name is imported on first use: importing this package loads neither Kafka nor RocksDB.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headrace.packages import require_own_packages

if TYPE_CHECKING:
    from headrace import asap as asap
    from streams import *  # noqa: F403
    from streams.asap import *  # noqa: F403

require_own_packages()


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name == "asap":
        return import_module("headrace.asap")
    if name == "__all__":
        return sorted({"asap", *import_module("streams").__all__})
    for package in map(import_module, ("streams", "streams.asap")):
        if name in package.__all__:
            return getattr(package, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__getattr__("__all__")]
