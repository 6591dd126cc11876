"""The MACs of one task: on what it writes, and of what it reads.

Without HEADRACE_MAC_KEY nothing is signed and nothing is checked.  With it, the first transaction
after each opening raises the number in the row of openings, from which serials are made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from schemas import encode
from streams.engine.mac_checks import Judgement, MacChecks, Serials
from streams.engine.mac_errors import MacKeyMissing, MacMissing
from streams.engine.mac_signer import MacSigner
from streams.engine.record_mac import split_mac_keys
from streams.engine.records import Output, Record, TopicPartition
from streams.engine.rows import Bytes, GetMany, row_of, store_key
from streams.settings.service import ServiceSettings
from topology.core import CHANGELOG, TASK_OPENINGS
from topology.declarations import ProcessorDeclaration, Topic

_OPENING_KEY = "opening"
OPENING_ROW = store_key(TASK_OPENINGS.name, _OPENING_KEY)
"""The store's key of the row of a task's openings."""


def topics_of(processors: Iterable[ProcessorDeclaration]) -> list[Topic]:
    """Return the topics that a task of these processors reads or writes."""
    topics = dict.fromkeys([CHANGELOG])
    for each in processors:
        topics |= dict.fromkeys([*each.inputs, *each.outputs])
        topics |= dict.fromkeys(table.topic for table in each.tables if table.topic)
    return list(topics)


class TaskMacs:
    """The signer and the checks of one task.

    checks: None without a key.
    """

    def __init__(
        self,
        settings: ServiceSettings,
        partition: int,
        processors: Iterable[ProcessorDeclaration],
    ) -> None:
        self._topics = topics_of(processors)
        self.checks = MacChecks.of(settings, self._topics)
        self._prefix, self._partition = settings.prefix, partition
        self._keys = split_mac_keys(settings.mac_key)
        self._signer: MacSigner | None = None
        self._unsaved_opening: int | None = None

    def open(self, read: GetMany, empty: bool) -> None:
        """Begin an opening of the task whose rows are restored.

        Raises MacMissing if a key is set and the rows are none that it has signed, MacKeyMissing
        for signed rows without a key.
        """
        (raw,) = read([OPENING_ROW])
        number = 0 if raw is None else row_of(TASK_OPENINGS, _OPENING_KEY, raw)["number"]
        if not self._keys:
            if raw is not None:
                raise MacKeyMissing(f"the rows of task {self._partition} have MACs")
            return
        if raw is None and not empty:
            raise MacMissing(f"the rows of task {self._partition} have no MACs of these keys")
        self.begin(number + 1)

    def begin(self, opening: int) -> None:
        self._unsaved_opening = opening
        self._signer = MacSigner.of_opening(
            self._keys[0], self._partition, opening, self._topics, self._prefix
        )

    @property
    def last_serial(self) -> int:
        """Return the serial of the record that was signed last; 0 without a key."""
        return 0 if self._signer is None else self._signer.next_serial - 1

    def add_opening(self, rows: Bytes, outputs: list[Output]) -> None:
        """Add the row of openings to the first transaction of an opening."""
        if self._unsaved_opening is None:
            return
        value = encode(TASK_OPENINGS.record, {"number": self._unsaved_opening})
        self._unsaved_opening = None
        rows[OPENING_ROW] = value
        name = self._prefix + CHANGELOG.name
        outputs.append(Output(name, OPENING_ROW, value, (), self._partition))

    def sign(self, outputs: Sequence[Output]) -> Sequence[Output]:
        return outputs if self._signer is None else self._signer.sign(outputs)

    def judge(
        self,
        taken: Sequence[tuple[Topic, Record]],
        serials: Mapping[TopicPartition, dict[int, int]],
    ) -> Sequence[Judgement]:
        """Return the judgements on inputs; none if there is nothing to check."""
        if self.checks is None or not any(self.checks.covers(r.topic) for _, r in taken):
            return ()
        scratch: Serials = {tp: dict(tasks) for tp, tasks in serials.items()}
        return self.checks.judge([record for _, record in taken], scratch)

    @staticmethod
    def note_decided(
        decided: Sequence[tuple[Topic, Record]],
        judgements: Sequence[Judgement],
        serials: Serials,
    ) -> None:
        """Update the serials with those of the decided inputs that count."""
        for (_, record), (reason, header) in zip(decided, judgements, strict=False):
            if reason is None and header is not None:
                tp = TopicPartition(record.topic, record.partition)
                serials.setdefault(tp, {})[header.task] = header.serial
