from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from schemas.catalogue import LATEST_ID
from streams.engine.assignment import Member, Share, assign

ALL = frozenset({"a", "b", "c"})
members = st.dictionaries(
    st.sampled_from([f"m{n}" for n in range(9)]),
    st.builds(
        Member,
        st.frozensets(st.sampled_from(sorted(ALL)), min_size=1),
        st.frozensets(st.integers(0, 20), max_size=12),
    ),
    min_size=1,
)


@given(members, st.integers(1, 20))
def test_every_number_goes_to_one_member_that_reads_all_topics(
    group: dict[str, Member], partitions: int
) -> None:
    shares = assign(group, partitions)
    topics = frozenset[str]().union(*(m.topics for m in group.values()))
    able = {name for name, m in group.items() if m.topics == topics}
    assert shares.keys() == group.keys()
    handed_out = sorted(n for share in shares.values() for n in share.numbers)
    assert handed_out == (list(range(partitions)) if able else [])
    assert all(not shares[name].numbers for name in group.keys() - able)
    assert all(shares[name].missing == topics - m.topics for name, m in group.items())
    sizes = [len(shares[name].numbers) for name in able]
    assert not sizes or max(sizes) - min(sizes) <= 1
    assert all(list(s.numbers) == sorted(s.numbers) for s in shares.values())


@given(members, st.integers(1, 20))
def test_an_assignment_that_is_even_stays(group: dict[str, Member], partitions: int) -> None:
    agreed = {name: Member(ALL, m.owned) for name, m in group.items()}
    first = assign(agreed, partitions)
    owned = {name: Member(ALL, frozenset(share.numbers)) for name, share in first.items()}
    assert assign(owned, partitions) == first


@given(st.integers(1, 20), st.integers(1, 8), st.randoms(use_true_random=False))
def test_as_few_numbers_move_as_an_even_share_allows(
    partitions: int, count: int, random: Random
) -> None:
    names = [f"m{n}" for n in range(count)]
    owner = [random.choice([*names, None]) for _ in range(partitions)]
    claims = {n: frozenset(p for p in range(partitions) if owner[p] == n) for n in names}
    shares = assign({n: Member(ALL, claims[n]) for n in names}, partitions)
    stays = sum(len(claims[n].intersection(shares[n].numbers)) for n in names)
    min_share, extra = divmod(partitions, count)
    rich = sum(len(c) > min_share for c in claims.values())
    assert stays == sum(min(len(c), min_share) for c in claims.values()) + min(extra, rich)


def test_a_late_member_takes_its_share_and_no_more() -> None:
    shares = assign({"old": Member(ALL, frozenset(range(4))), "new": Member(ALL, frozenset())}, 4)
    assert shares == {"old": Share((0, 1), frozenset()), "new": Share((2, 3), frozenset())}


def test_of_two_that_claim_a_number_one_gets_it() -> None:
    both = frozenset({0, 1})
    shares = assign({"a": Member(ALL, both), "b": Member(ALL, both)}, 2)
    assert sorted([*shares["a"].numbers, *shares["b"].numbers]) == [0, 1]


def test_who_reads_less_is_told_what_it_lacks() -> None:
    shares = assign({"a": Member(ALL, frozenset()), "b": Member(ALL - {"c"}, frozenset({0}))}, 2)
    assert shares["b"] == Share((), frozenset({"c"}))
    assert shares["a"].numbers == (0, 1)


def test_when_nobody_reads_all_everybody_is_told() -> None:
    shares = assign(
        {"a": Member(ALL - {"b"}, frozenset()), "b": Member(ALL - {"a"}, frozenset())}, 2
    )
    assert shares == {"a": Share((), frozenset({"b"})), "b": Share((), frozenset({"a"}))}


def test_who_knows_fewer_schemas_gets_nothing_and_is_told() -> None:
    old, new = Member(ALL, frozenset({0, 1}), 1_000_000_007), Member(ALL, frozenset())
    assert assign({"old": old, "new": new}, 2) == {
        "old": Share((), frozenset({f"schema {LATEST_ID}"})),
        "new": Share((0, 1), frozenset()),
    }


@given(st.frozensets(st.integers(0, 255)))
def test_a_member_is_what_it_says_of_itself(owned: frozenset[int]) -> None:
    member = Member(ALL, owned)
    assert Member.decode(sorted(ALL), member.data()) == member


def test_versions_that_do_not_say_their_schemas_know_those_of_the_first_that_does() -> None:
    latest = 1_000_000_088
    assert Member.decode(["a"], b"3,0") == Member(frozenset({"a"}), frozenset({0, 3}), latest)
    assert Member.decode(["a"], b"") == Member(frozenset({"a"}), frozenset(), latest)
