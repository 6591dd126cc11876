"""Tests of the console's files over HTTP: headers, codings, caching, files that are missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.doors.console.build import NAME
from streams.doors.console.serve import HEADERS
from streams.gateway.request_parts import accepts_coding
from tests.unit.doors.console.site import PAGE, SCRIPT, SCRIPT_PATH, write_site
from tests.unit.gateway.bench import GatewayBench

SCRIPT_URL = f"/console/{SCRIPT_PATH}"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayBench]:
    folder = tmp_path_factory.mktemp("console")
    with GatewayBench(folder, console_dir=write_site(folder / "site")) as bench:
        yield bench


@pytest.mark.parametrize("path", ["/", "/console"])
def test_the_root_leads_to_the_console(gateway: GatewayBench, path: str) -> None:
    response = gateway.ask("GET", path)
    assert (response.status_code, response.headers["location"]) == (302, "/console/")
    assert HEADERS.items() <= dict(response.headers).items()


@pytest.mark.parametrize(
    "path",
    ["/console/", "/console/verdicts", "/console/things/apc%3Apacket%3A7", "/console/a/b/../c"],
)
def test_every_path_that_is_no_file_is_the_page(gateway: GatewayBench, path: str) -> None:
    response = gateway.ask("GET", path)
    assert (response.status_code, response.content) == (200, PAGE)
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.headers["cache-control"] == "no-cache"
    assert HEADERS.items() <= dict(response.headers).items()
    assert "\n" not in response.headers["content-security-policy"]


def test_the_page_is_not_sent_twice(gateway: GatewayBench) -> None:
    tag = gateway.ask("GET", "/console/").headers["etag"]
    again = gateway.ask("GET", "/console/", headers={"if-none-match": tag})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [("identity", None), ("gzip", "gzip"), ("gzip, br", "br"), ("br;q=0, gzip;q=0.5", "gzip")],
)
def test_files_with_a_hash_are_immutable_and_stored_compressed(
    gateway: GatewayBench, accepted: str, coding: str | None
) -> None:
    response = gateway.ask("HEAD", SCRIPT_URL, headers={"accept-encoding": accepted})
    assert response.status_code == 200
    assert response.headers.get("content-encoding") == coding
    assert response.headers["vary"] == "accept-encoding"
    assert response.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert response.headers["content-type"] == "text/javascript; charset=utf-8"
    if coding != "br":
        whole = gateway.ask("GET", SCRIPT_URL, headers={"accept-encoding": accepted})
        assert whole.content == SCRIPT


@pytest.mark.parametrize(
    "path", ["assets/none-12345678.js", "assets/", f"{SCRIPT_PATH}.br", "assets/../index.html"]
)
def test_an_unknown_file_is_not_found(gateway: GatewayBench, path: str) -> None:
    response = gateway.ask("GET", f"/console/{path.replace('..', '%2e%2e')}")
    assert (response.status_code, response.json()["rule"]) == (404, "path_unknown")
    assert HEADERS.items() <= dict(response.headers).items()


def test_other_files_are_asked_for_again(gateway: GatewayBench) -> None:
    response = gateway.ask("GET", "/console/icon.svg")
    assert response.headers["content-type"] == "image/svg+xml"
    assert response.headers["cache-control"] == "no-cache"


def test_the_page_takes_no_other_method(gateway: GatewayBench) -> None:
    response = gateway.ask("POST", "/console/")
    assert response.status_code == 405
    assert response.headers["allow"] == "GET, HEAD, OPTIONS"


def test_metrics_have_one_label_for_all_pages(gateway: GatewayBench) -> None:
    gateway.ask("GET", "/console/a-page-of-its-own")
    text = gateway.ask("GET", "/metrics").text
    assert 'route="/console/{path}"' in text
    assert "a-page-of-its-own" not in text


def test_a_console_that_is_off_is_not_there(tmp_path: Path) -> None:
    with GatewayBench(tmp_path, console="off", console_dir=write_site(tmp_path / "s")) as gateway:
        for method, path in (
            ("GET", "/"),
            ("GET", "/console/"),
            ("GET", SCRIPT_URL),
            ("POST", "/v1/session"),
            ("DELETE", "/v1/session"),
        ):
            response = gateway.ask(method, path)
            assert (response.status_code, response.json()["rule"]) == (404, "path_unknown"), path
        assert "console" not in gateway.get("/v1/service")["features"]


def test_files_other_than_those_built_are_not_served(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = write_site(tmp_path / "site")
    (folder / "index.html").write_bytes(b"another page")
    with GatewayBench(tmp_path, console_dir=folder) as gateway:
        for path in ("/console/", SCRIPT_URL):
            response = gateway.ask("GET", path)
            assert (response.status_code, response.json()["rule"]) == (503, "console_missing")
        assert "not as in BUILD.json: index.html" in caplog.text
        assert gateway.ask("GET", "/v1/service").status_code == 200
        build = (folder / NAME).read_text()
        (folder / NAME).write_text("{}")
        assert gateway.ask("GET", "/console/").status_code == 503
        (folder / "index.html").write_bytes(PAGE)
        (folder / NAME).write_text(build)
        assert gateway.ask("GET", "/console/").content == PAGE


def test_weights_of_codings() -> None:
    assert accepts_coding("gzip, br;q=0.1", "br")
    assert not accepts_coding("gzip, br;q=0.000", "br")
    assert not accepts_coding("", "br")
