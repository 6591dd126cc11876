"""The registered versions of an agent, and the version of what is to be registered next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from streams.cli import common

if TYPE_CHECKING:
    from streams.routes.handle import Routes

PAGE = 500
"""How many facts about an agent are asked for at once."""
Json = dict[str, Any]


def bumped(manifest: Json, routes: Routes) -> Json:
    """Return a valid manifest with the version that `--bump` gives it.

    That is its own version if it is free, or registered with this content; else the highest
    registered version if that has this content; else the one after the highest.
    """
    versions = registered_versions(routes, manifest["metadata"]["name"])
    for version in (manifest["metadata"]["version"], *sorted(versions, key=_numbers)[-1:]):
        candidate = _with_version(manifest, version)
        content_hash = _hash(candidate)
        if versions.get(version, content_hash) == content_hash:
            return candidate
    *first, last = _numbers(version)
    return _with_version(manifest, ".".join(map(str, (*first, last + 1))))


def registered_versions(routes: Routes, agent_id: str) -> Mapping[str, str]:
    """Return the manifest's hash by version, of all versions of an agent that were accepted."""
    versions: dict[str, str] = {}
    query: Json = {"limit": PAGE}
    while True:
        path = f"/v1/summit/agents/{agent_id}/events"
        answer = routes.handle("GET", path, common.query_of(query))
        if answer.status >= 400:
            raise common.error_of_problem(answer.status, answer.body)
        for fact in answer.body["items"]:
            if fact["manifestVersion"] is not None:
                versions[fact["manifestVersion"]] = fact["manifestHash"]
        if answer.body["next"] is None:
            return versions
        query["cursor"] = answer.body["next"]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _with_version(manifest: Json, version: str) -> Json:
    return {**manifest, "metadata": {**manifest["metadata"], "version": version}}


def _hash(manifest: Json) -> str:
    from schemas.summit import manifest_form, manifest_hash

    return manifest_hash(manifest_form(manifest))
