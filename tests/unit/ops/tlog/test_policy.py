"""Policies: quorums of groups, and each line that is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey

from streams.errors import PolicyInvalid
from streams.ops.tlog.keys import KeyType, VerifierKey, cosign_checkpoint, cosigner_key
from streams.ops.tlog.policy import Cosignature, SignatureInvalid, load_policy, parse_policy
from tests.unit.ops.tlog.example_log import CHECKPOINT, KEY, NOTE, ORIGIN, POLICY

PRIVATE_KEYS = [Ed25519PrivateKey.from_private_bytes(bytes([n]) * 32) for n in range(1, 6)]
KEYS = [cosigner_key(f"w{n}.example", key) for n, key in enumerate(PRIVATE_KEYS, 1)]
LOG = f"log {KEY}"
W1, W2, W3 = (f"witness W{n} {key}" for n, key in enumerate(KEYS[:3], 1))
GROUPS = f"""# two organisations
{LOG} https://hr.example.com/tlog/
\t{W1} https://w1.example/prefix
{W2}

{W3}
witness Y {KEYS[3]}
witness Z {KEYS[4]}
group X 2 W1 W2 W3
group both all X Y
quorum both
"""


def error(text: str | bytes) -> str:
    with pytest.raises(PolicyInvalid) as caught:
        parse_policy(text.encode() if isinstance(text, str) else text)
    return caught.value.message


def test_a_policy_is_read() -> None:
    policy = parse_policy(GROUPS.encode())
    assert policy.keys_of(ORIGIN) == (KEY,)
    assert policy.logs[0].url == "https://hr.example.com/tlog"
    assert [each.name for each in policy.witnesses] == ["W1", "W2", "W3", "Y", "Z"]
    assert policy.witnesses[0].url == "https://w1.example/prefix"
    assert policy.witnesses[1].url is None
    assert policy.witnesses_of_quorum() == ("W1", "W2", "W3", "Y")


@pytest.mark.parametrize(
    ("names", "met"),
    [
        ("", False),
        ("W1 W2 W3", False),
        ("W1 Y", False),
        ("W1 Z Y", False),
        ("W1 W3 Y", True),
        ("W1 W2 W3 Y Z", True),
    ],
)
def test_a_quorum_of_groups(names: str, met: bool) -> None:
    assert parse_policy(GROUPS.encode()).is_met_by(names.split()) is met


@pytest.mark.parametrize(
    ("quorum", "names", "met"),
    [("none", "", True), ("W1", "", False), ("W1", "W1", True), ("W1", "W2", False)],
)
def test_a_quorum_of_one_witness_and_of_none(quorum: str, names: str, met: bool) -> None:
    policy = parse_policy(f"{LOG}\n{W1}\n{W2}\nquorum {quorum}\n".encode())
    assert policy.is_met_by(names.split()) is met


LINES = "".join(
    f"witness V{n} {cosigner_key('v', Ed25519PrivateKey.generate())}\n" for n in range(33)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: there is no line `quorum`"),
        (f"{LOG}\n{W1}\n", "line 3: there is no line `quorum`"),
        ("quorum\n", "line 1: a quorum is"),
        ("quorum none\nquorum none\n", "line 2: there is a second line `quorum`"),
        (f"quorum W1\n{W1}\n", "line 1: 'W1' is not defined above"),
        ("Quorum none\n", "line 1: 'Quorum' is none of"),
        ("log\n", "line 1: a log is"),
        ("log x\n", "line 1: 'x' is no verifier key"),
        (f"{LOG} u v\n", "line 1: a log is"),
        (f"{LOG} ftp://a/\n", "line 1: 'ftp://a/' is no URL of http or https"),
        (f"{LOG} https://\n", "no URL of http or https"),
        (f"{LOG} https://a/?b\n", "no URL of http or https"),
        (f"{LOG} https://[a/\n", "is no URL"),
        (f"{LOG} https://a:99999/\n", "is no URL"),
        (f"{LOG}\n{LOG}\n", f"line 2: the key of {ORIGIN} is there already"),
        (f"log {KEYS[0]}\n", "has the type 4, not 1 or 6"),
        (f"witness W {KEY}\n", "has the type 1, not 4 or 6"),
        ("witness W\n", "line 1: a witness is"),
        (f"{W1}\nwitness W1 {KEYS[1]}\n", "line 2: the name 'W1' is taken"),
        (f"witness none {KEYS[0]}\n", "line 1: the name 'none' is taken"),
        (f"{W1}\nwitness W2 {KEYS[0]}\n", "is there already"),
        (f"{W1}\ngroup G all\n", "line 2: a group is"),
        (f"{W1}\ngroup G 0 W1\n", "'0' is not all, any or a number from 1 to 1"),
        (f"{W1}\ngroup G 2 W1\n", "'2' is not all, any"),
        (f"{W1}\ngroup G 01 W1\n", "'01' is not all, any"),
        (f"{W1}\ngroup G all W1 W1\n", "'W1' is a member already"),
        (f"{W1}\ngroup G all W1\ngroup H all W1\n", "line 3: 'W1' is a member already"),
        (f"{W1}\ngroup W1 all W1\n", "line 2: the name 'W1' is taken"),
        ("group G all G\n", "'G' is not defined above"),
        ("group G all none\n", "'none' is not defined above"),
        ("# a\rb\n", "line 1: control characters"),
        (b"# a\x00\nquorum none\n", "line 1: control characters"),
        (LINES + "quorum none\n", "line 33: a policy has at most 32 witnesses"),
        ("#" * 70_000, "at most 65536 bytes"),
    ],
)
def test_a_policy_of_another_form_is_refused_with_its_line(text: str, message: str) -> None:
    assert message in error(text)


def test_names_are_octets() -> None:
    text = f"witness \u212a {KEYS[0]}\nwitness K {KEYS[1]}\nquorum K\n"
    assert parse_policy(text.encode()).is_met_by(["K"])
    name = "\udcff"
    assert parse_policy(b"witness \xff %s\nquorum \xff" % str(KEYS[0]).encode()).quorum == name


def test_a_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "p"
    with pytest.raises(PolicyInvalid, match="cannot be read"):
        load_policy(path)
    path.write_text("log\n")
    with pytest.raises(PolicyInvalid, match="p, line 1: a log is"):
        load_policy(path)


def test_signatures_of_both_kinds_count_and_false_ones_do_not() -> None:
    post_quantum = MLDSA44PrivateKey.generate()
    key = cosigner_key("pq.example", post_quantum)
    policy = parse_policy(f"{POLICY}{W1}\nwitness PQ {key}\n".encode())
    assert policy.signed_by_log(NOTE, CHECKPOINT)
    lines = [
        cosign_checkpoint("pq.example", post_quantum, CHECKPOINT, 7),
        cosign_checkpoint("w1.example", PRIVATE_KEYS[0], CHECKPOINT, 8),
        cosign_checkpoint("w2.example", PRIVATE_KEYS[1], CHECKPOINT, 9),
    ]
    note = NOTE.add(lines)
    expected = (Cosignature("W1", 8), Cosignature("PQ", 7))
    assert policy.cosignatures(note, CHECKPOINT) == expected
    stale = cosign_checkpoint("w1.example", PRIVATE_KEYS[0], CHECKPOINT._replace(size=2), 8)
    with pytest.raises(SignatureInvalid, match=r"w1\.example"):
        policy.cosignatures(note.add([stale]), CHECKPOINT)
    other = CHECKPOINT._replace(size=2)
    with pytest.raises(SignatureInvalid, match=ORIGIN):
        policy.signed_by_log(NOTE, other)


def test_one_key_of_a_log_suffices() -> None:
    second = VerifierKey(ORIGIN, KeyType.ED25519, KEYS[0].public)
    policy = parse_policy(f"log {second}\nlog {KEY}\nquorum none\n".encode())
    assert policy.signed_by_log(NOTE, CHECKPOINT)
    alone = parse_policy(f"log {second}\nquorum none\n".encode())
    assert not alone.signed_by_log(NOTE, CHECKPOINT)
