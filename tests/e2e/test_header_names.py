"""A header's name may be any bytes on the wire, though every library takes it for UTF-8."""

from __future__ import annotations

import pytest

from tests.e2e import raw_records
from tests.e2e.environment import Environment
from tests.e2e.outputs import PARTITIONS
from tests.e2e.raw_records import raw_name
from tests.unit.protocols.apc.processor.packets import packet
from topology.apc import APC_PACKETS
from topology.keys import partition_of

pytestmark = pytest.mark.slow

NONE, LZ4 = 0, 3
TRACE = ("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
"""Every reader must make the same of it beside such a name: nothing."""


@pytest.mark.parametrize("compression", [NONE, LZ4])
def test_a_name_that_is_not_utf_8_stops_nobody(shared: Environment, compression: int) -> None:
    names = [b"plain", b"caf\xe9", b"\xff\xfe", b"", "gr\u00fc\u00df".encode()]
    outputs = [
        shared.packet(
            packet("IDEA", 100 * compression + number), headers=[TRACE, (raw_name(name), b"1")]
        )
        for number, name in enumerate(names)
    ]
    (partition,) = {partition_of(output.key or b"", PARTITIONS) for output in outputs}
    bootstrap = shared.settings.bootstrap or ""
    first = raw_records.produce(bootstrap, partition, outputs, compression)
    positions = [f"{shared.name(APC_PACKETS)}/{partition}/{first + n}" for n in range(len(names))]
    answers = shared.await_answers(positions)
    assert [kind for kind, _ in answers] == ["fact"] * len(names)
    verdicts = [(fact["verdict"], fact["rule"]) for _, fact in answers]
    assert len(set(verdicts)) == 1, verdicts
    shared.verify()
    shared.drain()
