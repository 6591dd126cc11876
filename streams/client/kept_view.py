"""A view of a client's own, from which it answers queries when there is no gateway between."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

from streams.api.route import Call, Query
from streams.engine.log import Log
from streams.engine.store import DirectoryLock, limit_block_cache
from streams.errors import HeadraceError, StateLocked, UsageError
from streams.routes.past import as_of_call
from streams.routes.table import MatchedRoute, NoRoute, check_after, find, match_request
from streams.settings import Settings
from streams.view_store.view import View
from streams.views.positions import Position, ViewBehind

T = TypeVar("T")
CATCH_UP_S = 30.0
SLICE_S = 0.05
"""How long a query that waits for a record keeps the view from others."""


def asked_of(path: str, query: str) -> MatchedRoute:
    """Raises UsageError for what is no read route, QueryError for a query that it does not take."""
    try:
        return match_request(*find("GET", path), query)
    except NoRoute as exc:
        raise UsageError(str(exc), advice="") from exc


class KeptView:
    """Under the state directory, as that of `headrace query`; a temporary one while another
    process has that one.  Opened by the first query.  Used by one thread.

    clock: ms since the epoch.
    """

    def __init__(self, log: Log, settings: Settings, clock: Callable[[], int]) -> None:
        self._log = log
        self._settings = settings
        self._clock = clock
        self._view: View | None = None
        self._partitions: dict[str, int] = {}
        self._held = ExitStack()

    def answer(self, asked: MatchedRoute, wait_s: float) -> Any:
        """From a view that has seen the answer to `asked.after`, else everything committed.

        Raises ViewBehind after wait_s at the latest, and earlier while there is no answer yet, so
        that others have their turn; and what the query itself comes to.
        """
        action = asked.route.action
        assert isinstance(action, Query)

        def answer(view: View) -> Any:
            call = Call(view, self._settings, self._clock(), asked.ids, asked.params)
            return action.answer(as_of_call(call, asked, self._log))

        return self.read(answer, asked.after, wait_s)

    def read(self, look: Callable[[View], T], after: Position | None, wait_s: float) -> T:
        """What `look` says of the view; as `answer`."""
        try:
            view = self._view or self._open()
            self._bring(view, after, wait_s)
            return look(view)
        except ViewBehind:
            raise
        except HeadraceError as exc:
            if exc.exit_code == 3:  # the next query opens it anew, or builds another
                self.close()
            raise

    def _bring(self, view: View, after: Position | None, wait_s: float) -> None:
        """Reading on to the ends of the topics is not cut in slices: they would move each time."""
        if after is None:
            view.catch_up(CATCH_UP_S)
            return
        check_after(after, self._settings.prefix, self._partitions)
        view.wait(after, wait_s if view.has_answer(after) else min(wait_s, SLICE_S))

    def _open(self) -> View:
        with ExitStack() as held:
            folder = self._settings.state_dir / "view"
            try:
                held.callback(DirectoryLock(folder).release)
            except StateLocked:
                folder = Path(held.enter_context(tempfile.TemporaryDirectory("-headrace-view")))
            prefix = self._settings.prefix
            limit_block_cache(self._settings.block_cache_mib << 20)
            view = held.enter_context(View(self._log, folder / "rows", prefix))
            self._partitions = {t.name: t.partitions for t in self._log.topics().values()}
            self._held = held.pop_all()
        self._view = view
        return view

    def close(self) -> None:
        self._view = None
        self._held.close()
