"""Lines of a followed topic, the chunks of one thought joined."""

from __future__ import annotations

from streams.api.lines import Line
from streams.cli import common
from streams.cli.record_lines import clock_time, joined, line_text, position_of, record_line
from streams.log.tail import Observation
from topology.declarations import Topic

_MAX_JOINED = 256


class LinePrinter:
    """Prints one line for each observation; lines of one stream wait to be joined.

    local: times are in the local time zone.
    """

    def __init__(self, topic: Topic, local: bool = False) -> None:
        self._topic = topic
        self._local = local
        self._waiting: list[Line] = []
        self._time = ""

    def add(self, observation: Observation) -> None:
        record = observation.record
        line = record_line(self._topic, record, observation.value)
        waiting = self._waiting
        if waiting and (waiting[0].stream != line.stream or len(waiting) >= _MAX_JOINED):
            self.flush()
        if not self._waiting:
            self._time = f"{clock_time(record.timestamp, local=self._local)}"
        if line.stream:
            self._waiting.append(line)
        else:
            self._print(line, line.place or position_of(record))

    def flush(self) -> None:
        """Print the lines that wait."""
        lines, self._waiting = self._waiting, []
        if lines:
            line = joined(lines)
            self._print(line, line.place)

    def _print(self, line: Line, place: str) -> None:
        common.echo(f"{self._time}  {place}  {line_text(line)}")
