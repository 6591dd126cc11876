"""MACs in a task's life over either log: what it signs, and what a restore and an input refuse."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from schemas import decode, encode
from schemas.formats import iso_ms
from streams.engine.accept_gap import accept_gap
from streams.engine.mac_errors import MacKeyMissing, MacMissing, PositionsRefused
from streams.engine.mac_signer import MacSigner
from streams.engine.record_mac import HEADER, REDRIVE_TASK, first_serial, mac_header, parse_header
from streams.engine.records import Output, Record, header
from streams.engine.refused_rows import PROCESS
from streams.engine.rows import store_key
from streams.errors import SettingsError, UsageError
from streams.ops.sign_topics import SignedTask, _TaskSigning, sign_topics
from tests.contract.test_task import HOUR_MS, OpenTask, seen, send
from tests.contract.test_task_timers import fact_kinds
from tests.contract.twins import Twin
from tests.toy import FACTS, INPUT, OPEN, RECORD, ROWS, SECOND, ToyProcessor, toy_record
from topology import processors, topics
from topology.core import CHANGELOG, INPUT_POSITIONS, KNOWN_INPUTS, TASK_OPENINGS, TIMERS
from topology.declarations import Topic
from topology.topics import dead_letters_of

KEY = "0123456789abcdef0123456789abcdef"
NEW_KEY = "fedcba9876543210fedcba9876543210"
SIGNED = (FACTS, ROWS, CHANGELOG)


@pytest.fixture(autouse=True)
def toy_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processors, "ALL", (ToyProcessor(second=True).declaration,))


def work(twin: Twin, task: OpenTask, *idents: str, key: str | None = KEY, **more: str) -> None:
    send(twin, *idents)
    with task(mac_key=key, **more) as driver:
        driver.drain()


def append(twin: Twin, topic: Topic, key: bytes, value: bytes | None) -> None:
    twin.log.append([Output(twin.name(topic), key, value, (), 0)])


def forge_count(twin: Twin, ident: str, number: int) -> None:
    row = encode(RECORD, {"data": {"n": str(number)}})
    append(twin, ROWS, ident.encode(), row)


def copied(record: Record, topic: str | None = None) -> Output:
    return Output(topic or record.topic, record.key, record.value, record.headers, 0)


def serials(records: Sequence[Record]) -> list[int]:
    headers = [parse_header(mac_header(record.headers) or b"") for record in records]
    return [each.serial for each in headers if each is not None]


def letter_codes(twin: Twin, topic: Topic) -> list[bytes | None]:
    letters = twin.read(dead_letters_of(topic))
    return [header(letter, "kafka_dlt-exception-fqcn") for letter in letters]


def refusals(twin: Twin, topic: Topic, reason: str) -> int:
    return PROCESS.counts().get((twin.name(topic), reason), 0)


def test_without_a_key_nothing_is_signed_and_no_row_is_added(twin: Twin, task: OpenTask) -> None:
    work(twin, task, "a", key=None)
    for topic in SIGNED:
        assert all(mac_header(record.headers) is None for record in twin.read(topic))
    opening = store_key(TASK_OPENINGS.name, "opening")
    assert opening not in [record.key for record in twin.read(CHANGELOG)]


def test_serials_rise_along_each_partition_and_with_each_opening(
    twin: Twin, task: OpenTask
) -> None:
    for _ in range(2):
        send(twin, "a", "b", timer=HOUR_MS)
        work(twin, task, "c", "c")
    for topic in SIGNED:
        records = twin.read(topic)
        numbers = serials(records)
        assert len(numbers) == len(records)
        assert numbers == sorted(set(numbers))
        assert first_serial(1) <= numbers[0] < first_serial(2) < numbers[-1] < first_serial(3)


def test_a_restore_ignores_forged_rows(twin: Twin, task: OpenTask) -> None:
    work(twin, task, "a", "a")
    old = twin.read(ROWS)
    forge_count(twin, "a", 90)
    twin.log.append([copied(old[0])])
    append(twin, ROWS, b"a", None)
    work(twin, task, "a", directory="empty")
    assert seen(twin)[-1] == "a3"
    assert refusals(twin, ROWS, "mac_missing") == 2
    assert refusals(twin, ROWS, "mac_replayed") == 1


def test_a_replayed_older_row_is_refused_by_a_store_that_goes_on(
    twin: Twin, task: OpenTask
) -> None:
    work(twin, task, "a", "a")
    twin.log.append([copied(twin.read(ROWS)[0])])
    work(twin, task, "a")
    assert seen(twin) == ["a1", "a2", "a3"]


def test_a_row_of_which_only_a_forged_record_is_left_makes_dead_letters_until_it_is_replaced(
    twin: Twin, task: OpenTask
) -> None:
    work(twin, task, "a")
    forge_count(twin, "b", 90)
    with task("empty", mac_key=KEY) as driver:
        send(twin, "a", "b", "c")
        driver.drain()
        assert seen(twin) == ["a1", "a2", "c1"]
        assert letter_codes(twin, INPUT) == [b"row_refused"]
        (letter,) = twin.read(dead_letters_of(INPUT))
        place = twin.name(ROWS) + "/0/"
        message = header(letter, "kafka_dlt-exception-message") or b""
        assert b"row b of toy.rows is refused" in message
        assert place.encode() in message
    work(twin, task, "b", directory="empty")
    assert letter_codes(twin, INPUT) == [b"row_refused"] * 2


def test_refused_rows_never_stop_a_task(twin: Twin, task: OpenTask) -> None:
    work(twin, task, "a")
    for number in range(30):
        forge_count(twin, f"b{number}", 1)
    work(twin, task, *(f"b{number}" for number in range(30)), directory="empty")
    assert letter_codes(twin, INPUT) == [b"row_refused"] * 30


def test_a_forged_timer_does_not_fire(twin: Twin, task: OpenTask) -> None:
    work(twin, task, "a")
    row = encode(TIMERS.record, {"data": {"cause": "x"}})
    append(twin, CHANGELOG, store_key(TIMERS.name, "000000000000001/toy/toy.wait/a"), row)
    with task("empty", mac_key=KEY) as driver:
        driver.drain()
        assert driver.task.next_due is None
    assert fact_kinds(twin) == [("a", "seen")]


def test_a_forged_position_moves_nothing(twin: Twin, task: OpenTask) -> None:
    work(twin, task, "a", "b")
    row = encode(INPUT_POSITIONS.record, {"next_offset": 0, "serials": []})
    append(twin, CHANGELOG, store_key(INPUT_POSITIONS.name, INPUT.name), row)
    append(twin, CHANGELOG, store_key(KNOWN_INPUTS.name, "inputs"), None)
    work(twin, task, "c", directory="empty")
    assert seen(twin) == ["a1", "b1", "c1"]


def test_without_its_own_position_a_task_stays_closed(twin: Twin, task: OpenTask) -> None:
    work(twin, task, "a")
    twin.recreate(CHANGELOG)
    row = encode(TASK_OPENINGS.record, {"number": 9})
    append(twin, CHANGELOG, store_key(TASK_OPENINGS.name, "opening"), row)
    with pytest.raises(PositionsRefused) as raised:
        task("empty", mac_key=KEY)
    assert raised.value.code == "positions_lost"


def test_other_keys_and_none_keep_a_task_closed(twin: Twin, task: OpenTask) -> None:
    work(twin, task, "a")
    with pytest.raises(MacKeyMissing):
        task("empty")
    with pytest.raises((MacMissing, PositionsRefused)):
        task("other", mac_key=NEW_KEY)
    work(twin, task, "a", key=f"{NEW_KEY},{KEY}")
    work(twin, task, "a", key=f"{NEW_KEY},{KEY}", directory="rotated")
    assert seen(twin) == ["a1", "a2", "a3"]


def test_rows_without_macs_keep_a_task_with_a_key_closed(twin: Twin, task: OpenTask) -> None:
    work(twin, task, "a", key=None)
    with pytest.raises((MacMissing, PositionsRefused)):
        task(mac_key=KEY)


def second(twin: Twin, ident: str, task_number: int, serial: int) -> Output:
    """Return a message between processors, as the task of that number writes it."""
    output = toy_record(ident, topic=SECOND, prefix=twin.prefix)
    signer = MacSigner(KEY.encode(), task_number, serial, [SECOND], twin.prefix)
    return signer.sign([output])[0]


def test_a_refused_message_between_processors_is_a_dead_letter(twin: Twin, task: OpenTask) -> None:
    genuine = [second(twin, "a", 0, 5), second(twin, "b", 0, 6)]
    forged = toy_record("x", topic=SECOND, prefix=twin.prefix)
    copy = genuine[0]._replace(key=b"a")
    changed = second(twin, "y", 0, 9)._replace(value=forged.value)
    twin.log.append([*genuine, forged, copy, changed, second(twin, "c", 0, 7)])
    with task(second=True, mac_key=KEY) as driver:
        driver.drain()
    assert seen(twin) == ["a1", "b1", "c1"]
    expected = [b"mac_missing", b"mac_replayed", b"mac_invalid"]
    assert letter_codes(twin, SECOND) == expected
    letters = twin.read(dead_letters_of(SECOND))
    assert all(HEADER not in dict(letter.headers) for letter in letters)
    twin.log.append([second(twin, "a", 0, 6), second(twin, "d", REDRIVE_TASK, 1)])
    with task("empty", second=True, mac_key=KEY) as driver:
        driver.drain()
    assert seen(twin) == ["a1", "b1", "c1", "d1"]
    assert letter_codes(twin, SECOND) == [*expected, b"mac_replayed"]


def test_the_serials_of_a_batch_that_is_cut_short_are_those_of_what_was_decided(
    twin: Twin, task: OpenTask
) -> None:
    twin.log.append([second(twin, f"k{n}", 0, n) for n in range(1, 8)])
    for _ in range(4):
        with task(second=True, mac_key=KEY, batch=2) as driver:
            driver.fetch()
            driver.step()
    assert sorted(seen(twin)) == [f"k{n}1" for n in range(1, 8)]
    assert letter_codes(twin, SECOND) == []


def test_an_operators_row_continues_the_serials_of_the_task(twin: Twin, task: OpenTask) -> None:
    work(twin, task, "a", "b")
    twin.truncate(twin.tp(INPUT), twin.high_watermark(twin.tp(INPUT)))
    send(twin, "c")
    twin.truncate(twin.tp(INPUT), twin.high_watermark(twin.tp(INPUT)))
    settings = twin.settings(mac_key=KEY)
    with pytest.raises(MacKeyMissing):
        accept_gap(twin.log, twin.settings(), twin.name(INPUT), 0)
    accept_gap(twin.log, settings, twin.name(INPUT), 0)
    with pytest.raises(UsageError):
        accept_gap(twin.log, settings, twin.name(INPUT), 0)
    for directory in ("state", "empty"):
        work(twin, task, "d", directory=directory)
    assert seen(twin) == ["a1", "b1", "d1", "d2"]
    numbers = serials(twin.read(CHANGELOG))
    assert numbers == sorted(set(numbers))


def test_a_crash_before_the_first_commit_takes_no_serial_twice(twin: Twin, task: OpenTask) -> None:
    send(twin, "a")
    driver = task(mac_key=KEY)
    driver.fetch()
    cycle = driver.task.next_batch()
    assert cycle is not None
    driver.task.submit(cycle)
    twin.abort(list(driver.task._macs.sign(cycle.effects.outputs)))
    driver.close()
    work(twin, task, "b")
    work(twin, task, "c", directory="empty")
    assert seen(twin) == ["a1", "b1", "c1"]
    for topic in SIGNED:
        numbers = serials(twin.read(topic))
        assert numbers == sorted(set(numbers))


def test_open_rows_survive(twin: Twin, task: OpenTask) -> None:
    """Tombstones have MACs too, and a forged row behind one does not return."""
    send(twin, "a", timer=HOUR_MS)
    work(twin, task)
    send(twin, "a", answer=1)
    work(twin, task)
    forged = encode(RECORD, {"data": {"due": "9" * 13}})
    append(twin, CHANGELOG, store_key(OPEN.name, "a"), forged)
    send(twin, "a", answer=1)
    work(twin, task, directory="empty")
    assert [kind for _, kind in fact_kinds(twin)] == ["seen", "answered", "late"]
    last = [decode(r.value, RECORD).value for r in twin.read(FACTS)][-1]
    assert last["data"]["n"] == "3"


@pytest.fixture
def toy_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "ALL", (INPUT, SECOND, FACTS, ROWS, CHANGELOG))


def sign_all(twin: Twin, key: str) -> list[SignedTask]:
    return list(sign_topics(twin.log, twin.settings(mac_key=key)))


def in_an_hour(twin: Twin) -> str:
    return iso_ms(twin.clock() + HOUR_MS)


@pytest.mark.usefixtures("toy_declared")
def test_a_log_without_macs_is_signed_once_and_goes_on(twin: Twin, task: OpenTask) -> None:
    work(twin, task, "a", "a", "b", key=None)
    with pytest.raises(SettingsError, match="HEADRACE_MAC_KEY"):
        list(sign_topics(twin.log, twin.settings()))
    rows = len({record.key for topic in (ROWS, CHANGELOG) for record in twin.read(topic)})
    assert sign_all(twin, KEY) == [SignedTask(0, rows + 1, 0)]
    assert sign_all(twin, KEY) == [SignedTask(0, 1, rows)]
    since = in_an_hour(twin)
    counts = dict(PROCESS.counts())
    work(twin, task, "a", mac_since=since)
    work(twin, task, "a", mac_since=since, directory="empty")
    assert seen(twin) == ["a1", "a2", "b1", "a3", "a4"]
    assert PROCESS.counts() == counts
    for topic in (ROWS, CHANGELOG):
        numbers = serials(twin.read(topic))
        assert numbers == sorted(set(numbers))
    causes = [header(record, "headrace-cause") for record in twin.read(ROWS)]
    assert set(causes[2:4]) == set(causes[:2])


@pytest.mark.usefixtures("toy_declared")
def test_a_signing_that_is_killed_continues(
    twin: Twin, task: OpenTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    work(twin, task, *(f"k{n}" for n in range(9)), key=None)
    monkeypatch.setattr("streams.ops.sign_topics._TRANSACTION_ROWS", 2)
    commits = iter(range(3))
    commit = _TaskSigning._commit

    def fail_third(self: _TaskSigning, outputs: list[Output]) -> None:
        if next(commits, None) is None:
            raise KeyboardInterrupt
        commit(self, outputs)

    with monkeypatch.context() as patch:
        patch.setattr(_TaskSigning, "_commit", fail_third)
        with pytest.raises(KeyboardInterrupt):
            sign_all(twin, KEY)
    with pytest.raises((MacMissing, PositionsRefused)):
        task("early", mac_key=KEY, mac_since=in_an_hour(twin))
    ((_, signed, unchanged),) = sign_all(twin, KEY)
    assert unchanged == 6
    assert signed > 1
    work(twin, task, "k0", mac_since=in_an_hour(twin), directory="empty")
    assert seen(twin)[-1] == "k02"
    numbers = serials(twin.read(ROWS))
    assert numbers == sorted(set(numbers))


@pytest.mark.usefixtures("toy_declared")
def test_a_key_is_rotated(twin: Twin, task: OpenTask) -> None:
    send(twin, "gone", timer=HOUR_MS)
    work(twin, task, "a", "b")
    send(twin, "gone", answer=1)
    both, since = f"{NEW_KEY},{KEY}", in_an_hour(twin)
    work(twin, task, "a", key=both, directory="both")
    forge_count(twin, "a", 90)
    sign_all(twin, both)
    work(twin, task, "a", key=NEW_KEY, mac_since=since, directory="new")
    assert [text for text in seen(twin) if text[0] in "ab"] == ["a1", "b1", "a2", "a3"]


def test_a_lenient_reader_takes_no_serial_from_a_forged_header(twin: Twin, task: OpenTask) -> None:
    """A message from before the key counts, and does not make later genuine ones replays."""
    forged = toy_record("old", topic=SECOND, prefix=twin.prefix)
    header_text = b"1;0;9000000000000000000;AAAAAAAAAAAAAAAAAAAAAA"
    old = [forged._replace(headers=[(HEADER, header_text)]), forged]
    twin.log.append([*old, second(twin, "a", 0, 5), *old, second(twin, "b", 0, 6)])
    with task(second=True, mac_key=KEY, mac_since=in_an_hour(twin)) as driver:
        driver.drain()
    assert seen(twin) == ["old1", "old2", "a1", "b1"]
    assert letter_codes(twin, SECOND) == [b"mac_invalid", b"mac_missing"]
