"""The client over Kafka and over a gateway, each a real one, with a real worker behind."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from streams import Client, errors
from streams.engine.headers import TRACEPARENT
from streams.engine.records import TopicPartition, header
from streams.views.parse import QueryError
from streams.views.positions import ViewBehind
from tests.integration.detour import Detour
from tests.integration.system import Live, live
from tests.unit.client.loops import LOOPS, run_alone
from tests.unit.envelopes import idea, transition

pytestmark = pytest.mark.slow

IN_A_ROW = {"http": 1000, "kafka": 200}
WAYS = ("kafka", "http")
Open = Callable[[str], Client]


@pytest.fixture(scope="module")
def system(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder: Path = tmp_path_factory.mktemp("client")
    # Small bounds, so that tests need not wait and a burst is too much for one client of a tail.
    with live(broker, folder, GATEWAY_WAIT_S="5", RTES_TAIL_RECORDS="20") as system:
        yield system


@pytest.fixture
def client(system: Live, tmp_path: Path) -> Open:
    """A client over Kafka or over the gateway."""

    def make(way: str) -> Client:
        if way == "http":
            return Client(system.url)
        return Client(settings=replace(system.settings, state_dir=tmp_path))

    return make


@pytest.fixture
def session() -> str:
    return f"s-{uuid.uuid4().hex[:8]}"


def packet(session: str, **changes: Any) -> dict[str, Any]:
    made = idea(trace__session_id=session, packet_id=str(uuid.uuid4()), **changes)
    made["trace"]["root_packet_id"] = made["packet_id"]
    return made


def event(session: str, number: int) -> dict[str, Any]:
    made = transition(number, task_id=f"t{number}")
    return {**made, "session_id": session, "event_id": str(uuid.uuid4())}


def path_of(packet: dict[str, Any]) -> str:
    return f"/v1/apc/sessions/{packet['trace']['session_id']}/packets/{packet['packet_id']}"


def numbers(records: list[Any]) -> list[int]:
    return [int(record.value["payload"]["task_id"][1:]) for record in records]


async def take(stream: Any, count: int) -> list[Any]:
    return [await anext(stream) for _ in range(count)]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("way", WAYS)
def test_a_client_reads_its_own_writes(client: Open, session: str, way: str) -> None:
    async def test() -> None:
        async with client(way) as hr:
            for _ in range(IN_A_ROW[way]):
                sent = packet(session)
                position = await hr.send("apc.packets", sent)
                row = await hr.query(path_of(sent), after=position)
                assert (row["state"], row["position"]) == ("ROUTED", position)

    run_alone(test(), patience_s=590)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("way", WAYS)
def test_a_thousand_sends_at_once(client: Open, session: str, way: str, loop: str) -> None:
    """One is not valid; it fails alone."""
    packets = [packet(session) for _ in range(1000)]
    packets[400] = packet(session, confidence=2)

    async def test() -> None:
        async with client(way) as hr:
            sends = [hr.send("apc.packets", one) for one in packets]
            results = await asyncio.gather(*sends, return_exceptions=True)
            refused = results.pop(400)
            assert isinstance(refused, errors.InvalidInput)
            assert [problem.path for problem in refused.problems] == ["/confidence"]
            positions = [one for one in results if isinstance(one, str)]
            assert len(set(positions)) == 999
            offsets = [int(one.rpartition("/")[2]) for one in positions]
            assert offsets == sorted(offsets)
            trace = await hr.query(
                "/v1/apc/packets", session_id=session, limit=2000, after=positions[-1]
            )
            assert trace["count"] == 999

    run_alone(test(), loop)


def test_sends_at_once_share_requests(system: Live, session: str) -> None:
    async def test() -> None:
        async with Detour(lambda: system.url) as detour, Client(detour.url) as hr:
            packets = [packet(session) for _ in range(300)]
            await asyncio.gather(*[hr.send("apc.packets", one) for one in packets])
            assert detour.connections <= 2

    run_alone(test())


@pytest.mark.parametrize("way", WAYS)
def test_a_list_is_sent_whole_or_not_at_all(client: Open, session: str, way: str) -> None:
    async def test() -> None:
        async with client(way) as hr:
            good = [packet(session) for _ in range(3)]
            positions = await hr.send("apc.packets", good)
            assert len(positions) == 3
            bad = [packet(session), packet(session, confidence=2), {}]
            with pytest.raises(errors.InvalidInput) as caught:
                await hr.send("apc.packets", bad)
            assert set(caught.value.indexes) == {1, 2}
            trace = await hr.query("/v1/apc/packets", session_id=session, after=positions[-1])
            assert trace["count"] == 3

    run_alone(test())


INVALID: list[tuple[str, Any]] = [
    ("apc.packets", {}),
    ("apc.packets", [idea(confidence=2), idea(), idea(created_at="soon")]),
    ("apc.packets", [[]]),
    ("apc.packets", "text"),
    ("apc.packets", idea(confidence=float("inf"))),
    ("apc.packets", idea(payload={"x": "y" * 600_000})),
    ("rtes.raw", [transition(1, to_state=3), None, {"payload": {}}]),
    ("apc.packets", [{}] * 1001),
    ("apc.events", {}),
]


@pytest.mark.parametrize(("topic", "value"), INVALID)
def test_invalid_input_is_refused_alike(client: Open, topic: str, value: Any) -> None:
    async def refusal(way: str) -> errors.HeadraceError:
        async with client(way) as hr:
            with pytest.raises(errors.HeadraceError) as caught:
                await hr.send(topic, value)
            return caught.value

    async def test() -> None:
        local, remote = [await refusal(way) for way in WAYS]
        assert type(local) is type(remote)
        assert str(local) == str(remote)
        for name in ("problems", "indexes"):
            assert getattr(local, name, None) == getattr(remote, name, None)

    run_alone(test())


QUERIES: list[tuple[str, dict[str, Any], type[errors.HeadraceError]]] = [
    ("/v1/apc/sessions/none/packets/none", {}, errors.NotFound),
    ("/v1/apc/sessions/a%2Fb%20%C3%A4/packets/none", {}, errors.NotFound),
    ("/v1/apc/packets", {"limit": 0}, QueryError),
    ("/v1/apc/packets", {"colour": "red"}, QueryError),
    ("/v1/saop/tasks", {"limit": 1001}, QueryError),
    ("/v1/apc/packets", {"after": "nowhere"}, QueryError),
    ("/v1/apc/packets", {"after": "{prefix}apc.packets/99/0"}, QueryError),
    ("/v1/apc/packets", {"after": "{prefix}apc.packets/0/123456789"}, ViewBehind),
    ("/v1/nowhere", {}, errors.UsageError),
    ("/v1/apc/evaluate", {}, errors.UsageError),
]


@pytest.mark.parametrize(("path", "params", "kind"), QUERIES)
def test_queries_fail_alike(
    client: Open, system: Live, path: str, params: dict[str, Any], kind: type[Exception]
) -> None:
    params = {
        k: v.format(prefix=system.prefix) if isinstance(v, str) else v for k, v in params.items()
    }

    async def failure(way: str) -> errors.HeadraceError:
        async with client(way) as hr:
            with pytest.raises(errors.HeadraceError) as caught:
                await hr.query(path, **params)
            return caught.value

    async def test() -> None:
        local, remote = [await failure(way) for way in WAYS]
        assert type(local) is type(remote) is kind
        if kind is not errors.UsageError:
            assert re.sub("lags by [0-9]+", "lags", str(local)) == re.sub(
                "lags by [0-9]+", "lags", str(remote)
            )
        assert getattr(local, "problems", None) == getattr(remote, "problems", None)

    run_alone(test())


@pytest.mark.parametrize("way", WAYS)
def test_pages_give_every_row_once(client: Open, session: str, way: str) -> None:
    async def test() -> None:
        async with client(way) as hr:
            positions = await hr.send("rtes.raw", [event(session, n) for n in range(1, 8)])
            pages = hr.pages("/v1/rtes/events", session_id=session, limit=3, after=positions[-1])
            numbers_by_page = [[row["sequence"] for row in page["items"]] async for page in pages]
            assert numbers_by_page == [[1, 2, 3], [4, 5, 6], [7]]
            with pytest.raises(errors.UsageError, match="pages"):
                await anext(hr.pages("/v1/lineage/summary"))

    run_alone(test())


@pytest.mark.parametrize("way", WAYS)
def test_records_carry_the_trace_context(
    client: Open, system: Live, session: str, way: str
) -> None:
    context = f"00-{uuid.uuid4().hex}-{'b' * 16}-01"

    async def test() -> None:
        async with client(way) as hr:
            position = await hr.send("apc.packets", packet(session), traceparent=context)
            topic, partition, offset = position.split("/")
            start = {TopicPartition(topic, int(partition)): int(offset)}
            with system.log.reader(start) as reader:
                record = None
                while record is None:
                    record = next(iter(reader.poll(0.1, 1)), None)
            assert header(record, TRACEPARENT) == context.encode()

    run_alone(test())


@pytest.mark.parametrize("whole", [False, True])
def test_a_cursor_goes_on_over_the_other_way(client: Open, session: str, whole: bool) -> None:
    """whole: the topic, not one session alone."""
    filters = {} if whole else {"session_id": session}

    async def test() -> None:
        async with client("kafka") as kafka, client("http") as http:
            async with http.tail("rtes.events", **filters) as opening:
                cursor = opening.cursor
            assert cursor is not None
            await kafka.send("rtes.raw", [event(session, n) for n in range(1, 13)])
            for hr in (kafka, http, kafka, http):
                async with hr.tail("rtes.events", start=cursor, **filters) as stream:
                    read = [r for r in await take(stream, 3) if r.value["session_id"] == session]
                assert len(read) == 3
                cursor = read[-1].cursor
            async with kafka.tail("rtes.events", start=cursor, **filters) as stream:
                assert stream.cursor == cursor

    run_alone(test())


@pytest.mark.parametrize("way", WAYS)
def test_a_tail_shows_what_is_asked_for(client: Open, session: str, way: str) -> None:
    async def test() -> None:
        async with client(way) as hr:
            async with hr.tail("rtes.events", session_id=session, task_id="t3") as stream:
                await hr.send("rtes.raw", [event(session, n) for n in range(1, 5)])
                assert numbers(await take(stream, 1)) == [3]
            everything = hr.tail("rtes.events", session_id=session, start="earliest")
            assert numbers(await take(everything, 4)) == [1, 2, 3, 4]
            record = (await take(hr.tail("rtes.events", start="earliest"), 1))[0]
            assert record.topic == "rtes.events"

    run_alone(test())


def test_a_tail_is_gapless_through_cuts_bursts_and_a_restart(system: Live, session: str) -> None:
    count = 600

    async def send(hr: Client, detour: Detour) -> None:
        for first in range(1, count, 100):
            await hr.send("rtes.raw", [event(session, n) for n in range(first, first + 100)])
            detour.cut()
            if first == 301:
                await asyncio.to_thread(system.gateway.kill)
                await asyncio.to_thread(system.start_gateway)

    async def test() -> None:
        kafka = Client(settings=system.settings)
        async with Detour(lambda: system.url) as detour, kafka, Client(detour.url) as hr:
            async with hr.tail("rtes.events", session_id=session) as stream:
                sending = asyncio.create_task(send(kafka, detour))
                assert numbers(await take(stream, count)) == list(range(1, count + 1))
                await sending
            assert detour.connections > 3

    run_alone(test(), patience_s=120)


def test_a_slow_consumer_misses_nothing(system: Live, session: str) -> None:
    count = 500

    async def test() -> None:
        async with Client(system.url) as hr:
            async with hr.tail("rtes.events") as stream:
                await hr.send("rtes.raw", [event(session, n) for n in range(1, count + 1)])
                records: list[Any] = []
                while len(records) < count:
                    record = await anext(stream)
                    await asyncio.sleep(0.002)
                    records += [record] if record.value["session_id"] == session else []
            assert numbers(records) == list(range(1, count + 1))

    run_alone(test())


def test_a_lost_answer_is_an_unknown_outcome(system: Live, session: str) -> None:
    sent = packet(session)

    async def test() -> None:
        async with Detour(lambda: system.url) as detour, Client(detour.url) as hr:
            detour.lose_answers = True
            with pytest.raises(errors.ProduceUnknown, match="Send again with the same id"):
                await hr.send("apc.packets", sent)
            again = asyncio.create_task(hr.send("apc.packets", sent, attempts=20))
            while detour.connections < 3:
                await asyncio.sleep(0.01)
            detour.lose_answers = False
            position = await again
            events = await hr.query(f"{path_of(sent)}/events", after=position)
            verdicts = [row["verdict"] for row in events["items"] if row["verdict"]]
            assert verdicts[0] == "accepted"
            assert set(verdicts[1:]) == {"duplicate"}

    run_alone(test())


@pytest.mark.parametrize("way", WAYS)
def test_a_call_can_be_cancelled(client: Open, system: Live, session: str, way: str) -> None:
    async def test() -> None:
        async with client(way) as hr:
            later = f"{system.prefix}apc.packets/0/123456789"
            waiting = asyncio.create_task(hr.query("/v1/apc/packets", after=later))
            sending = asyncio.create_task(hr.send("apc.packets", packet(f"{session}-packets")))
            stream = hr.tail("rtes.events", session_id=session)
            following = asyncio.create_task(anext(stream))
            await asyncio.sleep(0)
            for task in (waiting, sending, following):
                task.cancel()
            await asyncio.gather(waiting, sending, following, return_exceptions=True)
            sent = packet(f"{session}-packets")
            assert await hr.query(path_of(sent), after=await hr.send("apc.packets", sent))
            await hr.send("rtes.raw", event(session, 1))
            assert numbers(await take(stream, 1)) == [1]

    run_alone(test())


@pytest.mark.parametrize("way", WAYS)
def test_a_late_answer_holds_up_no_other(
    client: Open, system: Live, session: str, way: str
) -> None:
    async def test() -> None:
        async with client(way) as hr:
            later = f"{system.prefix}apc.packets/0/123456789"
            await hr.query("/v1/apc/packets", session_id=session)
            late = asyncio.create_task(hr.query("/v1/apc/packets", after=later))
            await asyncio.sleep(0)
            await hr.query("/v1/apc/packets", session_id=session)
            assert not late.done()
            with pytest.raises(ViewBehind):
                await late

    run_alone(test())


@pytest.mark.parametrize("way", WAYS)
def test_closing_ends_what_is_followed(client: Open, session: str, way: str) -> None:
    async def test() -> None:
        hr = await client(way).__aenter__()
        streams = [hr.tail("rtes.events"), hr.tail("rtes.events", session_id=session)]
        waiting = [asyncio.ensure_future(anext(stream, None)) for stream in streams]
        while not all(stream.cursor for stream in streams):
            await asyncio.sleep(0.01)
        await hr.close()
        assert await asyncio.gather(*waiting) == [None, None]

    run_alone(test())
