"""The queries of lineage by the names of APC/1.0, and those of priors (APC guide, 6.6)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from streams.protocols.apc.lineage_responses import (
    Effectiveness,
    EvalCorrelation,
    LineageSummary,
    Propagation,
    TransferQuality,
)
from streams.protocols.apc.prior_responses import PriorExplanation, Priors

_LINEAGE = "/v1/lineage"
_PRIORS = "/v1/apc/priors"


class ApcQueries:
    """Queries over the lineage of protocols and the priors of strategies: `apc` of a client.

        async with Client() as hr:
            summary = await hr.apc.get_packet_lineage_summary(run_id="run-01")

    All take filters by name, None for all packets, and after: a position, whose verdict the answer
    has seen.  Results are pydantic models of the routes' responses.  A result with `next` has a
    further page: pass it as cursor.  Raise what `Client.query` raises.
    """

    def __init__(self, query: Callable[..., Awaitable[Any]]) -> None:
        self._query = query

    async def get_packet_lineage_summary(
        self,
        *,
        session_id: str | None = None,
        project_id: str | None = None,
        run_id: str | None = None,
        protocol_id: str | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> LineageSummary:
        """Return all lineage queries at once, and what they come to.

        limit: rows of each list; the counts are over everything that matches.
        """
        params = {"session_id": session_id, "project_id": project_id, "run_id": run_id}
        params["protocol_id"] = protocol_id
        answer = await self._query(f"{_LINEAGE}/summary", after=after, limit=limit, **params)
        return LineageSummary.model_validate(answer)

    async def list_protocol_propagation(
        self,
        *,
        session_id: str | None = None,
        run_id: str | None = None,
        project_id: str | None = None,
        protocol_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        after: str | None = None,
    ) -> Propagation:
        """Return the packets that bear lineage, newest first."""
        params = {"session_id": session_id, "run_id": run_id, "project_id": project_id}
        params |= {"protocol_id": protocol_id, "cursor": cursor}
        answer = await self._query(f"{_LINEAGE}/propagation", after=after, limit=limit, **params)
        return Propagation.model_validate(answer)

    async def get_transfer_quality_rollup(
        self,
        *,
        session_id: str | None = None,
        run_id: str | None = None,
        project_id: str | None = None,
        after: str | None = None,
    ) -> TransferQuality:
        """Return the transfers by mode, the most frequent first."""
        params = {"session_id": session_id, "run_id": run_id, "project_id": project_id}
        answer = await self._query(f"{_LINEAGE}/transfer-quality", after=after, **params)
        return TransferQuality.model_validate(answer)

    async def get_transfer_eval_correlation(
        self,
        *,
        session_id: str | None = None,
        run_id: str | None = None,
        project_id: str | None = None,
        after: str | None = None,
    ) -> EvalCorrelation:
        """Return what was measured in tasks with transfers, and how the two correlate."""
        params = {"session_id": session_id, "run_id": run_id, "project_id": project_id}
        answer = await self._query(f"{_LINEAGE}/eval-correlation", after=after, **params)
        return EvalCorrelation.model_validate(answer)

    async def get_protocol_effectiveness(
        self,
        *,
        session_id: str | None = None,
        run_id: str | None = None,
        project_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        after: str | None = None,
    ) -> Effectiveness:
        """Return the transfers of each protocol with what was measured, the most frequent first."""
        params = {"session_id": session_id, "run_id": run_id, "project_id": project_id}
        params["cursor"] = cursor
        answer = await self._query(f"{_LINEAGE}/effectiveness", after=after, limit=limit, **params)
        return Effectiveness.model_validate(answer)

    async def priors(
        self,
        *,
        use_case: str | None = None,
        kind: str | None = None,
        strategy: str | None = None,
        min_attempts: int | None = None,
        order: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        after: str | None = None,
    ) -> Priors:
        """Return how the attempts of methods and protocols ended.

        kind: `method` or `protocol`.  order: `mean` or `attempts`, the highest first.
        """
        params = {"use_case": use_case, "kind": kind, "strategy": strategy, "order": order}
        params["cursor"] = cursor
        answer = await self._query(
            _PRIORS, after=after, limit=limit, min_attempts=min_attempts, **params
        )
        return Priors.model_validate(answer)

    async def explain_prior(
        self,
        *,
        use_case: str,
        kind: str,
        strategy: str,
        limit: int | None = None,
        cursor: str | None = None,
        after: str | None = None,
    ) -> PriorExplanation:
        """Return a prior and the tasks that it is the sum of.  Raises NotFound."""
        params = {"use_case": use_case, "kind": kind, "strategy": strategy, "cursor": cursor}
        answer = await self._query(f"{_PRIORS}/explain", after=after, limit=limit, **params)
        return PriorExplanation.model_validate(answer)
