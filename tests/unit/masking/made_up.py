"""Secrets in the forms of real ones, drawn from a seed: none of them was ever valid.

No literal here is a whole token, so that scanners of repositories stay quiet.
"""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable, Iterator
from typing import NamedTuple

LETTERS, DIGITS = string.ascii_letters, string.digits
ALNUM = LETTERS + DIGITS
UPPER = string.ascii_uppercase + DIGITS
URLSAFE = ALNUM + "_-"
BASE64 = ALNUM + "+/"
HEX = "0123456789abcdef"
PASSWORD = ALNUM + "!#$%&()*+,-./:<=>?@[]^_{|}~"
PER_KIND = 6


class Kind(NamedTuple):
    """make: one secret.  key: the name it is assigned to; None when it is known by its own form."""

    name: str
    make: Callable[[random.Random], str]
    key: str | None = None


def _some(rnd: random.Random, alphabet: str, length: int) -> str:
    return "".join(rnd.choices(alphabet, k=length))


def _after(
    prefix: str, alphabet: str, length: int, end: str = ""
) -> Callable[[random.Random], str]:
    """A token with a digit, as all real ones of these lengths have."""
    return lambda rnd: f"{prefix}{_some(rnd, alphabet, length - 1)}{rnd.choice(DIGITS)}{end}"


def _azure(rnd: random.Random) -> str:
    return f"{_some(rnd, ALNUM, 3)}8Q~{_some(rnd, ALNUM + '_~.-', 33)}x"


def _jwt(rnd: random.Random) -> str:
    return "eyJ" + ".".join(_some(rnd, URLSAFE, length) for length in (33, 120, 43))


def _sendgrid(rnd: random.Random) -> str:
    return f"SG.{_some(rnd, URLSAFE, 22)}.{_some(rnd, URLSAFE, 43)}"


def _slack(rnd: random.Random) -> str:
    return "-".join(("xoxb", _some(rnd, DIGITS, 12), _some(rnd, DIGITS, 12), _some(rnd, ALNUM, 24)))


def _password(rnd: random.Random) -> str:
    """As people type them: nothing that needs quotes."""
    return _some(rnd, ALNUM, 2) + _some(rnd, PASSWORD.replace("&", "").replace("#", ""), 10) + "x7"


def _words(rnd: random.Random) -> str:
    words = ("correct", "horse", "battery", "staple", "orange", "window")
    return "-".join(rnd.choices(words, k=4))


def _random_value(rnd: random.Random) -> str:
    """As high_entropy asks for it: one character of each class, and no words."""
    while True:
        made = _some(rnd, ALNUM, 40)
        if len(set(made)) > 24 and any(map(str.isdigit, made)):
            return made


KINDS = (
    Kind("aws_access_key_id", _after("AKIA", UPPER, 16)),
    Kind("aws_temporary_key_id", _after("ASIA", UPPER, 16)),
    Kind("aws_secret_access_key", _after("", BASE64, 40), "aws_secret_access_key"),
    Kind("aws_session_token", _after("IQoJ", BASE64, 300, "=="), "aws_session_token"),
    Kind("google_api_key", _after("AIza", URLSAFE, 35)),
    Kind("google_access_token", _after("ya29.", URLSAFE, 120)),
    Kind("google_client_secret", _after("GOCSPX-", URLSAFE, 28)),
    Kind("azure_client_secret", _azure),
    Kind("azure_account_key", _after("", BASE64, 86, "=="), "AccountKey"),
    Kind("github_personal", _after("ghp_", ALNUM, 36)),
    Kind("github_oauth", _after("gho_", ALNUM, 36)),
    Kind("github_server", _after("ghs_", ALNUM, 36)),
    Kind("github_fine_grained", _after("github_pat_", ALNUM + "_", 82)),
    Kind("gitlab_personal", _after("glpat-", URLSAFE, 20)),
    Kind("gitlab_runner", _after("glrt-", URLSAFE, 20)),
    Kind("gitlab_deploy", _after("gldt-", URLSAFE, 20)),
    Kind("slack_bot", _slack),
    Kind("slack_app", _after("xapp-1-A0", UPPER, 60)),
    Kind("stripe_live", _after("sk_live_", ALNUM, 24)),
    Kind("stripe_restricted", _after("rk_test_", ALNUM, 99)),
    Kind("stripe_webhook", _after("whsec_", ALNUM, 32)),
    Kind("npm", _after("npm_", ALNUM, 36)),
    Kind("pypi", _after("pypi-AgE", URLSAFE, 150)),
    Kind("openai", _after("sk-proj-", URLSAFE, 48)),
    Kind("anthropic", _after("sk-ant-api03-", URLSAFE, 93, "AA")),
    Kind("sendgrid", _sendgrid),
    Kind("hugging_face", _after("hf_", LETTERS, 34)),
    Kind("jwt", _jwt),
    Kind("password", _password, "DB_PASSWORD"),
    Kind("passphrase", _words, "passphrase"),
    Kind("hex_api_key", _after("", HEX, 32), "x-api-key"),
    Kind("uuid_token", lambda rnd: f"{rnd.getrandbits(128):032x}", "authToken"),
    Kind("client_secret", _after("", URLSAFE, 32), "client_secret"),
    Kind("short_pass", _after("", ALNUM, 8), "mysql_pass"),
    Kind("signing_key", _after("", BASE64, 44), "signingKey"),
    Kind("random_value", _random_value, "CONFIG_VALUE"),
)


def secrets(kind: Kind) -> Iterator[str]:
    rnd = random.Random(f"masking {kind.name}")
    for _ in range(PER_KIND):
        yield kind.make(rnd)


def basic(rnd: random.Random) -> str:
    """User and password as the Basic scheme sends them."""
    return base64.b64encode(f"deploy:{_password(rnd)}".encode()).decode()


def key_block(rnd: random.Random, kind: str = "RSA ") -> list[str]:
    """The lines of a private key."""
    body = [_some(rnd, BASE64, 64) for _ in range(12)] + [_some(rnd, BASE64, 22) + "=="]
    edge = f"{kind}PRIVATE KEY-----"
    return [f"-----BEGIN {edge}", *body, f"-----END {edge}"]
