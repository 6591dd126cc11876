"""Tests of journeys: people sign in, follow a refusal by keyboard, send a letter again."""

from __future__ import annotations

import itertools
import re
from datetime import datetime
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from streams.access import Role
from tests.console.conftest import PATIENCE_MS
from tests.console.office import HOUR_MS, READY, SESSION, Office, tab_to
from tests.console.test_pages import AXE, PAGES
from tests.console.test_pictures import THEMES
from tests.processes import wait_for
from tests.unit.envelopes import idea

RULE = "phase_type"
REDRIVE = """async position => {
  const answer = await fetch('/v1/dead-letters/redrive', {
    method: 'POST', headers: {'content-type': 'application/json'},
    body: JSON.stringify({positions: [position], dry_run: false, again: false, reason: 'tried'}),
  });
  return [answer.status, (await answer.json()).rule];
}"""


@pytest.mark.slow
def test_signing_in_leads_back_to_where_one_was(office: Office, page: Page) -> None:
    office.open(page, "verdicts?rule=phase_type")
    page.locator("[role=alert][data-code=token_missing]").first.wait_for()
    page.get_by_role("link", name="Sign in").first.click()
    page.get_by_label("Token").fill("hr_wrong")
    page.get_by_role("button", name="Sign in").click()
    page.locator("[role=alert][data-code=token_unknown]").wait_for()
    assert page.get_by_label("Token").input_value() == ""
    page.get_by_label("Token").fill(office.tokens[Role.READER])
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_selector("main[data-page=verdicts]")
    assert page.url.endswith("/console/verdicts?rule=phase_type")
    expect(page.locator(".principal")).to_contain_text("kim")
    expect(page.locator("[data-row]")).to_have_count(1)
    page.locator(".principal").click()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Token").wait_for()
    assert page.context.cookies() == []


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("role", [Role.READER, Role.OPERATOR])
def test_each_page_is_accessible_to_who_is_signed_in(
    role: Role, office: Office, browser: Browser
) -> None:
    """Check all pages but the live one: this gateway has no stream."""
    for theme, width in itertools.product(THEMES, (1280, 320)):
        context = browser.new_context(color_scheme=theme, viewport={"width": width, "height": 900})
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        watch = office.sign_in(page, role)
        for name in (each for each in PAGES if each != "live"):
            page.goto(f"{office.url}/console/{name}")
            page.wait_for_selector(READY, state="attached")
            expect(page.locator(".principal")).to_be_visible()
            report = Axe().run(page, options=AXE)
            assert report.violations_count == 0, f"{name} {theme} {width}: {report.response}"
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, width)
            watch.require_clean()
        context.close()


def test_a_refusal_is_followed_by_keyboard_alone(office: Office, page: Page) -> None:
    """Go from the tile to the packet, why and its proof; then see another as it was."""
    watch = office.sign_in(page, Role.READER)
    tab_to(page, page.get_by_role("link", name="refused").first)
    page.keyboard.press("Enter")
    page.wait_for_selector("main[data-page=verdicts]")
    tab_to(page, page.locator("[data-row]").first.get_by_role("link").first)
    page.keyboard.press("Enter")
    page.wait_for_selector("main[data-page=thing]")
    tab_to(page, page.get_by_role("tab", name="Timeline"))
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Why")).to_be_focused()
    page.locator(f"[data-verdict=rejected][data-rule={RULE}]").first.wait_for()
    expect(page.locator("[data-proof=rederived]")).to_have_attribute("data-holds", "true")
    page.keyboard.press("Control+k")
    page.keyboard.type(office.accepted["packet_id"])
    expect(page.locator("#choice-0")).to_contain_text("IDEA")
    page.keyboard.press("Enter")
    page.wait_for_selector("main[data-page=thing]")
    slider = page.get_by_role("slider", name="As of")
    tab_to(page, slider)
    page.keyboard.press("Home")
    expect(page.locator("main")).to_have_attribute("data-as-of", re.compile(r"apc\.events/\d+/\d+"))
    watch.require_clean()


@pytest.mark.slow
def test_a_refusal_is_followed_with_the_mouse_alone(office: Office, page: Page) -> None:
    """Go from the tile to a refusal, its rule, cause, proof and lineage, and an hour back."""
    watch = office.sign_in(page, Role.READER)
    main = page.locator("main")
    page.get_by_role("link", name="refused").first.click()
    page.wait_for_selector("main[data-page=verdicts]")
    page.locator("[data-row]").first.get_by_role("link").first.click()
    page.wait_for_selector("main[data-page=thing]")
    page.get_by_role("tab", name="Why").click()
    why = page.locator(".why").first
    why.locator(f"[data-verdict=rejected][data-rule={RULE}]").wait_for()
    expect(why.get_by_text("Figures")).to_be_visible()
    why.locator("[data-json]").first.wait_for()
    why.get_by_role("link", name="apc.packets/").click()
    page.wait_for_selector("main[data-page=record]")
    main.get_by_role("link", name=re.compile("apc:packet:|IDEA")).first.click()
    page.wait_for_selector("main[data-page=thing]")
    proof = page.locator("[data-proof=rederived]")
    expect(proof).to_have_attribute("data-holds", "true")
    proof.click()
    main.get_by_role("link", name="Lineage of its trace").click()
    _go_an_hour_back(page, office)
    watch.require_clean()


def _go_an_hour_back(page: Page, office: Office) -> None:
    """Step back in the lineage, open the packet of then, and step back to its first state."""
    page.locator("[data-graph]").wait_for()
    page.get_by_role("button", name="Step back").click()
    page.wait_for_selector("main[data-page=lineage][data-as-of]")
    accepted = f"apc:packet:{office.accepted['packet_id']}"
    page.locator(f'[data-node="{accepted}"]').click()
    expect(page.locator("h1")).to_contain_text("IDEA")
    expect(page.locator(".state").first).to_have_text("ARCHIVED")
    back = page.get_by_role("button", name="Step back")
    back.click()
    back.click()
    position = re.compile(r"apc\.events/\d+/0")
    expect(page.locator("main")).to_have_attribute("data-as-of", position)
    expect(page.locator(".state").first).to_have_text("ROUTED")
    (first, *_) = office.ask(f"/v1/things/{quote(accepted, safe='')}")["steps"]
    at = datetime.fromisoformat(first["at"])
    assert office.bench.now - at.timestamp() * 1000 >= HOUR_MS


@pytest.mark.slow
def test_single_keys_can_be_switched_off(office: Office, page: Page) -> None:
    watch = office.sign_in(page, Role.READER)
    page.keyboard.press("g")
    page.keyboard.press("a")
    page.wait_for_selector("main[data-page=agents]")
    page.keyboard.press("?")
    help_dialog = page.get_by_role("dialog", name="Help")
    help_dialog.get_by_role("checkbox").uncheck()
    page.keyboard.press("Escape")
    help_dialog.wait_for(state="detached")
    page.keyboard.press("/")
    page.keyboard.press("g")
    page.keyboard.press("o")
    assert page.get_by_role("dialog").count() == 0
    assert page.locator("main").get_attribute("data-page") == "agents"
    page.keyboard.press("Control+k")
    page.get_by_role("dialog", name="Find").wait_for()
    watch.require_clean()


_FIND_AS_SOON_AS_NO_DIALOG_IS_OPEN = """() => new MutationObserver((_, observer) => {
  if (document.querySelector("dialog")) return;
  observer.disconnect();
  document.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true }));
}).observe(document.body, { childList: true, subtree: true })"""


@pytest.mark.slow
def test_a_key_counts_as_soon_as_a_dialog_is_closed(office: Office, page: Page) -> None:
    """Press it before the next frame, which a busy machine paints late."""
    watch = office.sign_in(page, Role.READER)
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Help").wait_for()
    page.evaluate(_FIND_AS_SOON_AS_NO_DIALOG_IS_OPEN)
    page.keyboard.press("Escape")
    page.get_by_role("dialog", name="Find").wait_for()
    watch.require_clean()


@pytest.mark.slow
def test_a_reader_sends_nothing_again(
    office: Office, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.fail(idea(7, trace__session_id=SESSION), monkeypatch)
    office.sign_in(page, Role.READER, "dead-letters")
    row = page.locator("[data-row]").first
    row.wait_for()
    position = row.get_attribute("data-key")
    for name in ("Redrive", "Dry run"):
        assert page.get_by_role("button", name=name).count() == 0
    assert page.get_by_role("checkbox").count() == 0
    assert page.evaluate(REDRIVE, position) == [403, "role_missing"]
    assert office.ask("/v1/audit")["redrives"] == []


def test_an_operator_sends_a_letter_again(
    office: Office, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    packet = idea(8, trace__session_id=SESSION)
    office.fail(packet, monkeypatch)
    watch = office.sign_in(page, Role.OPERATOR, "dead-letters")
    row = page.locator("[data-row]").first
    row.get_by_role("checkbox").check()
    position = row.get_attribute("data-key")
    redrive = page.get_by_role("button", name="Redrive")
    expect(redrive).to_be_disabled()
    page.get_by_role("button", name="Dry run").click()
    page.locator(".redrive [data-verdict=accepted]").wait_for()
    page.get_by_label("Reason").fill("the fault is mended")
    redrive.click()
    sent = page.locator(f'.redrive [data-key="{position}"]').get_by_role("link").nth(1)
    expect(sent).to_contain_text("apc.packets/")
    expect(page.locator(f'[data-row][data-key="{position}"]')).to_contain_text("sent again")
    office.bench.host.run()
    query = f"packet_id={packet['packet_id']}&session_id={SESSION}&fresh=true"
    (listed,) = office.ask(f"/v1/apc/packets?{query}")["packets"]
    assert listed["verdict"] == "accepted"
    wait_for(lambda: office.ask("/v1/audit")["redrives"], "the gateway sees the redrive")
    (redriven,) = office.ask("/v1/audit")["redrives"]
    assert redriven["reason"] == "the fault is mended"
    watch.require_clean()


@pytest.mark.slow
def test_a_letter_is_sent_again_by_keyboard_alone(
    office: Office, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.fail(idea(9, trace__session_id=SESSION), monkeypatch)
    watch = office.sign_in(page, Role.OPERATOR)
    page.keyboard.press("g")
    page.keyboard.press("d")
    page.wait_for_selector("main[data-page=dead-letters]")
    choice = page.locator("[data-row]").first.get_by_role("checkbox")
    tab_to(page, choice)
    page.keyboard.press("Space")
    expect(choice).to_be_checked()
    position = page.locator("[data-row]").first.get_attribute("data-key")
    tab_to(page, page.get_by_label("Reason"))
    page.keyboard.type("by keyboard")
    tab_to(page, page.get_by_role("button", name="Dry run"))
    page.keyboard.press("Enter")
    page.locator(".redrive [data-verdict=accepted]").wait_for()
    tab_to(page, page.get_by_role("button", name="Redrive"))
    page.keyboard.press("Enter")
    sent = page.locator(f'.redrive [data-key="{position}"]').get_by_role("link").nth(1)
    expect(sent).to_contain_text("apc.packets/")
    wait_for(
        lambda: "by keyboard" in [each["reason"] for each in office.ask("/v1/audit")["redrives"]],
        "the audit has the redrive and its reason",
    )
    watch.require_clean()
