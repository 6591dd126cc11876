"""A running `watch` in a terminal of a size, and the text on its screen.

Textual's pilot goes on when the process seems idle, which on a busy machine is too early or never.
Here a key is pressed when the application has handled it, and a text is waited for.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from textual.events import Event, Key
from textual.widgets import Input

from streams.cli.watch.app import WatchApp
from streams.cli.watch.widgets import DetailScreen
from tests.unit.cli.watch.stub import WatchedStub

INTERVAL_S = 0.2
LIMIT_S = 60.0


class KeyedApp(WatchApp):
    """Counts the keys that were handled.

    A key goes to the widget in focus and comes back, unless it is a priority binding or the text
    of a field.
    """

    keys_handled = 0

    async def on_event(self, event: Event) -> None:
        was_forwarded = event.is_forwarded
        await super().on_event(event)
        if isinstance(event, Key) and was_forwarded == event.is_forwarded:
            self.keys_handled += 1


class Watching:
    """The application and its screen."""

    def __init__(self, app: KeyedApp) -> None:
        self.app = app

    @property
    def lines(self) -> list[str]:
        """Return the lines of the screen as a terminal shows them."""
        strips = self.app.screen._compositor.render_strips(self.app.size)
        return ["".join(segment.text for segment in strip).rstrip() for strip in strips]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    async def press(self, *keys: str) -> None:
        """Press keys, each when the one before was handled."""
        for number, key in enumerate(keys, self.app.keys_handled + 1):
            self.app.post_message(Key(key, key if len(key) == 1 else None))
            await self.until(partial(self._is_handled, number), f"{key} is not handled")

    def _is_handled(self, number: int) -> bool:
        return self.app.keys_handled >= number

    async def write(self, text: str) -> None:
        """Write into the field that has the focus."""
        field = self.app.focused
        assert isinstance(field, Input)
        for character in text:
            self.app.post_message(Key(character, character))
        await self.until(lambda: field.value == text, f"no {text}")

    async def open(self, key: str) -> None:
        """Press a key that opens a page."""
        before = self.app.screen
        await self.press(key)
        await self.until(lambda: self.app.screen is not before and self.is_at_page, "a page")

    @property
    def is_at_page(self) -> bool:
        return isinstance(self.app.screen, DetailScreen)

    async def until_questions_end(self) -> None:
        """Wait until the application asked what it asks, and waits for the time to ask again."""
        self.app._wake.set()
        await self.until(lambda: not self.app._wake.is_set(), "the end of the questions")

    async def until(self, is_met: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + LIMIT_S
        while not is_met():
            assert time.monotonic() < deadline, f"{what}:\n{self.text}"
            await asyncio.sleep(0.01)

    async def until_text(self, text: str) -> None:
        await self.until(lambda: text in self.text, f"no {text!r}")

    async def until_gone(self, text: str) -> None:
        await self.until(lambda: text not in self.text, f"still {text!r}")


@asynccontextmanager
async def watching(
    stub: WatchedStub,
    *,
    width: int = 80,
    height: int = 24,
    session_id: str | None = None,
) -> AsyncIterator[Watching]:
    """Watch a gateway; its overview and its stream are there."""
    app = KeyedApp(stub.gateway, "15m", INTERVAL_S, session_id)
    async with app.run_test(size=(width, height)):
        watched = Watching(app)
        await watched.until_text("refused by rule")
        await watched.until(lambda: stub.streams == 1, "no stream")
        yield watched
