"""Tests of asking on a page what the verdict on a transfer would have been."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from streams.access import Role
from tests.console.office import Office
from tests.console.test_pages import AXE
from tests.unit.protocols.apc.queries.facts import transfer

pytestmark = pytest.mark.slow


def test_another_score_would_have_passed(office: Office, page: Page) -> None:
    refused = transfer(41, payload__sender_score=0.84)
    office.bench.send("apc.packets", refused)
    before = len(office.bench.records("apc.packets"))
    node = quote(f"apc:packet:{refused['packet_id']}", safe="")
    watch = office.sign_in(page, Role.READER, f"things/{node}?tab=why")
    panel = page.locator("details.what-if")
    panel.get_by_text("What if", exact=True).click()
    evaluate = panel.get_by_role("button", name="Evaluate")
    expect(evaluate).to_be_disabled()
    panel.get_by_label("sender score").fill("0.85")
    evaluate.click()
    answer = panel.get_by_role("status")
    expect(answer.locator("[data-verdict=accepted]")).to_be_visible()
    expect(answer).to_contain_text("score_below_window")
    report = Axe().run(page, options=AXE)
    assert report.violations_count == 0, report.generate_report()
    panel.get_by_label("phase", exact=True).select_option("RESEARCH")
    evaluate.click()
    expect(answer.locator("[data-verdict=rejected][data-rule=phase_type]")).to_be_visible()
    watch.require_clean()
    panel.get_by_label("sender score").fill("7")
    evaluate.click()
    expect(panel.locator("[role=alert]")).to_contain_text("sender_score")
    assert len(office.bench.records("apc.packets")) == before


def test_only_a_transfer_can_be_asked_about(office: Office, page: Page) -> None:
    node = quote(f"apc:packet:{office.accepted['packet_id']}", safe="")
    watch = office.sign_in(page, Role.READER, f"things/{node}?tab=why")
    page.locator(".why").first.wait_for()
    assert page.locator("details.what-if").count() == 0
    watch.require_clean()
