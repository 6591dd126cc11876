"""Built files of a small console, and a gateway that serves them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from streams.access import Role
from streams.access.tokens import new_token
from streams.doors.console.build import NAME, hash_files
from tests.unit.gateway.bench import GatewayBench

PAGE = b"<!doctype html><title>headrace</title>"
SCRIPT = b"export const a = 1;\n" * 20
SCRIPT_PATH = "assets/main-B0a9_xyz.js"
LOCAL = {"sec-fetch-site": "same-origin"}


def write_site(folder: Path) -> Path:
    """Write built files and their `BUILD.json`."""
    files = {
        "index.html": PAGE,
        "icon.svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        SCRIPT_PATH: SCRIPT,
        f"{SCRIPT_PATH}.gz": gzip.compress(SCRIPT),
        f"{SCRIPT_PATH}.br": b"as if it were brotli",
    }
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    build = {"sources": {}, "document": "0" * 64, "built": hash_files(files)}
    (folder / NAME).write_text(json.dumps(build))
    return folder


class SignedGateway:
    """A gateway that takes tokens, and browsers that sign in."""

    def __init__(self, bench: GatewayBench, tokens: Path) -> None:
        self.bench = bench
        self.tokens = tokens

    def new_token(self, *roles: Role, principal: str = "kim") -> str:
        """Add a token to the file."""
        token, record = new_token(principal, frozenset(roles))
        with self.tokens.open("a") as file:
            file.write(f"{record.line()}\n")
        return token

    def sign_in(self, token: str, **headers: str) -> Any:
        return self.bench.ask(
            "POST", "/v1/session", json={"token": token}, headers={**LOCAL, **headers}
        )

    def cookie(self, token: str) -> str:
        """Return the cookie of a new session, as a browser sends it."""
        response = self.sign_in(token)
        assert response.status_code == 204, response.text
        return str(response.headers["set-cookie"]).partition(";")[0]

    def ask(self, method: str, path: str, cookie: str, **headers: str) -> Any:
        local = LOCAL if "sec_fetch_site" not in headers and "origin" not in headers else {}
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.bench.ask(method, path, headers={"cookie": cookie, **local, **names})


@contextmanager
def token_gateway(folder: Path, **settings: Any) -> Iterator[SignedGateway]:
    """Start a gateway with a token file."""
    tokens = folder / "tokens.jsonl"
    tokens.write_text("")
    with GatewayBench(folder, tokens=tokens, **settings) as bench:
        yield SignedGateway(bench, tokens)
