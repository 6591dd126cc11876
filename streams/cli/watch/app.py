"""The application of `headrace watch`.

Importing this module raises ExtraMissing if the extra `watch` is not installed.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import ClassVar

from streams.cli import INTERRUPTED, common
from streams.cli.saop.live_tail import LiveTail
from streams.cli.watch import details, listings
from streams.cli.watch.answers import LIMIT_S, Answers
from streams.cli.watch.figures import MIN_RULES, overview_lines
from streams.cli.watch.following import LIVE, LiveStream
from streams.cli.watch.gateway import WatchedGateway
from streams.cli.watch.lines import Line, Listing, ListRow, filtered, fitted
from streams.cli.watch.status import PANES, keys_line, live_heading, status_line
from streams.cli.watch.threads import in_thread
from streams.cli.watch.widgets import DetailScreen, ListPane, text_from
from streams.errors import HeadraceError, needs_extra

with needs_extra("watch", "headrace watch"):
    from textual.app import App, ComposeResult
    from textual.binding import Binding, BindingType
    from textual.containers import Vertical
    from textual.notifications import SeverityLevel
    from textual.screen import Screen
    from textual.widget import Widget
    from textual.widgets import ContentSwitcher, Input, Static

_LISTS = {"overview": "newest"}
"""The list of a pane that has another name."""
_DRAW_S = 0.1
_SMALL = 24
"""Lines of the smallest terminal; what it has more goes to the lists of the overview."""
Details = Callable[..., list[Line]]


class WatchApp(App[None]):
    """Asks the gateway every `interval` seconds, follows its events, and shows both."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(str(n), f"pane('{name}')", name) for n, name in enumerate(PANES, 1)),
        Binding("slash", "filter", "Filter"),
        Binding("space", "pause", "Pause"),
        Binding("enter", "details('open')", "Open"),
        Binding("e", "details('why')", "Why"),
        Binding("c", "copy", "Copy"),
        Binding("q", "quit", "Quit"),
        Binding("ctrl+c", "interrupt", show=False, priority=True),
        Binding("escape", "close", "Back", show=False),
    ]
    CSS = """
    #status, #keys, .keys { height: 1; background: ansi_blue; color: ansi_bright_white; }
    ContentSwitcher { height: 1fr; }
    #figures { height: auto; margin-bottom: 1; }
    #latest { height: 5; }
    #filter { height: 1; border: none; padding: 0; display: none; }
    """

    def __init__(
        self, gateway: WatchedGateway, window: str, interval_s: float, session_id: str | None
    ) -> None:
        super().__init__()
        self.theme = "ansi-dark"
        self.gateway = gateway
        self.answers = Answers()
        self.tail = LiveTail()
        self.stream = LiveStream(gateway, session_id, self.tail)
        self.pane = PANES[0]
        self.pattern = ""
        self.is_paused = False
        self._window, self._interval_s, self._session_id = window, interval_s, session_id
        self._wake = asyncio.Event()
        self._drawn = -1

    def compose(self) -> ComposeResult:
        yield Static(id="status", markup=False)
        with ContentSwitcher(initial=self.pane):
            with Vertical(id="overview"):
                yield Static(id="figures", markup=False)
                yield ListPane(id="newest")
                yield ListPane(id="latest", follows=True)
            yield ListPane(id="live", follows=True)
            for name in PANES[2:]:
                yield ListPane(id=name)
        yield Input(id="filter", placeholder="show only lines that contain …")
        yield Static(id="keys", markup=False)

    def on_mount(self) -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.action_interrupt)
        self._list("latest").rows.can_focus = False
        self._focus(self._focused_list().rows)
        self.run_worker(self._poll(), group="poll")
        self._follow()
        self.set_interval(_DRAW_S, self._draw_changes)
        self.set_interval(1.0, self._draw_clock)
        self._draw()

    async def _poll(self) -> None:
        while True:
            self._wake.clear()
            with_letters = self.pane == "letters"
            if not self.is_paused or (with_letters and self.answers.dead_letters is None):
                await self.answers.ask(self.gateway, self._window, with_letters)
                self._draw()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), self._interval_s)

    def _follow(self) -> None:
        self.run_worker(self.stream.follow(), group="live", exclusive=True)

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw)

    def _draw_changes(self) -> None:
        """Draw the live tail if there are new events: at most ten times a second."""
        if self._is_open() and self.stream.changes != self._drawn:
            self._drawn = self.stream.changes
            self._draw_live()

    def _draw_clock(self) -> None:
        if self._is_open():
            self._draw_status()

    def _is_open(self) -> bool:
        """Return whether there are widgets: timers go on for a moment after the end."""
        return bool(self.screen_stack and self.main_screen.query("#keys"))

    def _draw(self) -> None:
        if not self._is_open():
            return
        self._draw_status()
        self._draw_live()
        overview, width = self.answers.overview, self.size.width - 1
        if overview is None:
            return
        room = max(0, self.size.height - _SMALL) // 4
        self._list("latest").styles.height = 5 + room
        self._put("figures", overview_lines(overview, width, MIN_RULES + room))
        refusals = listings.refusals(self.answers.refusals, width)
        self._show("newest", refusals)
        self._show("refusals", refusals)
        self._show("work", listings.work(overview, width))
        if self.answers.dead_letters is not None:
            self._show("letters", listings.dead_letters(self.answers.dead_letters, width))

    def _draw_live(self) -> None:
        heading = live_heading(self.tail, self.stream.state, self._session_id)
        empty = "no events so far" if self.stream.state == LIVE else ""
        for name in ("live", "latest"):
            self._show(name, Listing(heading, list(self.tail.rows), empty))

    def _draw_status(self) -> None:
        line = status_line(
            self.gateway.url, self._window, self.answers, self.is_paused, self.pattern
        )
        width = self.size.width
        self._put("status", [fitted(line, width)])
        self._put("keys", [fitted(keys_line(self.pane, width), width)])

    def _put(self, name: str, lines: list[Line]) -> None:
        self.main_screen.query_one(f"#{name}", Static).update(text_from(lines))

    def _show(self, name: str, listing: Listing) -> None:
        self._list(name).show_listing(filtered(listing, self.pattern))

    def _list(self, name: str) -> ListPane:
        return self.main_screen.query_one(f"#{name}", ListPane)

    @property
    def main_screen(self) -> Screen[object]:
        """Return the screen below the pages that are open."""
        return self.screen_stack[0]

    def _focused_list(self) -> ListPane:
        return self._list(_LISTS.get(self.pane, self.pane))

    def _selected(self) -> ListRow | None:
        if isinstance(self.screen, DetailScreen):
            return self.screen.row
        return self._focused_list().rows.selected

    def action_pane(self, name: str) -> None:
        """Show a pane, and ask at once."""
        self._close_details()
        self.pane = name
        self.main_screen.query_one(ContentSwitcher).current = name
        self._focus(self._focused_list().rows)
        self._wake.set()
        self.call_after_refresh(self._draw)

    def _focus(self, widget: Widget) -> None:
        """Focus a widget at once; keys that come together must not go to the one before."""
        self.main_screen.set_focus(widget)

    def action_interrupt(self) -> None:
        """End as other commands do that are interrupted, with the terminal as it was."""
        self.exit(return_code=INTERRUPTED)

    def action_filter(self) -> None:
        """Ask for the text that lines must contain."""
        if isinstance(self.screen, DetailScreen):
            return
        entry = self.query_one("#filter", Input)
        entry.display = True
        self._focus(entry)

    def on_input_changed(self, event: Input.Changed) -> None:
        self.pattern = event.value
        self._draw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._close_filter()

    def _close_filter(self) -> None:
        self.query_one("#filter", Input).display = False
        self._focus(self._focused_list().rows)

    def action_close(self) -> None:
        """Close the page or the filter that is open."""
        if self._close_details():
            return
        self.query_one("#filter", Input).value = ""
        self._close_filter()

    def _close_details(self) -> bool:
        """Close the page that is open, and wait for none; return whether one was open."""
        self.workers.cancel_group(self, "details")
        is_open = isinstance(self.screen, DetailScreen)
        if is_open:
            self.pop_screen()
        return is_open

    def action_pause(self) -> None:
        """Stop asking and following, or go on from where it stopped."""
        self.is_paused = not self.is_paused
        if self.is_paused:
            self.workers.cancel_group(self, "live")
        else:
            self._follow()
            self._wake.set()
        self._draw_status()

    def action_details(self, kind: str) -> None:
        """Open the thing of the selected row, or explain its verdict."""
        row = self._selected()
        is_open = isinstance(self.screen, DetailScreen)
        if row is None or (is_open and kind == "open"):
            return
        function = details.open_thing if kind == "open" else details.explain
        self.run_worker(self._open(function, row), group="details", exclusive=True)

    async def _open(self, function: Details, row: ListRow) -> None:
        ask = partial(function, self.gateway.get, row, self.size.width - 1)
        try:
            lines = await in_thread(ask, 2 * LIMIT_S)
        except TimeoutError:
            self._notify("the gateway does not answer", "error")
            return
        except HeadraceError as exc:
            self._notify(str(exc), "error")
            return
        if isinstance(self.screen, DetailScreen):
            self.pop_screen()
        self.push_screen(DetailScreen(row, lines))

    def action_copy(self) -> None:
        """Copy the node or the position of the selected row to the clipboard."""
        row = self._selected()
        if row is None or row.name is None:
            self._notify("this line names no thing", "warning")
            return
        self.copy_to_clipboard(row.name)
        self._notify(f"copied {row.name}")

    def _notify(self, message: str, severity: SeverityLevel = "information") -> None:
        self.notify(common.printable(message), severity=severity, markup=False, timeout=4)
