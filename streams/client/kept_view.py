"""The client's own view, which answers its queries when there is no gateway."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

from streams.api.route import Call, Query
from streams.engine.log import Log
from streams.engine.mac_checks import MacChecks
from streams.engine.store import DirectoryLock, limit_block_cache
from streams.errors import HeadraceError, StateLocked, UsageError
from streams.routes.own_process import state_of_own_view
from streams.routes.past import as_of_call
from streams.routes.table import MatchedRoute, NoRoute, check_after, find, match_request
from streams.settings import Settings
from streams.view_store.view import View
from streams.views.positions import Position, ViewBehind
from topology import topics

T = TypeVar("T")
CATCH_UP_S = 30.0
SLICE_S = 0.05
"""How long a query that waits for a record keeps the view from others."""


def asked_of(path: str, query: str) -> MatchedRoute:
    """Return the matched read route with its parameters.

    Raises UsageError for a path that is no read route, QueryError for a query that the route does
    not accept.
    """
    try:
        return match_request(*find("GET", path), query)
    except NoRoute as exc:
        raise UsageError(str(exc), advice="") from exc


class KeptView:
    """A view that the first query opens; used by one thread.

    It lies under the state directory, as that of `headrace query` does; in a temporary directory
    while another process has that one.

    clock: ms since the epoch.
    """

    def __init__(self, log: Log, settings: Settings, clock: Callable[[], int]) -> None:
        self._log = log
        self._settings = settings
        self._clock = clock
        self._view: View | None = None
        self._partitions: dict[str, int] = {}
        self._resources = ExitStack()

    def answer(self, request: MatchedRoute, wait_s: float) -> Any:
        """Run a query on a view that has seen `request.after`, else everything committed.

        Raises ViewBehind after wait_s at the latest, and earlier while the position is not decided
        yet, so that other reads can run; and the errors of the query itself.
        """
        action = request.route.action
        assert isinstance(action, Query)

        def answer(view: View) -> Any:
            call = Call(
                view,
                self._settings,
                self._clock(),
                request.ids,
                request.params,
                log=self._log,
                process=state_of_own_view(view, self._log, self._settings.prefix, self._clock),
            )
            return action.answer(as_of_call(call, request, self._log))

        return self.read(answer, request.after, wait_s)

    def read(self, look: Callable[[View], T], after: Position | None, wait_s: float) -> T:
        """Return what `look` reads from the view; wait and raise as `answer` does."""
        try:
            view = self._view or self._open()
            self._catch_up(view, after, wait_s)
            return look(view)
        except ViewBehind:
            raise
        except HeadraceError as exc:
            if exc.exit_code == 3:  # the next query opens it anew, or builds another
                self.close()
            raise

    def _catch_up(self, view: View, after: Position | None, wait_s: float) -> None:
        """Read the topics up to `after`, else to their ends.

        Only a wait for a position is cut in slices; the end offsets would be others in each slice.
        """
        if after is None:
            view.catch_up(CATCH_UP_S)
            return
        check_after(after, self._settings.prefix, self._partitions)
        view.wait(after, wait_s if view.has_answer(after) else min(wait_s, SLICE_S))

    def _open(self) -> View:
        with ExitStack() as resources:
            folder = self._settings.state_dir / "view"
            try:
                resources.callback(DirectoryLock(folder).release)
            except StateLocked:
                folder = Path(
                    resources.enter_context(tempfile.TemporaryDirectory("-headrace-view"))
                )
            prefix, set_aside = self._settings.prefix, self._settings.view_set_aside
            limit_block_cache(self._settings.block_cache_mib << 20)
            macs = MacChecks.of(self._settings, topics.ALL)
            view = resources.enter_context(
                View(self._log, folder / "rows", prefix, set_aside=set_aside, macs=macs)
            )
            self._partitions = {t.name: t.partitions for t in self._log.topics().values()}
            self._resources = resources.pop_all()
        self._view = view
        return view

    def close(self) -> None:
        self._view = None
        self._resources.close()
