"""The answers of a gateway that `watch` shows, and how old they are."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Any

from streams.cli import common
from streams.cli.watch.gateway import WatchedGateway
from streams.cli.watch.threads import in_thread
from streams.errors import HeadraceError

LIMIT_S = 10.0
MAX_ITEMS = 200


@dataclass(slots=True)
class Answers:
    """The last answers; None before the first.

    at_ms: when they came.  problem: why the last question has no answer, "" if it has one.
    """

    overview: Any = None
    refusals: Any = None
    dead_letters: Any = None
    at_ms: int = 0
    problem: str = ""

    async def ask(self, gateway: WatchedGateway, window: str, with_letters: bool) -> None:
        """Ask again.  What is not answered stays as it was."""
        paths: dict[str, dict[str, Any]] = {
            "/v1/overview": {"window": window},
            "/v1/verdicts": {"verdict": "rejected", "limit": MAX_ITEMS},
        }
        if with_letters:
            paths["/v1/dead-letters"] = {"limit": MAX_ITEMS}
        questions = [
            in_thread(partial(gateway.get, path, **params), LIMIT_S)
            for path, params in paths.items()
        ]
        try:
            overview, refusals, *letters = await asyncio.gather(*questions)
        except TimeoutError:
            self.problem = f"no answer within {LIMIT_S:.0f} s"
        except HeadraceError as exc:
            self.problem = exc.message
        else:
            self.overview, self.refusals = overview, refusals["items"]
            self.dead_letters = letters[0]["items"] if letters else self.dead_letters
            self.at_ms, self.problem = common.now_ms(), ""
