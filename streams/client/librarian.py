"""The librarian of SAP: playbooks and their punch-cards, by kind of task."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Protocol
from urllib.parse import quote

from streams.client.values import Scalar

Json = dict[str, Any]
_PATH = "/v1/sap/librarian"


class Asking(Protocol):
    """A client that asks queries."""

    async def query(self, path: str, *, after: str | None = None, **params: Scalar) -> Any: ...

    def pages(
        self, path: str, *, after: str | None = None, **params: Scalar
    ) -> AsyncIterator[dict[str, Any]]: ...


class Librarian:
    """Searches what was learned of kinds of tasks."""

    def __init__(self, client: Asking) -> None:
        self._client = client

    async def search(
        self,
        capability: str | None = None,
        territory: str | None = None,
        fingerprint: str | None = None,
        *,
        after: str | None = None,
    ) -> list[Json]:
        """Return the playbooks of these tasks.  territory: empty for tasks without one.

        Raises what `Client.query` raises.
        """
        filters = {"capability": capability, "territory": territory, "fingerprint": fingerprint}
        pages = self._client.pages(_PATH, after=after, **filters)
        return [item async for page in pages for item in page["items"]]

    async def punch_card(
        self,
        capability: str,
        fingerprint: str,
        territory: str | None = None,
        *,
        after: str | None = None,
    ) -> Json | None:
        """Return the punch-card of a kind of task; None if an earlier release wrote its playbook.

        Raises NotFound, and what `Client.query` raises.
        """
        place = "/".join(quote(part, safe="") for part in (capability, fingerprint))
        playbook = await self._client.query(f"{_PATH}/{place}", after=after, territory=territory)
        card: Json | None = playbook["punchCard"]
        return card
