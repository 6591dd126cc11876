"""No secret of the corpus is left, nor eight characters of one; ordinary output stays as it is."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from streams.masking import Masker
from tests.unit.masking.made_up import KINDS, Kind, basic, key_block, secrets

MASKER = Masker()
LEAST_SHARE_KEPT = 0.99
RUN = 8  # characters of a secret that must not be left together


def _json(key: str, secret: str) -> str:
    return json.dumps({"user": "me", key: secret, "n": 1})


FORMS: dict[str, Callable[[str, str], str]] = {
    "plain assignment": lambda key, s: f"{key} = {s}",
    "quoted assignment": lambda key, s: f"const {key} = '{s}';",
    "JSON": _json,
    "JSON, indented": lambda key, s: json.dumps({key: s}, indent=2).split("\n")[1],
    "JSON, escaped once": lambda key, s: json.dumps({"body": _json(key, s)}),
    "JSON, escaped twice": lambda key, s: json.dumps({"log": json.dumps({"body": _json(key, s)})}),
    "JSON, escaped three times": lambda key, s: json.dumps(
        [json.dumps([json.dumps([_json(key, s)])])]
    ),
    "YAML": lambda key, s: f"  - {key}: {s}",
    "environment": lambda key, s: f"export {key.replace('-', '_').upper()}={s} APP_ENV=test",
    "coloured": lambda key, s: f"\x1b[2m12:00\x1b[0m \x1b[36m{key}\x1b[0m=\x1b[33m{s}\x1b[0m",
    "query": lambda key, s: f"GET https://api.example.com/v1/x?a=1&{key}={quote(s, '')}&b=2 200",
    "user info": lambda _, s: f"fetch https://deploy:{quote(s, '')}@git.example.com/r.git failed",
    "flag": lambda key, s: f"$ tool run --{key.replace('_', '-')} {s} --verbose",
    "flag with =": lambda key, s: f"+ tool --{key}={s} run",
    "header": lambda key, s: f"> X-{key}: {s}",
    "Authorization header": lambda _, s: f"curl -H 'Authorization: Bearer {s}' https://x.example",
    "Python dict": lambda key, s: f"DEBUG {{'user': 'me', '{key}': '{s}', 'n': 1}}",
}


def left_of(secret: str, text: str) -> list[str]:
    """The runs of a secret that a text has."""
    runs = (secret[at : at + RUN] for at in range(max(1, len(secret) - RUN + 1)))
    return [run for run in runs if run in text]


def test_the_corpus_is_large_enough() -> None:
    assert len(KINDS) >= 25
    assert len({secret for kind in KINDS for secret in secrets(kind)}) >= 150
    assert len(FORMS) >= 6


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_no_part_of_a_secret_is_left(kind: Kind, form: str) -> None:
    for secret in secrets(kind):
        text = FORMS[form](kind.key or "value", secret)
        masked = MASKER.text(text)
        assert masked != text
        assert left_of(secret, masked) == left_of(quote(secret, ""), masked) == [], masked
        assert MASKER.text(masked) == masked


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.key is None], ids=lambda k: k.name)
@pytest.mark.parametrize(
    "form", ["see {} there", "({})", "a\\n{}\\tb", "\x1b[31m{}\x1b[0m", "x,{},y", "%20{}%20", "{}"]
)
def test_a_secret_known_by_its_form_needs_no_key(kind: Kind, form: str) -> None:
    for secret in secrets(kind):
        assert left_of(secret, MASKER.text(form.format(secret))) == []


@pytest.mark.parametrize(
    "form",
    ["Authorization: Basic {}", "using basic {} now", '{{"auths": {{"x": {{"auth": "{}"}}}}}}'],
)
def test_basic_credentials(form: str) -> None:
    secret = basic(random.Random(form))
    assert left_of(secret, MASKER.text(form.format(secret))) == []


@pytest.mark.parametrize("kind", ["RSA ", "EC ", "OPENSSH ", "", "ENCRYPTED "])
@pytest.mark.parametrize("form", ["{}", "2026-01-01T00:00:00Z app[7]: {}", "+{}", "      {}"])
def test_the_lines_of_a_private_key_over_pulses(kind: str, form: str) -> None:
    block, masked_lines = None, []
    lines = key_block(random.Random(kind), kind)
    for line in [*lines, "and on it goes"]:
        masked, block = MASKER.pulse(form.format(line), block, 0)
        masked_lines.append(masked)
    assert not any(left_of(line, masked) for line in lines for masked in masked_lines)
    assert masked_lines[-1] == form.format("and on it goes")
    assert block is None


@pytest.mark.parametrize("breaks", ["\n", "\\n", "\r\n", "\\\\n"])
def test_a_private_key_in_one_text(breaks: str) -> None:
    lines = key_block(random.Random(breaks))
    text = f'{{"file": "{breaks.join(lines)}", "x": 1}}'
    assert MASKER.text(text) == '{"file": "[REDACTED:pem_private_key]", "x": 1}'


def test_ordinary_output_is_hardly_changed() -> None:
    lines = (Path(__file__).parent / "harmless.txt").read_text(encoding="utf-8").splitlines()
    changed = [(line, MASKER.text(line)) for line in lines if MASKER.text(line) != line]
    assert len(lines) >= 300
    assert len(changed) <= len(lines) * (1 - LEAST_SHARE_KEPT), changed
