"""An ASAP server as an application of FastAPI (ASAP guide, 6.2)."""

from __future__ import annotations

from fastapi import FastAPI, Request, Response
from starlette.requests import ClientDisconnect

from schemas.asap import Manifest
from streams.api.media import PROBLEM_TYPE
from streams.api.problems import problem
from streams.asap.auth import TokenValidator
from streams.asap.body import BodyTooLarge, read_body
from streams.asap.jsonrpc import MANIFEST_PATH, METRICS_PATH, PATH, dump_json
from streams.asap.metrics import CONTENT_TYPE
from streams.asap.registry import HandlerRegistry, create_default_registry
from streams.asap.server import Server
from streams.asap.stream import Stream

TITLE = "ASAP Protocol Server"
_JSON = "application/json"


def create_app(
    manifest: Manifest,
    registry: HandlerRegistry | None = None,
    token_validator: TokenValidator | None = None,
    *,
    stream: Stream | None = None,
) -> FastAPI:
    """Serve the agent of this manifest.

    registry: the handlers; None: one that echoes each TaskRequest, on a stream none at all.
    token_validator: tells whose a bearer token is, where the manifest has auth.
    stream: decides the envelopes (ASAP guide, 6.3); without one nothing is logged.
    Raises ValueError "token_validator is required" when the manifest has auth and there is none.
    """
    if registry is None:
        registry = create_default_registry() if stream is None else HandlerRegistry()
    server = Server(manifest, registry, token_validator, stream)
    app = FastAPI(
        title=TITLE,
        version=manifest.version,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )

    @app.post(PATH)
    async def send(request: Request) -> Response:
        try:
            body = await read_body(request)
        except ClientDisconnect:  # nobody reads the answer
            return Response(status_code=400)
        except BodyTooLarge as exc:
            refusal = problem(413, str(exc), "too_large")
            return Response(dump_json(refusal.body), 413, media_type=PROBLEM_TYPE)
        reply = await server.answer(body, request.headers)
        return Response(reply.text(), headers=dict(reply.headers), media_type=_JSON)

    @app.get(METRICS_PATH)
    async def metrics() -> Response:
        return Response(server.metrics.text(), media_type=CONTENT_TYPE)

    @app.get(MANIFEST_PATH)
    async def published() -> Response:
        return Response(dump_json(server.manifest_json()), media_type=_JSON)

    return app
