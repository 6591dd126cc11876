"""Leave the consumer group for a worker that was killed.

A worker that ends in order leaves its group itself.  For one that is killed (by SIGKILL, or because
memory is short) the group waits until its session times out.  So a worker starts this file as a
process of its own, tells it its membership through a pipe, and never closes that pipe: its end says
that the worker is gone, together with whatever it had not committed.  The process then sends the
LeaveGroup request, and the other workers get the partitions.

It has no threads and imports only the standard library until it is needed, so it takes some
10 MB.  It cannot help where it ends together with its worker: when the machine fails, or in a
container whose first process is the worker.  There the session timeout decides, as without it.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Mapping
from typing import IO, Any

log = logging.getLogger(__name__)

_LIMIT_S = 20.0
"""The session has timed out by then, even if the broker did not answer at first."""
_RETRY_S = 0.5


class LeaveGroupProcess:
    """The process that leaves the group if this one is killed."""

    def __init__(self, bootstrap: str, security: Mapping[str, str], group: str) -> None:
        """Start it.

        bootstrap: addresses of brokers, separated by commas.
        security: as `ConnectionSettings.security` returns them.  They go through the pipe, since
        arguments of a process are for everybody to read.

        If it cannot be started, a warning is logged and the worker goes on without it.
        """
        self._member_id = ""
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", __file__],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # what ends the worker's group of processes spares it
            )
        except OSError as exc:
            log.warning("the group will not be left if this worker is killed: %s", exc)
        self._tell(
            {
                "path": sys.path,
                "bootstrap": bootstrap,
                "security": dict(security),
                "group": group,
            }
        )

    @property
    def pid(self) -> int | None:
        """Return its process id; None if it does not run."""
        return None if self._process is None else self._process.pid

    def joined(self, member_id: str) -> None:
        """Name the member that is to leave, by the id that the coordinator gave it."""
        if member_id != self._member_id:
            self._member_id = member_id
            self._tell({"member_id": member_id})

    def close(self) -> None:
        """End it, where the group has been left in order."""
        self._tell({"member_id": ""})
        self._reap()

    def _tell(self, members: Mapping[str, Any]) -> None:
        if self._process is None or self._process.stdin is None:
            return
        try:
            self._process.stdin.write(json.dumps(members).encode() + b"\n")
        except OSError as exc:
            log.warning("the group will not be left if this worker is killed: %s", exc)
            self._reap()

    def _reap(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait()
        self._process = None


async def leave(bootstrap: str, security: Mapping[str, str], group: str, member_id: str) -> None:
    """Send the LeaveGroup request of a member to the coordinator of its group.

    Raises aiokafka's KafkaError when a broker cannot be reached, or is not the coordinator.  A
    member that the group does not know has left already.
    """
    from aiokafka.client import AIOKafkaClient, ConnectionGroup, CoordinationType
    from aiokafka.errors import NoError, UnknownMemberIdError, for_code
    from aiokafka.protocol.group import LeaveGroupRequest

    from streams.settings.kafka_security import for_aiokafka

    client = AIOKafkaClient(
        bootstrap_servers=bootstrap, client_id="headrace-leave-group", **for_aiokafka(security)
    )
    try:
        await client.bootstrap()
        coordinator = await client.coordinator_lookup(CoordinationType.GROUP, group)
        await client.ready(coordinator, group=ConnectionGroup.COORDINATION)
        request = LeaveGroupRequest(group, member_id)
        answer = await client.send(coordinator, request, group=ConnectionGroup.COORDINATION)
        error = for_code(answer.error_code)
        if error not in (NoError, UnknownMemberIdError):
            raise error()
    finally:
        await client.close()


async def _leave_in_time(member: Mapping[str, Any]) -> None:
    """Leave as soon as a broker answers.  Raises TimeoutError once the session has ended anyway."""
    import asyncio

    from aiokafka.errors import KafkaError

    async with asyncio.timeout(_LIMIT_S):
        while True:
            try:
                return await leave(**member)
            except (KafkaError, OSError):
                await asyncio.sleep(_RETRY_S)


def main(lines: IO[str]) -> int:
    """Read lines of JSON up to their end; then leave the group, unless the last names no member.

    Returns the exit code: 1 if the group could not be left in time.
    """
    member: dict[str, Any] = {}
    for line in lines:
        member |= json.loads(line)
    if member.get("member_id"):
        import asyncio

        sys.path[:] = member.pop("path")
        logging.disable()  # nobody reads what aiokafka says here
        try:
            asyncio.run(_leave_in_time(member))
        except TimeoutError:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.stdin))
