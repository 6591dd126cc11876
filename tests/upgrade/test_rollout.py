"""The next version takes over from this one, worker by worker, under traffic that does not stop."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.outputs import latest
from tests.upgrade.added.declared import COUNTED
from tests.upgrade.next_version import Version
from tests.upgrade.rollout import Rollout, Traffic

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def rollout(broker: str, tmp_path: Path) -> Iterator[Rollout]:
    with Rollout(broker, tmp_path) as rollout:
        yield rollout


@pytest.fixture
def traffic(rollout: Rollout) -> Traffic:
    return Traffic(rollout, random.Random(8))


@pytest.fixture
def following(tmp_path: Path) -> Version:
    return Version(tmp_path / "next")


def check(rollout: Rollout, traffic: Traffic) -> None:
    """One answer to each packet, one fact for each note, and no dead letter."""
    rollout.until(lambda: rollout.answers() == Counter(traffic.packets), "one answer each")
    rollout.until(lambda: rollout.count_facts() == Counter(traffic.notes), "one fact for each note")
    assert not rollout.letters()


def test_what_the_next_version_adds_fits_this_one(following: Version) -> None:
    following.add_topic_and_table()
    following.add_schema_versions()
    following.load()


@pytest.mark.slow
def test_an_added_topic_table_and_schema_version_are_rolled_out_without_a_stop_or_a_loss(
    rollout: Rollout, following: Version, traffic: Traffic
) -> None:
    following.add_topic_and_table()
    following.add_schema_versions()
    one, two = rollout.start("one"), rollout.start("two")
    rollout.share(one, two)
    with traffic.flowing():
        traffic.answered_on()
        early = rollout.start_version(following, "early")
        assert early.exit_code() == 3
        assert "topics_mismatch" in early.text()
        rollout.command(following, "topics", "create")
        traffic.notes_too.set()
        one.end()
        traffic.answered_on()
        first = rollout.start_version(following, "one")
        assert two.exit_code() == 3
        assert "not_co_partitioned" in two.text()
        first.wait_ready(*rollout.numbers)
        traffic.answered_on()
        second = rollout.start_version(following, "two")
        rollout.share(first, second)
        traffic.answered_on()
    check(rollout, traffic)
    rollout.drain()
    first.end()
    second.end()
    verified = json.loads(rollout.command(following, "verify", "--json"))
    assert verified["clean"], verified["findings"]
    assert verified["commands"]["notes.sent"] == len(traffic.notes)
    assert verified["rows"]["notes.counted"] == len(latest(rollout.records(COUNTED)))


def test_versions_that_read_the_same_share_the_work_and_either_may_go(
    rollout: Rollout, following: Version, traffic: Traffic
) -> None:
    one, two = rollout.start("one"), rollout.start("two")
    rollout.share(one, two)
    with traffic.flowing():
        one.end()
        first = rollout.start_version(following, "one")
        rollout.share(first, two)
        traffic.answered_on()
        first.end()
        traffic.answered_on()
    check(rollout, traffic)
    two.end()


@pytest.mark.slow
def test_a_version_that_adds_a_schema_alone_shares_with_no_earlier_one(
    rollout: Rollout, following: Version, traffic: Traffic
) -> None:
    following.add_schema_versions()
    one, two = rollout.start("one"), rollout.start("two")
    rollout.share(one, two)
    with traffic.flowing():
        one.end()
        first = rollout.start_version(following, "one")
        assert two.exit_code() == 3
        assert "not_co_partitioned" in two.text()
        traffic.answered_on()
    check(rollout, traffic)
    first.end()


@pytest.mark.slow
def test_an_earlier_version_stops_at_what_it_cannot_read_and_spoils_nothing(
    rollout: Rollout, following: Version, traffic: Traffic
) -> None:
    following.add_topic_and_table()
    following.add_schema_versions()
    rollout.command(following, "topics", "create")
    with traffic.flowing():
        traffic.notes_too.set()
        later = rollout.start_version(following, "one")
        later.wait_ready(*rollout.numbers)
        traffic.answered_on()
        later.end()
        earlier = rollout.start("one")
        assert earlier.exit_code() == 3
        assert "internal_unreadable" in earlier.text()
        again = rollout.start_version(following, "one")
        again.wait_ready(*rollout.numbers)
        traffic.answered_on()
    check(rollout, traffic)
    again.end()
    assert json.loads(rollout.command(following, "verify", "--json"))["clean"]
