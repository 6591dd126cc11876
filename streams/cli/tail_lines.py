"""Lines of a followed topic."""

from __future__ import annotations

from streams.cli.line_text import LineJoiner
from streams.cli.record_lines import position_of, record_line
from streams.cli.text import Page
from streams.log.tail import Observation
from topology.declarations import Topic


class LinePrinter:
    """Prints one line for each observation; the chunks of one thought wait to be joined."""

    def __init__(self, topic: Topic, page: Page) -> None:
        self._topic = topic
        self._lines = LineJoiner(page)

    def add(self, observation: Observation) -> None:
        record = observation.record
        line = record_line(self._topic, record, observation.value)
        self._lines.add(line, record.timestamp, position_of(record))

    def end_batch(self) -> None:
        """Print nothing: a thought may go on in the next batch."""

    def flush(self) -> None:
        """Print the lines that wait."""
        self._lines.flush()
