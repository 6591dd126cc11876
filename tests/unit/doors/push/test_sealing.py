"""Tests of sealed secrets."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from streams.doors.push.sealing import Sealer, SecretUnreadable

NEW, OLD = "n" * 32, "o" * 32


def test_a_sealed_secret_is_opened_for_its_subscription_alone() -> None:
    sealer = Sealer.of(NEW)
    sealed = sealer.seal(b"whsec", "sub_1")
    assert b"whsec" not in sealed
    assert sealer.seal(b"whsec", "sub_1") != sealed
    assert sealer.open(sealed, "sub_1") == b"whsec"
    for other in (sealed[:-1] + bytes([sealed[-1] ^ 1]), sealed[:5], b""):
        with pytest.raises(SecretUnreadable):
            sealer.open(other, "sub_1")
    with pytest.raises(SecretUnreadable):
        sealer.open(sealed, "sub_2")


def test_keys_are_replaced_without_losing_secrets() -> None:
    sealed = Sealer.of(OLD).seal(b"s", "sub_1")
    both = Sealer.of(f"{NEW}, {OLD}")
    assert both.open(sealed, "sub_1") == b"s"
    assert Sealer.of(NEW).open(both.seal(b"s", "sub_1"), "sub_1") == b"s"
    with pytest.raises(SecretUnreadable):
        Sealer.of(NEW).open(sealed, "sub_1")


def test_the_form_is_nonce_and_ciphertext_under_a_derived_key() -> None:
    sealed = Sealer.of(NEW).seal(b"s", "sub_1")
    key = HKDF(SHA256(), 32, None, b"headrace-push").derive(NEW.encode())
    assert AESGCM(key).decrypt(sealed[:12], sealed[12:], b"sub_1") == b"s"
