"""Manifests as text: strict YAML 1.2 with the core schema, or JSON (Summit guide, 2.1, 3)."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import ShapeError, canonical_json, summit
from schemas.summit import load_manifest, read_manifest
from schemas.summit.words import MAX_MANIFEST_BYTES
from tests.unit.schemas import examples
from tests.unit.schemas.strategies import JSON

FOLDER = files("schemas").joinpath("examples/summit/manifests")


def rule(text: str | bytes) -> str:
    with pytest.raises(ShapeError) as refused:
        read_manifest(text)
    return refused.value.rule


def outcome(text: str) -> tuple[Any, str | None]:
    """The value, or the rule that the text breaks."""
    try:
        return read_manifest(text), None
    except ShapeError as exc:
        return None, exc.rule


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: yes", "yes"),
        ("a: on", "on"),
        ("a: TRUE", True),
        ("a: False", False),
        ("a: ~", None),
        ("a:", None),
        ("a: NULL", None),
        ("a: nULL", "nULL"),
        ("a: 010", 10),
        ("a: 0o10", 8),
        ("a: 0x1F", 31),
        ("a: +12", 12),
        ("a: 1_000", "1_000"),
        ("a: 0b1", "0b1"),
        ("a: 1:30", "1:30"),
        ("a: 1.", 1.0),
        ("a: .5e1", 5.0),
        ("a: 1.2.0", "1.2.0"),
        ("a: 2026-03-02", "2026-03-02"),
        ("a: =", "="),
        ("a: '12'", "12"),
        ('a: "\\u00e9\\n"', "é\n"),
        ("a: !!str 12", "12"),
        ("a: !!int '12'", 12),
        ("a: !!float 1", 1.0),
        ("a: !!seq [1]", [1]),
        ("a: |\n  x\n  y\n", "x\ny\n"),
        ("a: {<<: {b: 1}}", {"<<": {"b": 1}}),
        ("%YAML 1.2\n---\na: 1\n...\n", 1),
    ],
)
def test_the_core_schema(text: str, value: Any) -> None:
    actual = read_manifest(text)["a"]
    assert (actual, type(actual)) == (value, type(value))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing",
        "a: [",
        "a: 1\na: 2",
        "a: {b: 1, 'b': 2}",
        "1: a",
        "true: a",
        "~: a",
        "[a]: b",
        "a: !x b",
        "a: !!timestamp 2026-03-02",
        "a: !!set {b}",
        "a: !!binary aGk=",
        "a: !!int x",
        "a: !!map [1]",
        "a: !!python/object:os.system b",
        "--- a\n--- b",
        "a: *b",
        "a: &b [*b]",
        "a: \t- b\n\t- c",
        "a: b: c",
        "a: 1\x07",
        b"\xff\xfe\x00",
        "{" * 5000,
        "a: " + "[" * 5000,
    ],
)
def test_what_is_not_one_document_of_it(text: str | bytes) -> None:
    assert rule(text) == "manifest.yaml"


@pytest.mark.parametrize(
    "text", ["a: .inf", "a: -.INF", "a: .nan", f"a: {2**53}", "a: 1" + "0" * 5000, "a: 1e400"]
)
def test_numbers_that_are_no_json(text: str) -> None:
    assert rule(text) == "json.invalid"


def test_json_is_read_as_json() -> None:
    value = examples.valid("summit/manifests")["word-stats"]
    text = json.dumps(value, indent="\t")
    assert read_manifest(text) == read_manifest(text.encode()) == value
    assert read_manifest("\ufeff".encode() + text.encode()) == value
    assert rule('{"a": 1, "a": 2}') == "json.invalid"
    assert rule('{"a": "\\ud800"}') == "json.invalid"
    assert read_manifest("{a: b}") == {"a": "b"}


def test_aliases_stand_for_what_they_name() -> None:
    assert read_manifest("a: &x {b: [1]}\nc: *x\nd: [*x, *x]")["d"] == [{"b": [1]}, {"b": [1]}]
    assert read_manifest("a: &x 1\nb: &x 2\nc: *x") == {"a": 1, "b": 2, "c": 2}


def test_aliases_do_not_blow_a_text_up() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30)]
    assert rule("\n".join(lines)) == "manifest.yaml"


def test_size_counts_what_aliases_stand_for() -> None:
    half = "x" * (MAX_MANIFEST_BYTES // 2 - len('{"a":"","b":""}') // 2 - 1)
    assert len(canonical_json(read_manifest(f"a: &x {half}\nb: *x"))) <= MAX_MANIFEST_BYTES
    assert rule(f"a: &x {half}xx\nb: *x") == "manifest.yaml"


@given(st.dictionaries(st.text("abc é", min_size=1), JSON, max_size=3))
def test_the_canonical_json_of_anything_is_read_back(value: dict[str, Any]) -> None:
    text = canonical_json(value).decode()
    document, refused = outcome(text)
    if refused is None:
        assert canonical_json(document).decode() == text
    else:  # doubles that it writes as large integers
        assert refused == "json.invalid"


@given(st.text(max_size=40) | st.text("ab:-[]{}&*!,'\"#|> \n", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    value, refused = outcome(text)
    assert refused in (None, "manifest.yaml", "json.invalid")
    if refused is None:
        canonical_json(value)
        assert isinstance(summit.check_manifest(value), list)


def test_manifests_are_loaded_from_paths_and_texts(tmp_path: Path) -> None:
    text = FOLDER.joinpath("seed.yaml").read_text("utf-8")
    path = tmp_path / "agent.yaml"
    path.write_text(text, "utf-8")
    loaded = [load_manifest(source) for source in (path, str(path), text, text.encode())]
    for manifest in loaded:
        assert manifest.check() == []
        assert manifest.to_json() == examples.valid("summit/manifests")["seed"]
    assert loaded[0].spec.interface.inputSchema["properties"]["depth"]["default"] == 2
    flow = json.dumps(examples.valid("summit/manifests")["minimal"])
    assert load_manifest(flow).metadata.name == "a"


def test_loading_says_what_is_no_manifest(tmp_path: Path) -> None:
    with pytest.raises(ShapeError) as refused:
        load_manifest("- a\n- b\n")
    assert refused.value.rule == "manifest.shape"
    with pytest.raises(FileNotFoundError):
        load_manifest(str(tmp_path / "missing.yaml"))
    manifest = load_manifest("kind: Agent\nspec: 1\n")
    assert manifest.check()[0].rule == "manifest.shape"
