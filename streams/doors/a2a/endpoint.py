"""The paths of the door.  What answers them is loaded with the SDK, at the first request."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response as HttpResponse

from streams.api.problems import problem
from streams.doors.a2a.description import ENDPOINTS
from streams.doors.a2a.refusals import shape_refusal
from streams.doors.push.service import PushService
from streams.errors import ExtraMissing
from streams.gateway.context import Gateway
from streams.gateway.endpoints import Endpoint
from streams.gateway.http_response import make_response

if TYPE_CHECKING:
    from streams.doors.a2a.serving import Serving


class A2aEndpoints:
    """The endpoints of one gateway.  push: None if no push notifications are sent."""

    def __init__(self, gateway: Gateway, push: PushService | None = None) -> None:
        self._gateway, self._push = gateway, push
        self._serving: Serving | None = None

    def endpoints(self) -> list[tuple[str, str, Endpoint]]:
        """Return the method, path and endpoint of each."""
        return [(each.method, each.path, self._make_endpoint(each.name)) for each in ENDPOINTS]

    def _make_endpoint(self, name: str) -> Endpoint:
        async def answer(request: Request) -> HttpResponse:
            serving = self._serving
            try:
                if serving is None:
                    serving = await asyncio.to_thread(self._load)
            except ExtraMissing as exc:
                refusal = problem(501, str(exc), exc.code)
                return make_response(shape_refusal(request.scope["path"], refusal))
            return await serving.answer(name, request)

        return answer

    def _load(self) -> Serving:
        """Load the SDK.  Raises ExtraMissing."""
        from streams.doors.a2a.serving import Serving

        if self._serving is None:
            self._serving = Serving(self._gateway, self._push)
        return self._serving
