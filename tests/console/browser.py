"""Chromium, driven by Playwright, and what a page in it may not do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_LISTEN = """
window.violations = [];
addEventListener('securitypolicyviolation', event => {
  window.violations.push(`${event.violatedDirective} ${event.blockedURI}`);
});
"""


def find_chromium() -> str | None:
    return shutil.which(os.environ.get("CHROMIUM") or "chromium")


@contextmanager
def chromium(path: str) -> Iterator[Browser]:
    """Run a browser while the context is open."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*FLAGS])
        try:
            yield browser
        finally:
            browser.close()


class Watch:
    """The messages of a page's console, its uncaught errors, and its requests to other origins."""

    def __init__(self, page: Page, url: str) -> None:
        self._page = page
        self._origin = urlsplit(url).netloc
        self.messages: list[str] = []
        self.foreign: list[str] = []
        page.add_init_script(_LISTEN)
        page.on("console", self._add_message)
        page.on("pageerror", lambda error: self.messages.append(str(error)))
        page.on("request", self._add_request)

    def _add_message(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.messages.append(message.text)

    def _add_request(self, request: Request) -> None:
        if urlsplit(request.url).netloc != self._origin and not request.url.startswith("data:"):
            self.foreign.append(request.url)

    def read_violations(self) -> list[str]:
        """Return the violations of the page's security policy, as the browser reports them."""
        violations: list[str] = self._page.evaluate("window.violations")
        return violations

    def require_clean(self) -> None:
        """Check that the page broke no rule."""
        assert self.read_violations() == []
        assert self.messages == []
        assert self.foreign == []
