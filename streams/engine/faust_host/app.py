"""The Faust app that hosts tasks."""

from __future__ import annotations

import logging

import faust
from faust.app.base import BootStrategy

from streams.engine.faust_host.assignor import WholeNumbers
from streams.engine.faust_host.leave_group import LeaveGroupProcess
from streams.engine.tasks import TaskSet
from streams.errors import HeadraceError
from streams.settings.connection import ConnectionSettings

log = logging.getLogger(__name__)


class Boot(BootStrategy):
    """A boot strategy without Faust's producer, which would not log in; tasks have their own."""

    enable_kafka_producer = False


class HostApp(faust.App):
    """A Faust app that hosts tasks."""

    BootStrategy = Boot
    headrace: ConnectionSettings
    task_set: TaskSet
    group_assignor: WholeNumbers
    leave_group: LeaveGroupProcess | None = None
    failure: HeadraceError | None = None

    async def fail(self, error: HeadraceError) -> None:
        """Stop the worker with an error that `run` raises again."""
        if self.failure is None:
            self.failure = error
            log.error("the worker stops: %s: %s", error.code, error)
            await self.crash(error)
