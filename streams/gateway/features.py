"""The features that `/v1/service` lists, so that a client need not try what is there."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import NamedTuple

from streams.routes.table import ROUTES
from streams.settings.service import ServiceSettings


class Feature(NamedTuple):
    """A feature.  word: its name in the list.  present: whether a gateway so set has it."""

    word: str
    meaning: str
    present: Callable[[ServiceSettings], bool] = lambda settings: True


def _has_route(method: str, template: str) -> bool:
    return any((route.method, route.template) == (method, template) for route in ROUTES)


FEATURES: tuple[Feature, ...] = (
    Feature(
        "a2a",
        "agents of Summit as agents of A2A, at `/a2a/{agentId}`",
        lambda settings: settings.a2a and find_spec("a2a") is not None,
    ),
    Feature("as_of", "queries of one object take `as_of`"),
    Feature("budget_trees", "the budget of a Summit run bounds the runs below it too"),
    Feature("checkpoints", "signed checkpoints over the facts, and `sealed` in proofs"),
    Feature(
        "console",
        "a browser's console at `/console/`, and sessions",
        lambda settings: settings.console == "on",
    ),
    Feature(
        "mac",
        "records that no processor has written are not used",
        lambda settings: settings.mac_key is not None,
    ),
    Feature("mcp", "the Model Context Protocol at `/mcp`", lambda settings: settings.mcp),
    Feature("otlp", "spans of OpenTelemetry at `/v1/traces`"),
    Feature(
        "receipts",
        "receipts of records in a transparency log, and `receipt` in proofs",
        lambda settings: settings.tlog_policy is not None,
    ),
    Feature(
        "redrive",
        "dead letters are listed, and sent again",
        lambda settings: _has_route("POST", "/v1/dead-letters/redrive"),
    ),
)
"""All features that a release may have, in the order of the alphabet."""


def list_features(settings: ServiceSettings) -> list[str]:
    """Return the words of the features that are present."""
    return [feature.word for feature in FEATURES if feature.present(settings)]
