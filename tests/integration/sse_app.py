"""A server that has the live tail and nothing else: `python -m tests.integration.sse_app PORT`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator
from types import FrameType

import uvicorn
from fastapi import FastAPI

from streams.engine.kafka import KafkaLog
from streams.engine.task import group_of
from streams.gateway.live_tail import TailHub, router
from streams.settings import Settings


class Server(uvicorn.Server):
    """Ends the streams before it waits for the connections."""

    hub: TailHub

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.hub.drain()
        super().handle_exit(sig, frame)


def main(port: int) -> None:
    settings = Settings.load()
    log = KafkaLog(settings.bootstrap or "", settings.security(), group_of(settings))
    hub = TailHub(log, settings)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        hub.start()
        yield
        await hub.stop()
        log.close()

    app = FastAPI(lifespan=lifespan)
    app.include_router(router(hub))
    server = Server(uvicorn.Config(app, port=port, log_level="warning"))
    server.hub = hub
    server.run()


if __name__ == "__main__":
    main(int(sys.argv[1]))
