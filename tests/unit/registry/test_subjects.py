from __future__ import annotations

from schemas import CATALOGUE
from streams.registry.subjects import subjects
from topology import topics
from topology.apc import APC_PACKETS
from topology.asap import ASAP_ENVELOPES, ASAP_INBOX


def test_every_topic_of_records_has_the_subject_of_its_values() -> None:
    by_name = subjects("acme.")
    for topic in topics.ALL:
        name = f"acme.{topic.name}-value"
        assert (name in by_name) == (topic.record is not None)
        if topic.record is not None:
            assert by_name[name].record == topic.record


def test_every_version_of_the_catalogue_has_a_subject() -> None:
    served = {entry.id for subject in subjects().values() for entry in subject.entries}
    assert served == {entry.id for entry in CATALOGUE}


def test_versions_count_from_one_and_end_with_the_latest() -> None:
    for subject in subjects().values():
        numbers = [entry.version for entry in subject.entries]
        assert numbers == list(range(1, len(numbers) + 1))
        assert subject.entries[-1] == CATALOGUE.latest(subject.record)


def test_the_changelog_has_a_subject_for_each_of_its_records() -> None:
    subject = subjects()["headrace.changelog-headrace.rtes.RtesSession"]
    assert [entry.version for entry in subject.entries] == [1, 2]


def test_keys_have_no_subjects_for_they_are_plain_text() -> None:
    assert not [name for name in subjects() if name.endswith("-key")]


def test_names_come_in_order() -> None:
    assert list(subjects()) == sorted(subjects())
    assert subjects()[f"{ASAP_ENVELOPES.name}-value"].entries == (
        subjects()[f"{ASAP_INBOX.name}-value"].entries
    )
    assert subjects()[f"{APC_PACKETS.name}-value"].name == "apc.packets-value"
