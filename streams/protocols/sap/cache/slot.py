"""The rows of one cacheKey: the head of its versions, its flight, and its waiters.

Source: SAP guide, 5.4.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from schemas import AvroBody, encode, to_json
from streams.engine.processor import AvroValue, ProcessorContext
from streams.engine.refused_rows import PROCESS
from streams.errors import InternalUnreadable
from streams.protocols.sap.counted_versions import MISSING, UNDECODABLE, version_fault
from topology.machines.sap_flight import FlightState
from topology.sap import (
    SAP_CACHE,
    SAP_CACHE_HEADS,
    SAP_CACHE_STORES,
    SAP_CACHE_TABLE,
    SAP_CACHE_WAITS,
    sap_key,
    sap_version,
)

RECORD = "headrace.sap.SapCacheRecord"
_FRAME_BYTES = 5


class Version(NamedTuple):
    """One record of the key.  body: its Avro bytes.  json: its JSON form."""

    number: int
    body: AvroBody
    json: dict[str, Any]


def read_version(
    cache_key: str, number: int, row: AvroValue, expected: str | None
) -> Version | str:
    """Return a version, or why it does not count.  expected: its hash, None for any."""
    record = to_json(RECORD, row)
    fault = version_fault(cache_key, number, record, expected)
    if fault is not None:
        return fault
    return Version(number, AvroBody(encode(RECORD, row)[_FRAME_BYTES:]), record)


class CacheSlot:
    """The rows of one cacheKey within one decision; `save` writes a changed head."""

    def __init__(self, cache_key: str, ctx: ProcessorContext) -> None:
        self.cache_key = cache_key
        self.row_key = sap_key(cache_key)
        self.records = ctx.rows(SAP_CACHE_TABLE)
        self.waits = ctx.rows(SAP_CACHE_WAITS)
        self.stores = ctx.rows(SAP_CACHE_STORES)
        self._heads = ctx.rows(SAP_CACHE_HEADS)
        self.head: AvroValue = self._heads.get(self.row_key) or {
            "version": 0,
            "recordSha256": None,
            "flight": None,
            "lapsedAt": None,
            "nextArrival": 1,
            "waiters": [],
        }
        self._before = self._state()
        self._read: dict[int, Version | str] = {}

    @property
    def newest(self) -> int:
        """Return the number of the newest version, 0 if there is none."""
        version: int = self.head["version"]
        return version

    @property
    def leader(self) -> str | None:
        """Return the task that computes the answer for the waiters."""
        flight = self.head["flight"]
        return None if flight is None else flight["leaderTaskId"]

    @property
    def state(self) -> FlightState:
        """Return the state of the flight."""
        return FlightState.ABSENT if self.head["flight"] is None else FlightState.OPEN

    @property
    def waiters(self) -> list[AvroValue]:
        """Return the SapWaiter of each waiting task, in the order of arrival."""
        waiters: list[AvroValue] = self.head["waiters"]
        return waiters

    def save(self) -> None:
        if self._state() != self._before:
            self._heads.put(self.row_key, self.head)

    def _state(self) -> tuple[Any, ...]:
        arrivals = [waiter["arrival"] for waiter in self.waiters]
        moments = self.head["nextArrival"], self.head["lapsedAt"]
        return self.newest, self.head["flight"], moments, arrivals

    def version_key(self, version: int) -> str:
        return sap_key(self.cache_key, sap_version(version))

    def wait_key(self, arrival: int) -> str:
        return sap_key(self.cache_key, sap_version(arrival))

    def store_key(self, task_id: str) -> str:
        return sap_key(self.cache_key, task_id)

    def has_row(self, number: int) -> bool:
        """Return whether there is a row of a version, readable or not."""
        try:
            return self.records.get(self.version_key(number)) is not None
        except InternalUnreadable:
            return True

    def newest_versions(self, max_count: int) -> tuple[list[Version], str | None]:
        """Return the versions that count, the newest first.

        They end at the first that does not count; the text says which and why, if there is one.
        """
        numbers = range(self.newest, max(0, self.newest - max_count), -1)
        self.records.load(self.version_key(number) for number in numbers)
        versions: list[Version] = []
        expected: str | None = self.head["recordSha256"]
        for number in numbers:
            version = self._version(number, expected)
            if isinstance(version, str):
                return versions, f"version {number} is refused: {version}"
            versions.append(version)
            expected = version.json["previousSha256"]
        return versions, None

    def _version(self, number: int, expected: str | None) -> Version | str:
        """Return a version, or why it does not count.  expected: its hash."""
        if number not in self._read:
            self._read[number] = version = self._read_version(number, expected)
            if isinstance(version, str):
                PROCESS.count(SAP_CACHE.name, version, self.version_key(number))
        return self._read[number]

    def _read_version(self, number: int, expected: str | None) -> Version | str:
        try:
            row = self.records.get(self.version_key(number))
        except InternalUnreadable:
            return UNDECODABLE
        if row is None:
            return MISSING
        return read_version(self.cache_key, number, row, expected)
