"""The cacheKey and the fingerprint: the guide's digests, and what must not change them."""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
import sys
from typing import Any
from unicodedata import normalize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import sap, sha256_hex
from schemas.sap.cache_key import keys_without, nfc
from tests.examples import example_count
from tests.unit.schemas.strategies import JSON, TEXT

VOLATILE = ("requestId", "nonce")
TASK: dict[str, Any] = {
    "protocolVersion": "2.0",
    "target": {"capability": "report.summarise"},
    "constitutionalContext": {
        "pressureLevel": "consulted",
        "territory": "NORDIC",
        "principles": ["strategic_pause", "blueprint_thinking", "strategic_pause"],
    },
    "payload": {"requestId": "r-881", "sections": [3, 1], "document": "ledger-2026-10"},
    "outputContract": {"format": "markdown"},
}
HASHED = (
    '{"capability":"report.summarise","essence":{"document":"ledger-2026-10","sections":[3,1]},'
    '"outputContract":{"format":"markdown"},"principles":["blueprint_thinking","strategic_pause"],'
    '"sapVersion":"2.0","territory":"NORDIC"}'
)
KEY = "591a42479351258326c4e1b6dd4c01bb5314daebe28167c1c5ee45dbb49b303f"
FINGERPRINT = "e0.729630bcbee374b31d008962c38608ca198ef52123b4d261cc48d499b2fff991"
WITHOUT_TERRITORY = "1bad52cf8dcbf8540c2260f1e42cc64337ec27f23bfa93bbe7cea4aa4c914291"


def with_context(**members: Any) -> dict[str, Any]:
    context = {**TASK["constitutionalContext"], **members}
    return {**TASK, "constitutionalContext": {n: m for n, m in context.items() if m is not ...}}


def key(task: dict[str, Any]) -> str:
    return sap.cache_key(task, VOLATILE).key


def test_the_spec_example() -> None:
    cache_key = sap.cache_key(TASK, VOLATILE)
    assert cache_key == sap.CacheKey(KEY, FINGERPRINT, ["requestId"], HASHED)
    assert sha256_hex(HASHED.encode()) == KEY
    assert key(with_context(territory=...)) == WITHOUT_TERRITORY


def test_a_fingerprint_names_the_version_of_its_extractor() -> None:
    assert sap.cache_key(TASK, VOLATILE, 7).fingerprint == "e7" + FINGERPRINT[2:]


def test_the_essence_leaves_out_members_at_the_top_only() -> None:
    payload = {"nonce": 1, "a": {"nonce": 2}, "b": [{"nonce": 3}]}
    assert sap.essence(payload, VOLATILE) == {"a": {"nonce": 2}, "b": [{"nonce": 3}]}
    assert payload["nonce"] == 1


OTHER = {
    "principles absent": with_context(principles=...),
    "principles empty": with_context(principles=[]),
    "contract absent": {n: m for n, m in TASK.items() if n != "outputContract"},
    "contract empty": {**TASK, "outputContract": {}},
    "contract with an unknown member": {**TASK, "outputContract": {"format": "markdown", "x": 1}},
    "another capability": {**TASK, "target": {"capability": "report.Summarise"}},
    "another order of a list": {**TASK, "payload": {**TASK["payload"], "sections": [1, 3]}},
    "a null more": {**TASK, "payload": {**TASK["payload"], "x": None}},
    "a volatile name of another case": {**TASK, "payload": {**TASK["payload"], "Nonce": 1}},
}


def test_what_is_part_of_the_question_changes_the_key() -> None:
    keys = {key(task) for task in OTHER.values()} | {KEY, WITHOUT_TERRITORY}
    assert len(keys) == len(OTHER) + 2


SAME = {
    "pressure": with_context(pressure={"strategic_pause": 99}, pressureLevel="instant"),
    "constraints": with_context(constraints=["No PII"], objectives=["x"], riskTolerance="high"),
    "principles in another order": with_context(
        principles=["blueprint_thinking", "strategic_pause"]
    ),
    "another agent": {**TASK, "target": {**TASK["target"], "agentId": "A-1"}},
    "a volatile member": {**TASK, "payload": {**TASK["payload"], "nonce": {"any": 1}}},
    "a named member that is null": {
        **TASK,
        "outputContract": {"format": "markdown", "schema": None},
    },
    "telemetry": {**TASK, "telemetry": {"priority": "high"}, "tags": ["t"]},
}


@pytest.mark.parametrize("name", SAME)
def test_what_is_no_part_of_the_question_leaves_the_key(name: str) -> None:
    assert key(SAME[name]) == KEY


def shuffled(value: Any, data: st.DataObject) -> Any:
    if isinstance(value, dict):
        names = data.draw(st.permutations(list(value)))
        return {name: shuffled(value[name], data) for name in names}
    return [shuffled(item, data) for item in value] if isinstance(value, list) else value


def as_doubles(value: Any) -> Any:
    """Every integer as the double that JSON also says with it."""
    if isinstance(value, dict):
        return {name: as_doubles(item) for name, item in value.items()}
    if isinstance(value, list):
        return [as_doubles(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


PAYLOADS = st.dictionaries(TEXT, JSON, max_size=4)


@given(PAYLOADS, st.data())
def test_neither_the_order_of_members_nor_the_spelling_of_numbers_counts(
    payload: dict[str, Any], data: st.DataObject
) -> None:
    first = sap.cache_key({**TASK, "payload": payload}, VOLATILE)
    other = as_doubles(shuffled(payload, data))
    assert sap.cache_key({**TASK, "payload": other}, reversed(VOLATILE)) == first


ACCENTED = st.text(st.sampled_from("aeéñ\u0301\u0303\u1100\u1161\uac01\u212b"), max_size=5)
ACCENTED_JSON = st.recursive(
    ACCENTED, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ACCENTED, inner)
)


def in_form(form: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return {normalize(form, name): in_form(form, item) for name, item in value.items()}
    if isinstance(value, list):
        return [in_form(form, item) for item in value]
    return normalize(form, value) if isinstance(value, str) else value


@given(ACCENTED_JSON)
def test_texts_count_in_nfc(value: Any) -> None:
    composed = {**TASK, "payload": {"v": in_form("NFC", value)}}
    decomposed = {**TASK, "payload": {"v": in_form("NFD", value)}}
    assert sap.cache_key(composed, VOLATILE) == sap.cache_key(decomposed, VOLATILE)


def test_territory_principles_and_contract_count_in_nfc() -> None:
    def task(form: Any) -> dict[str, Any]:
        text = normalize(form, "Ærø–Ålesund é")
        contract = {"format": text, "schema": {text: text}}
        return {**with_context(territory=text, principles=[text]), "outputContract": contract}

    assert key(task("NFC")) == key(task("NFD"))


def test_principles_equal_in_nfc_count_once() -> None:
    both = ["\u00e9", "e\u0301"]
    assert key(with_context(principles=both)) == key(with_context(principles=both[:1]))


def test_an_object_whose_names_would_collide_keeps_its_own() -> None:
    collided = {"\u00e9": 1, "e\u0301": 2, "x": {"e\u0301": "e\u0301"}}
    assert nfc(collided) == {"\u00e9": 1, "e\u0301": 2, "x": {"\u00e9": "\u00e9"}}


def test_principles_are_sorted_by_code_point() -> None:
    hashed = sap.cache_key(with_context(principles=["\U0001f600", "\ufb01"]), VOLATILE).hashed
    assert json.loads(hashed)["principles"] == ["\ufb01", "\U0001f600"]


COLLIDING = st.sampled_from(["\u00e9", "e\u0301", "\ue000", "\U0001f600"])
"""Names that NFC makes equal, and two whose order is another in UTF-16 than by code point."""


@given(
    payload=st.dictionaries(TEXT | COLLIDING, JSON, max_size=6),
    contract=st.none() | st.fixed_dictionaries({"format": TEXT, "schema": JSON}),
    territory=st.none() | TEXT,
    data=st.data(),
)
def test_the_keys_without_each_member_are_those_that_are_made_alone(
    payload: dict[str, Any], contract: Any, territory: Any, data: st.DataObject
) -> None:
    task = with_context(territory=territory) | {"payload": payload, "outputContract": contract}
    volatile = data.draw(st.sets(st.sampled_from([*payload, "nonce"])))
    alone = {name: sap.cache_key(task, {*volatile, name}).key for name in payload}
    assert keys_without(task, volatile, payload) == alone


def test_removed_names_are_those_that_were_there() -> None:
    payload = {"nonce": None, "a": 1, "requestId": 2}
    cache_key = sap.cache_key({**TASK, "payload": payload}, [*VOLATILE, "b", "nonce"])
    assert cache_key.removed == ["nonce", "requestId"]


CODE = (
    "import json, sys; from schemas import sap; task, volatile = json.load(sys.stdin);"
    "print(json.dumps(sap.cache_key(task, volatile)))"
)


@pytest.mark.parametrize("seed", ["0", "1", "4294967295"])
def test_another_process_finds_the_same_key(seed: str) -> None:
    answer = subprocess.run(
        [sys.executable, "-c", CODE],
        input=json.dumps([TASK, VOLATILE]),
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
    )
    assert json.loads(answer.stdout) == [KEY, FINGERPRINT, ["requestId"], HASHED]


def test_another_process_finds_the_same_keys_of_any_task() -> None:
    """Drawn here, in many orders of their members; a process each time would take minutes."""
    drawn: list[tuple[dict[str, Any], str]] = []
    count = example_count(200)

    @settings(max_examples=count, database=None)
    @given(payload=st.dictionaries(TEXT, JSON, max_size=5), territory=TEXT)
    def draw(payload: dict[str, Any], territory: str) -> None:
        task = {**with_context(territory=territory), "payload": payload}
        drawn.append((task, key(task)))

    draw()
    code = (
        "import json, sys; from schemas import sap;"
        "tasks, volatile = json.load(sys.stdin);"
        "print(json.dumps([sap.cache_key(task, volatile).key for task in tasks]))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps([[task for task, _ in drawn], VOLATILE]),
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "17", "PYTHONPATH": ":".join(sys.path)},
    )
    assert json.loads(answer.stdout) == [cache_key for _, cache_key in drawn]
    assert len(drawn) >= count


MANY = 2000
OF_MANY = "d6eb503860a5b184ddab7db6"
"""The digest of their keys: written under Python 3.11.7, the same under 3.12.1 and 3.13.0."""
_LETTERS = (
    range(0x20, 0xD800),
    range(0xE000, 0x11000),
    range(0x105C0, 0x105F4),  # of Unicode 16
    range(0x11F00, 0x11F60),  # of Unicode 15
    range(0x1F000, 0x1FAFF),
)


class Drawn:
    """JSON of all kinds, from a seed."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)

    def text(self) -> str:
        dice = self._dice
        return "".join(chr(dice.choice(dice.choice(_LETTERS))) for _ in range(dice.randrange(8)))

    def members(self, depth: int = 0) -> dict[str, Any]:
        return {self.text(): self.value(depth + 1) for _ in range(self._dice.randrange(5))}

    def value(self, depth: int) -> Any:
        dice = self._dice
        match dice.randrange(8 if depth < 4 else 6):
            case 0:
                return self.text()
            case 1:
                return dice.randrange(-(2**53), 2**53)
            case 2:
                return dice.uniform(-1e9, 1e9)
            case 3:
                return 10.0 ** dice.randrange(-20, 20)
            case 4:
                return float(dice.randrange(10**6))
            case 5:
                return dice.choice([True, False, None])
            case 6:
                return [self.value(depth + 1) for _ in range(dice.randrange(4))]
            case _:
                return self.members(depth)


def test_keys_are_those_of_every_version_of_python() -> None:
    """Versions differ in what they know of Unicode, and workers of one group may run on several."""
    drawn, digest = Drawn(5), hashlib.sha256()
    for _ in range(MANY):
        task = with_context(constraints=[drawn.text()]) | {"payload": drawn.members()}
        digest.update(key(task).encode())
    assert digest.hexdigest()[:24] == OF_MANY
