"""Tests of operators' commands on the pages: signals about tasks, and the ends of a rewind."""

from __future__ import annotations

import uuid
from typing import Any
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from streams.access import Role
from tests.console.browser import Watch
from tests.console.office import Office, tab_to
from tests.console.test_pages import AXE
from tests.processes import wait_for
from tests.unit.protocols.saop.queries.stage import move
from tests.unit.protocols.sap.queries.stage import signal, task

pytestmark = pytest.mark.slow

OPERATOR, READER, COMMIT = "ada", "kim", "5c0ffee1"
SEND = """async ([path, body]) => {
  const answer = await fetch(path, {
    method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify(body),
  });
  return [answer.status, (await answer.json()).rule];
}"""
Json = dict[str, Any]


def send_task(office: Office, number: int) -> Json:
    """Send a task, which stays open: nobody answers."""
    sent = task(number)
    office.bench.send("sap.tasks", sent)
    return sent


def prepare_rewind(office: Office, session: str, commit: str = COMMIT) -> Json:
    """Send a transition with a commit, and prepare a rewind of its session to that commit."""
    task_id = f"{session}-task"
    transition = move(session, task_id, "PENDING", "IN_PROGRESS", git_hash=commit)
    command = {
        "rewind_id": str(uuid.uuid4()),
        "session_id": session,
        "phase": "prepare",
        "requested_by": "kim",
        "task_id": task_id,
    }
    office.bench.send("rtes.raw", transition)
    office.bench.send("saop.rewinds", command)
    return command


def open_thing(office: Office, page: Page, role: Role, node: str) -> Watch:
    return office.sign_in(page, role, f"things/{quote(node, safe='')}")


def wait_answer(office: Office, element: Locator) -> None:
    """Let the processors work until an element shows the answer."""

    def is_there() -> bool:
        office.bench.host.run()
        return element.is_visible()

    wait_for(is_there, "the answer is on the page")


def read_command(office: Office, outcome: Locator) -> Json:
    """Return the record of the command that an outcome on the page links to."""
    position = outcome.get_by_role("link").inner_text()
    record: Json = office.ask(f"/v1/records/{position}")
    assert record["headers"]["headrace-principal"] == OPERATOR
    value: Json = record["value"]
    return value


def test_an_operator_cancels_a_task_and_judges_it_afterwards(office: Office, page: Page) -> None:
    sent = send_task(office, 1)
    watch = open_thing(office, page, Role.OPERATOR, f"sap:task:{sent['taskId']}")
    page.get_by_role("button", name="Cancel task…").click()
    dialog = page.get_by_role("dialog", name="Cancel task")
    expect(dialog).to_contain_text("ends with the outcome CANCELLED")
    cancel = dialog.get_by_role("button", name="Cancel task")
    expect(cancel).to_be_disabled()
    dialog.get_by_label("Reason").fill("asked twice")
    report = Axe().run(page, options=AXE)
    assert report.violations_count == 0, report.generate_report()
    cancel.click()
    outcome = page.locator(".operator [role=status]")
    wait_answer(office, outcome)
    expect(dialog).to_have_count(0)
    expect(outcome.locator("[data-verdict=accepted]")).to_be_visible()
    expect(outcome).to_be_focused()
    expect(page.locator("main .state").first).to_have_text("CANCELLED")
    command = read_command(office, outcome)
    assert (command["kind"], command["note"]) == ("cancel", "asked twice")
    assert command["operator"] == {"agentId": OPERATOR, "agentKind": "user"}
    page.get_by_role("button", name="Rate result…").click()
    dialog = page.get_by_role("dialog", name="Rate result")
    dialog.get_by_label("Rating").select_option("4")
    dialog.get_by_role("button", name="Rate result").click()
    wait_answer(office, outcome.get_by_text("Rate result"))
    rating = read_command(office, outcome)
    assert (rating["kind"], rating["rating"]) == ("rating", 4)
    assert "note" not in rating
    watch.require_clean()


def test_a_refused_signal_says_its_code_in_the_dialog(office: Office, page: Page) -> None:
    sent = send_task(office, 2)
    by_operator = {"agentId": OPERATOR, "agentKind": "user"}
    office.bench.send("sap.signals", signal(sent, 1, "cancel"))
    office.bench.send("sap.signals", signal(sent, 2, rating=1, operator=by_operator))
    open_thing(office, page, Role.OPERATOR, f"sap:task:{sent['taskId']}")
    page.get_by_role("button", name="Rate result…").click()
    dialog = page.get_by_role("dialog", name="Rate result")
    dialog.get_by_label("Rating").select_option("5")
    dialog.get_by_role("button", name="Rate result").click()
    refused = dialog.locator("[role=alert][data-code=signal_repeated]")
    wait_answer(office, refused)
    expect(refused).to_contain_text(OPERATOR)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("button", name="Rate result…")).to_be_focused()
    assert page.locator(".operator [role=status]").count() == 0


def test_a_rewind_is_confirmed_by_keyboard_alone(office: Office, page: Page) -> None:
    rewind = prepare_rewind(office, "s-confirmed")
    watch = office.sign_in(page, Role.OPERATOR)
    page.keyboard.press("Control+k")
    page.keyboard.type(rewind["rewind_id"])
    expect(page.locator("#choice-0")).to_contain_text("s-confirmed")
    page.keyboard.press("Enter")
    page.wait_for_selector("main[data-page=thing]")
    tab_to(page, page.get_by_role("button", name="Confirm rewind…"))
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Confirm rewind")
    expect(dialog).to_contain_text(COMMIT)
    tab_to(page, dialog.get_by_role("button", name="Confirm rewind"))
    page.keyboard.press("Enter")
    outcome = page.locator(".operator [role=status]")
    wait_answer(office, outcome)
    expect(outcome.locator("[data-rule=rewind_applied]")).to_be_visible()
    expect(page.locator("main .state").first).to_have_text("applied")
    expect(page.get_by_role("button", name="Abort rewind…")).to_have_count(0)
    command = read_command(office, outcome)
    assert (command["phase"], command["requested_by"]) == ("confirm", OPERATOR)
    watch.require_clean()


def test_a_rewind_is_aborted_and_nothing_moves(office: Office, page: Page) -> None:
    rewind = prepare_rewind(office, "s-aborted", f"{COMMIT}\u202e<b>")
    watch = open_thing(office, page, Role.OPERATOR, f"saop:rewind:{rewind['rewind_id']}")
    page.get_by_role("button", name="Confirm rewind…").click()
    expect(page.get_by_role("dialog")).to_contain_text(f"{COMMIT}U+202E<b>")
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Abort rewind…").click()
    page.get_by_role("dialog").get_by_role("button", name="Abort rewind").click()
    outcome = page.locator(".operator [role=status]")
    wait_answer(office, outcome)
    expect(outcome.locator("[data-rule=rewind_aborted]")).to_be_visible()
    assert read_command(office, outcome)["phase"] == "abort"
    (row,) = office.ask("/v1/saop/tasks?session_id=s-aborted&fresh=true")["items"]
    assert (row["state"], row["transitions"]) == ("IN_PROGRESS", 1)
    watch.require_clean()


def test_a_reader_is_offered_no_command_and_can_send_none(office: Office, page: Page) -> None:
    sent = send_task(office, 3)
    rewind = prepare_rewind(office, "s-read")
    office.sign_in(page, Role.READER)
    for node in (f"sap:task:{sent['taskId']}", f"saop:rewind:{rewind['rewind_id']}"):
        office.open(page, f"things/{quote(node, safe='')}")
        page.locator("[data-step]").first.wait_for()
        assert page.locator(".operator").count() == 0
    before = [len(office.bench.records(name)) for name in ("sap.signals", "saop.rewinds")]
    by_reader = {"agentId": READER, "agentKind": "user"}
    cancel = signal(sent, 3, "cancel", operator=by_reader)
    assert page.evaluate(SEND, ["/v1/sap/signals", cancel]) == [403, "forbidden"]
    for end in ("confirm", "abort"):
        path = f"/v1/saop/sessions/s-read/rewinds/{rewind['rewind_id']}/{end}"
        assert page.evaluate(SEND, [path, {}]) == [403, "principal_mismatch"]
    after = [len(office.bench.records(name)) for name in ("sap.signals", "saop.rewinds")]
    assert after == before


def test_a_look_back_offers_no_command(office: Office, page: Page) -> None:
    sent = send_task(office, 4)
    node = f"sap:task:{sent['taskId']}"
    watch = open_thing(office, page, Role.OPERATOR, node)
    page.get_by_role("button", name="Cancel task…").wait_for()
    (first, *_) = office.ask(f"/v1/things/{quote(node, safe='')}")["steps"]
    office.open(page, f"things/{quote(node, safe='')}?as_of={first['fact']}")
    page.locator("main[data-as-of] [data-step]").first.wait_for()
    assert page.get_by_role("button", name="Cancel task…").count() == 0
    watch.require_clean()
