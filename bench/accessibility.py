"""Count what axe-core reports of each page of the console, in both themes, wide and narrow.

python -m bench.accessibility [--axe FILE]
Violations are of the rules of WCAG 2.0 to 2.2, levels A and AA, and of axe's best practices.  Rules
that a person has to judge count as to be reviewed.  What one theme or width reports counts once.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from bench.cluster import bench, wait_ready, worker
from bench.console import LISTEN, fill
from bench.console_pages import LIMIT_MS, READY
from bench.gateway import gateway_url
from bench.packets import packets
from bench.results import parse, record_runs
from tests.console.browser import chromium, find_chromium
from tests.console.test_pages import AXE, PAGES

PACKETS = 100
TABS = ("timeline", "machine", "why", "envelope", "related")
VIEWS = (*PAGES, *(f"things/{{node}}?tab={tab}" for tab in TABS))
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
WIDTHS = (1280, 320)
OUTCOMES = {"rules_broken": "violations", "rules_to_review": "incomplete", "rules_passed": "passes"}
"""The figures, each with axe's name of the outcome."""


def rules(axe: Axe, browser: Browser, url: str) -> tuple[dict[str, set[str]], str]:
    """Return the rules of each outcome on a page in all forms, and the version of axe."""
    ids: dict[str, set[str]] = {name: set() for name in OUTCOMES}
    version = ""
    for theme, width in itertools.product(THEMES, WIDTHS):
        context = browser.new_context(color_scheme=theme, viewport={"width": width, "height": 900})
        context.set_default_timeout(LIMIT_MS)
        page = context.new_page()
        page.goto(url)
        page.wait_for_selector(READY, state="attached")
        response: dict[str, Any] = axe.run(page, options=AXE).response
        version = response["testEngine"]["version"]
        for name, outcome in OUTCOMES.items():
            ids[name] |= {rule["id"] for rule in response[outcome]}
        context.close()
    ids["rules_passed"] -= ids["rules_broken"] | ids["rules_to_review"]
    return ids, version


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--axe", type=Path, help="axe.min.js of another version than installed")
    options = parse(parser, arguments, {})
    path = find_chromium()
    if path is None:
        parser.error("Chromium is missing: `make browser` installs it, or CHROMIUM names one")
    axe = Axe() if options.axe is None else Axe(options.axe.read_text(encoding="utf-8"))
    (packet, *_) = packets(1)
    node = quote(f"apc:packet:{packet['packet_id']}", safe="")
    with (
        record_runs("accessibility", __doc__, options) as runs,
        bench() as env,
        worker(env, "streams.cli worker", "worker"),
        worker(env, LISTEN, "gateway"),
    ):
        wait_ready(env, "worker")
        url = gateway_url(env)
        fill(env, url, PACKETS)
        with chromium(path) as browser:
            for view in VIEWS[:2] if options.quick else VIEWS:
                ids, version = rules(axe, browser, f"{url}/console/{view.format(node=node)}")
                runs.versions["axe-core"] = version
                counts = {name: len(each) for name, each in ids.items()}
                runs.add(
                    view.replace("{node}", "…") or "overview",
                    **counts,
                    reported=", ".join(sorted(ids["rules_broken"] | ids["rules_to_review"])) or "–",
                )


if __name__ == "__main__":
    main()
