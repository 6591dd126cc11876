"""Checkers that others wrote, on what the gateway serves: the Nu Html Checker and csp_evaluator.

They come from npm, as `tests/interop/console` pins them; the Nu Html Checker needs Java too.  What
is missing is named where its test is skipped.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import Page

from tests.console.test_pages import PAGES, RULE, show
from tests.integration.system import Live, live
from tests.interop.node_tools import NodeTools
from tests.processes import wait_for
from tests.unit.envelopes import idea

pytestmark = pytest.mark.slow

CHECKERS = "console"
SEVERE = {"HIGH", "SYNTAX", "MEDIUM", "HIGH_MAYBE"}
CHECK_LIMIT_S = 240
VIEWS = (*PAGES, f"verdicts?rule={RULE}", "things/{node}", "things/{node}?tab=why")


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> NodeTools:
    return NodeTools(tmp_path_factory.mktemp("checkers"), CHECKERS)


@pytest.fixture(scope="module")
def system(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """Start a system with a packet that was accepted, and one that was refused."""
    with live(broker, tmp_path_factory.mktemp("checked")) as system, system.client as client:
        packets = [idea(1), idea(2, run_phase="EXECUTION")]
        assert client.post("/v1/apc/packets", json=packets).status_code == 202
        wait_for(lambda: _count_commands(client) == len(packets), "the packets are decided")
        yield system


def _count_commands(client: httpx.Client) -> int:
    answer = client.get("/v1/overview", params={"fresh": "true"}, timeout=60)
    return int(answer.json()["commands"])


def test_csp_evaluator_accepts_the_policy(tools: NodeTools, system: Live) -> None:
    with system.client as client:
        policy = client.get("/console/").headers["content-security-policy"]
    findings = tools.ask("csp.js", policy)
    assert [each for each in findings if each["severity"] in SEVERE] == []


def test_csp_evaluator_refuses_a_weak_policy(tools: NodeTools) -> None:
    findings = tools.ask("csp.js", "script-src 'unsafe-inline' *")
    assert {each["severity"] for each in findings} & SEVERE


def test_the_nu_html_checker_accepts_each_rendered_page(
    tools: NodeTools, system: Live, page: Page, tmp_path: Path
) -> None:
    java = shutil.which("java")
    if java is None:
        pytest.skip("Java is not installed: the HTML of the pages was not checked")
    with system.client as client:
        packets = client.get("/v1/apc/packets").json()["packets"]
    node = quote(f"apc:packet:{packets[0]['packet_id']}", safe="")
    files = [_save(page, system, view.format(node=node), tmp_path) for view in VIEWS]
    wrong = tmp_path / "wrong.html"
    wrong.write_text("<!doctype html><html lang=en><title>x</title><p><ul><li role=x></ul></p>")
    jar = tools.modules / "vnu-jar/build/dist/vnu.jar"
    messages = _check(java, jar, [*files, wrong])
    assert [each for each in messages if each["url"].endswith(wrong.name)], "it checks something"
    assert [each for each in messages if not each["url"].endswith(wrong.name)] == []


def _save(page: Page, system: Live, view: str, folder: Path) -> Path:
    """Write the HTML of a page, as it is rendered, to a file."""
    show(page, system, view)
    file = folder / f"{re.sub(r'[^a-z0-9-]+', '-', view) or 'overview'}.html"
    file.write_text(f"<!doctype html>\n{page.locator('html').evaluate('each => each.outerHTML')}")
    return file


def _check(java: str, jar: Path, files: list[Path]) -> list[dict[str, Any]]:
    """Return the errors of the Nu Html Checker in these files."""
    command = [
        java,
        "-Xss4m",
        "-jar",
        str(jar),
        "--errors-only",
        "--format",
        "json",
        "--exit-zero-always",
    ]
    ran = subprocess.run(
        [*command, *map(str, files)],
        capture_output=True,
        text=True,
        timeout=CHECK_LIMIT_S,
        check=False,
    )
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-3000:]
    messages: list[dict[str, Any]] = json.loads(ran.stderr[ran.stderr.index("{") :])["messages"]
    return messages
