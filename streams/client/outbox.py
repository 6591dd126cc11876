"""Conversion of parcels to records as the service's edge does it: checked, masked, keyed, Avro."""

from __future__ import annotations

from collections.abc import Callable

from schemas import Problem
from streams.client.transport import ProduceRequest
from streams.client.values import invalid
from streams.engine.headers import TRACEPARENT
from streams.engine.records import Output
from streams.errors import InvalidInput
from streams.ingress.edges import ingress_topic_of
from streams.processing.encode import to_output
from streams.processing.key_blocks import Blocks
from streams.settings import Settings


class RecordEncoder:
    """One for each client, used by one thread, in the order in which the client sends.

    clock: ms since the epoch.
    """

    def __init__(self, settings: Settings, clock: Callable[[], int]) -> None:
        self._settings = settings
        self._clock = clock
        self._blocks = Blocks()

    def outputs(self, parcel: ProduceRequest) -> list[Output]:
        """Return the records of a parcel.

        Raises InvalidInput with the problems of all values, OutputTooLarge.
        """
        edge, now = ingress_topic_of(parcel.topic), self._clock()
        blocks = self._blocks.copy()  # stored only if the whole parcel is sent
        outputs: list[Output] = []
        problems: list[tuple[int, Problem]] = []
        for index, value in enumerate(parcel.values):
            try:
                output = to_output(edge, value, now, self._settings, blocks)
                outputs.append(_traced(output, parcel))
            except InvalidInput as exc:
                problems += [(index, problem) for problem in exc.problems]
        if problems:
            raise invalid(problems, parcel.many)
        self._blocks = blocks
        return outputs


def _traced(output: Output, parcel: ProduceRequest) -> Output:
    if parcel.traceparent is None:
        return output
    trace = (TRACEPARENT, parcel.traceparent.encode())
    return output._replace(headers=[*output.headers, trace])
