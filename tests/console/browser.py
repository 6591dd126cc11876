"""Chromium, driven by Playwright, and what a page in it may not do."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

from streams.gateway.openapi.__main__ import render

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


@cache
def _documented() -> re.Pattern[str]:
    """Return what a request of the OpenAPI document looks like, as `GET /v1/overview`."""
    forms = [
        f"{method.upper()} {re.sub(r'{[^}]+}', '[^/]+', path)}"
        for path, operations in json.loads(render())["paths"].items()
        for method in operations
    ]
    return re.compile("|".join(forms))


def is_documented(method: str, path: str) -> bool:
    """Return whether a request is for a file of the console, or one of the OpenAPI document."""
    if method == "GET" and path.startswith("/console/"):
        return True
    return _documented().fullmatch(f"{method} {path}") is not None


class Watch:
    """The messages of a page's console, its uncaught errors, and its requests.

    foreign: the addresses of requests to other origins.
    undocumented: requests that the OpenAPI document does not have.
    """

    def __init__(self, page: Page, url: str) -> None:
        self._page = page
        self._origin = urlsplit(url).netloc
        self.messages: list[str] = []
        self.foreign: list[str] = []
        self.undocumented: list[str] = []
        page.add_init_script(_LISTEN)
        page.on("console", self._add_message)
        page.on("pageerror", lambda error: self.messages.append(str(error)))
        page.on("request", self._add_request)

    def _add_message(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.messages.append(message.text)

    def _add_request(self, request: Request) -> None:
        if request.url.startswith("data:"):
            return
        url = urlsplit(request.url)
        if url.netloc != self._origin:
            self.foreign.append(request.url)
        elif not is_documented(request.method, url.path):
            self.undocumented.append(f"{request.method} {url.path}")

    def read_violations(self) -> list[str]:
        """Return the violations of the page's security policy, as the browser reports them."""
        violations: list[str] = self._page.evaluate("window.violations")
        return violations

    def require_clean(self) -> None:
        """Check that the page broke no rule."""
        assert self.read_violations() == []
        assert self.messages == []
        assert self.foreign == []
        assert self.undocumented == []
