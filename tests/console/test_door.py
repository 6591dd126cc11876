"""Tests of sessions and of the security policy in a real browser, on a page of these tests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from streams.access import Role
from streams.doors.console.build import NAME, hash_files
from streams.doors.console.session import COOKIE
from tests.console.browser import Watch
from tests.unit.doors.console.site import SignedGateway, token_gateway
from tests.unit.gateway.test_connections import serving

SCRIPT = "assets/main-0a1b2c3d.js"
PAGE = f"""<!doctype html><html lang="en"><title>console</title>
<link rel="icon" href="data:,"><script type="module" src="/console/{SCRIPT}"></script>"""
CODE = "document.documentElement.dataset.ready = 'true';"
INLINE = PAGE + "<script>window.ran = true</script>"
SIGN_IN = """async token => (await fetch('/v1/session', {
  method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify({token}),
})).status"""
QUERY = "async () => (await fetch('/v1/apc/packets')).status"
SIGN_OUT = "async () => (await fetch('/v1/session', {method: 'DELETE'})).status"
READY = "html[data-ready=true]"


class ServedConsole:
    """A gateway with tokens on a real port.  folder: of the page's files."""

    def __init__(self, gateway: SignedGateway, folder: Path, url: str) -> None:
        self.gateway = gateway
        self.folder = folder
        self.url = url


def write_page(folder: Path, page: str) -> Path:
    """Write the files of a page, as a build does."""
    files = {"index.html": page.encode(), SCRIPT: CODE.encode()}
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    build = {"sources": {}, "document": "", "built": hash_files(files)}
    (folder / NAME).write_text(json.dumps(build))
    return folder


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedConsole]:
    folder = tmp_path_factory.mktemp("browser")
    site = write_page(folder / "site", PAGE)
    with (
        token_gateway(folder, console_dir=site) as gateway,
        serving(100, gateway.bench.app) as port,
    ):
        yield ServedConsole(gateway, site, f"http://127.0.0.1:{port}")


def test_a_browser_keeps_a_session_that_scripts_cannot_read(
    console: ServedConsole, page: Page
) -> None:
    watch = Watch(page, console.url)
    page.goto(f"{console.url}/")
    page.wait_for_selector(READY, state="attached")
    assert page.url == f"{console.url}/console/"
    watch.require_clean()
    assert page.evaluate(QUERY) == 401
    assert page.evaluate(SIGN_IN, console.gateway.new_token(Role.READER)) == 204
    assert page.evaluate(QUERY) == 200
    assert page.evaluate("document.cookie") == ""
    (cookie,) = page.context.cookies()
    assert (cookie["name"], cookie["httpOnly"], cookie["sameSite"]) == (COOKIE, True, "Strict")
    page.reload()
    assert page.evaluate(QUERY) == 200
    assert page.evaluate(SIGN_OUT) == 204
    assert page.evaluate(QUERY) == 401
    assert page.context.cookies() == []


def test_revoking_a_token_signs_a_browser_out(console: ServedConsole, page: Page) -> None:
    lines = console.gateway.tokens.read_text()
    page.goto(f"{console.url}/console/")
    assert page.evaluate(SIGN_IN, console.gateway.new_token(Role.READER)) == 204
    assert page.evaluate(QUERY) == 200
    console.gateway.tokens.write_text(lines)
    assert page.evaluate(QUERY) == 401


def test_the_policy_stops_scripts_in_markup(console: ServedConsole, page: Page) -> None:
    write_page(console.folder, INLINE)
    try:
        watch = Watch(page, console.url)
        page.goto(f"{console.url}/console/things/x")
        page.wait_for_selector(READY, state="attached")
        assert page.evaluate("window.ran") is None
        violations = watch.read_violations()
        assert [each for each in violations if each.startswith("script-src")]
        assembled = "() => { try { document.body.innerHTML = '<b>x</b>' } catch { return 'no' } }"
        assert page.evaluate(assembled) == "no"
    finally:
        write_page(console.folder, PAGE)


def test_another_page_cannot_use_the_session(console: ServedConsole, page: Page) -> None:
    page.goto(f"{console.url}/console/")
    assert page.evaluate(SIGN_IN, console.gateway.new_token(Role.OPERATOR)) == 204
    with serving(10, None) as port:
        page.goto(f"http://localhost:{port}/")
        send = f"async () => {{ try {{ return (await fetch('{console.url}/v1/service', "
        send += "{credentials: 'include'})).status } catch { return 'refused' } }"
        assert page.evaluate(send) == "refused"
