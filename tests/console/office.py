"""A gateway with tokens, where people with different roles work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Locator, Page

from streams.access import Role
from streams.protocols.apc.processor import processor
from tests.console.browser import Watch
from tests.unit.doors.console.site import SignedGateway, token_gateway
from tests.unit.envelopes import ack, idea
from tests.unit.gateway.test_connections import serving

READY = "html[data-ready=true]"
SESSION = "sess-journey"
MOST_TABS = 120
KEY = "5f" * 32
SECOND_MS, HOUR_MS = 1000, 3_600_000


class Office:
    """A gateway with tokens: a packet that was acknowledged, and one refused an hour later.

    tokens: by role.
    """

    def __init__(self, gateway: SignedGateway, url: str) -> None:
        self.bench = gateway.bench.bench
        self.url = url
        self.tokens = {
            Role.READER: gateway.new_token(Role.READER, principal="kim"),
            Role.OPERATOR: gateway.new_token(*Role, principal="ada"),
        }
        self.accepted = idea(1, trace__session_id=SESSION)
        refused = idea(2, run_phase="EXECUTION", trace__session_id=SESSION)
        self.bench.send("apc.packets", self.accepted)
        self.bench.now += SECOND_MS
        self.bench.send("apc.packets", ack(self.accepted, 3))
        self.bench.now += HOUR_MS
        self.bench.send("apc.packets", refused)

    def fail(self, packet: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
        """Send a packet that this version cannot judge, so that it becomes a dead letter."""
        with monkeypatch.context() as patch:
            patch.setattr(processor, "_judge", _fail)
            self.bench.send("apc.packets", packet)

    def ask(self, path: str) -> Any:
        headers = {"authorization": f"Bearer {self.tokens[Role.OPERATOR]}"}
        answer = httpx.get(f"{self.url}{path}", headers=headers, timeout=60)
        return answer.raise_for_status().json()

    def open(self, page: Page, path: str) -> Watch:
        watch = Watch(page, self.url)
        page.goto(f"{self.url}/console/{path}")
        page.wait_for_selector(READY, state="attached")
        return watch

    def sign_in(self, page: Page, role: Role, path: str = "") -> Watch:
        """Sign in with a token of this role, and open a page."""
        self.open(page, "sign-in")
        page.get_by_label("Token").fill(self.tokens[role])
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_selector("main[data-page=overview]")
        return self.open(page, path)


def _fail(*_: object) -> None:
    raise RuntimeError("a fault of this version")


@contextmanager
def opened_office(folder: Path) -> Iterator[Office]:
    """Serve a gateway with tokens while the context is open."""
    with (
        token_gateway(folder, principal_key=KEY) as gateway,
        serving(100, gateway.bench.app) as port,
    ):
        yield Office(gateway, f"http://127.0.0.1:{port}")


def tab_to(page: Page, element: Locator) -> None:
    """Press Tab until the element has the focus."""
    element.wait_for()
    for _ in range(MOST_TABS):
        if element.evaluate("each => each === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{element} is not reached by Tab")
