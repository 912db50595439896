"""Anyone browses a board: with a mouse, with nothing but the keyboard, and with JavaScript off."""

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

pytestmark = [pytest.mark.full, pytest.mark.browser, pytest.mark.timeout(400)]
BUNDLED = ["gold", "random-valid", "no-op"]
ATOM = "{http://www.w3.org/2005/Atom}"
MOST_TABS = 400


class Mouse:
    """Clicks what it is told."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def press(self, what: Locator) -> None:
        """Follow a link, press a button, open a disclosure."""
        what.click()

    def tick(self, box: Locator) -> None:
        box.check()

    def write(self, field: Locator, text: str) -> None:
        field.fill(text)

    def choose(self, field: Locator, option: str) -> None:
        field.select_option(label=option)

    def date(self, field: Locator, day: date) -> None:
        field.fill(day.isoformat())
        field.blur()


class Keyboard:
    """Goes from stop to stop with the key Tab: what it does not come to by that cannot be reached."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def press(self, what: Locator) -> None:
        self._reach(what)
        self.page.keyboard.press("Enter")

    def tick(self, box: Locator) -> None:
        self._reach(box)
        self.page.keyboard.press("Space")

    def write(self, field: Locator, text: str) -> None:
        self._reach(field)
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.type(text)

    def choose(self, field: Locator, option: str) -> None:
        self._reach(field)
        self.page.keyboard.type(option)

    def date(self, field: Locator, day: date) -> None:
        """Digit by digit, as the field takes them in English, with pauses: no digit may go astray meanwhile."""
        self._reach(field)
        self.page.keyboard.type(f"{day:%m%d%Y}", delay=200)
        for _ in range(2):
            self.page.keyboard.press("Tab")

    def _reach(self, what: Locator) -> None:
        what.wait_for()
        for _ in range(MOST_TABS):
            if what.evaluate("one => one === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"{what} is not reached by {MOST_TABS} presses of Tab")


@pytest.fixture
def page_without_scripts(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(java_script_enabled=False, viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    opened.set_default_timeout(20_000)
    yield opened
    context.close()


@pytest.mark.parametrize("hands", [Mouse, Keyboard])
def test_sort_filter_search_compare_open_a_task_and_take_away(arena, page, hands):
    hand = hands(page)
    page.goto(f"{arena.url}/boards/openagi/")
    sort(page, hand)
    narrow_down(page, hand)
    hide_what_papers_report(page, hand)
    compare_and_open_a_task(page, hand)
    page.goto(f"{arena.url}/boards/openagi/")
    take_away(page, hand)
    assert page.problems == []


def test_all_of_it_can_be_read_without_javascript(arena, page_without_scripts):
    page = page_without_scripts
    hand = Mouse(page)
    page.goto(arena.url)
    hand.press(page.get_by_role("link", name="OpenAGI (released list)", exact=True))
    sort(page, hand)
    narrow_down(page, hand, apply=True)
    hide_what_papers_report(page, hand)
    compare_and_open_a_task(page, hand)
    page.goto(f"{arena.url}/boards/openagi/")
    take_away(page, hand)
    page.goto(f"{arena.url}/boards/openagi/plots/")
    hand.press(page.get_by_text("Data table").first)
    expect(page.get_by_role("table").get_by_role("link", name="gold").first).to_be_visible()


def ranked(page: Page) -> list[str]:
    """The bundled planners in the order of the rows."""
    names = page.locator("table.data tbody:not(.reported) .planner-name").all_inner_texts()
    return [name for name in names if name in BUNDLED]


def sort(page: Page, hand: Mouse | Keyboard) -> None:
    assert ranked(page)[0] == "gold"
    table = page.get_by_role("region", name="OpenAGI (released list): ranking table")
    heading = table.get_by_role("columnheader", name=re.compile("^Overall"))
    hand.press(heading.get_by_role("link"))
    expect(heading).to_have_attribute("aria-sort", "descending")
    hand.press(heading.get_by_role("link"))
    expect(heading).to_have_attribute("aria-sort", "ascending")
    expect(page).to_have_url(re.compile(r"sort=overall"))
    assert ranked(page)[-1] == "gold"


def narrow_down(page: Page, hand: Mouse | Keyboard, *, apply: bool = False) -> None:
    """With scripts each change is followed at once; without, there is a button."""
    hand.press(page.get_by_text("Filters and columns"))
    hand.date(page.get_by_label("Finished on or after"), date(2020, 1, 31))
    if apply:
        hand.press(page.get_by_role("button", name="Apply"))
    expect(page).to_have_url(re.compile(r"since=2020-01-31"))
    hand.choose(page.get_by_role("combobox", name="Rows", exact=True), "All evaluations")
    if apply:
        hand.press(page.get_by_role("button", name="Apply"))
    expect(page).to_have_url(re.compile(r"rows=all"))
    hand.write(page.get_by_role("searchbox", name="Search"), "random")
    if apply:
        hand.press(page.get_by_role("button", name="Apply"))
    expect(page).to_have_url(re.compile(r"q=random"))
    expect(page.get_by_text("Ranks refer to the whole board.")).to_be_visible()
    assert ranked(page) == ["random-valid"]
    hand.choose(page.get_by_role("combobox", name="Rows", exact=True), "One per planner")
    if apply:
        hand.press(page.get_by_role("button", name="Apply"))
    expect(page).not_to_have_url(re.compile(r"rows=all"))
    hand.press(page.get_by_role("link", name="Clear filters"))
    expect(page.get_by_role("link", name="no-op", exact=True)).to_be_visible()


def hide_what_papers_report(page: Page, hand: Mouse | Keyboard) -> None:
    reported = page.get_by_text("GPT-3.5-turbo, zero-shot")
    expect(reported.first).to_be_visible()
    hand.press(page.get_by_role("link", name="Hide reported figures"))
    expect(reported).to_have_count(0)
    expect(page).to_have_url(re.compile(r"reference=hide"))


def compare_and_open_a_task(page: Page, hand: Mouse | Keyboard) -> None:
    hand.tick(page.get_by_label("Compare gold by planarena"))
    hand.tick(page.get_by_label("Compare no-op by planarena"))
    hand.press(page.get_by_role("button", name="Compare selected rows"))
    expect(page.get_by_role("heading", level=1)).to_have_text("2 evaluations compared")
    differences = page.get_by_role("region", name="Table of differences")
    expect(differences.get_by_role("row").nth(1)).to_contain_text("Overall")
    hand.press(page.get_by_role("region", name="Table of tasks").get_by_role("link").first)
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile(r"^Task \d+ across planners"))
    expect(page.get_by_role("heading", name="Plans", exact=True)).to_be_visible()
    hand.press(page.get_by_role("link", name=re.compile("^Whole result of A")))
    expect(page.get_by_role("heading", name="Plan", exact=True)).to_be_visible()


def take_away(page: Page, hand: Mouse | Keyboard) -> None:
    """The permanent address, the files and the feed, which say the same as the page."""
    hand.press(page.get_by_role("link", name="permanent address", exact=True))
    expect(page).to_have_url(re.compile(r"/boards/openagi/snapshots/\d+/$"))
    number = page.url.rstrip("/").rsplit("/", 1)[1]
    shown = page.locator("tbody:not(.reported) .planner-name").all_inner_texts()
    rows = list(csv.DictReader(io.StringIO(saved(page, hand, "CSV"))))
    assert [row["planner"] for row in rows] == shown
    assert json.loads(opened(page, hand, "JSON"))["address"] == page.url
    assert f"snapshots/{number}/" in opened(page, hand, "BibTeX")
    hand.press(page.get_by_role("link", name="OpenAGI (released list)", exact=True).first)
    address = page.get_by_role("link", name="Atom feed").get_attribute("href")
    feed = ET.fromstring(page.request.get(f"{page.url.split('/boards/')[0]}{address}").text())
    told = " ".join(entry.findtext(f"{ATOM}title", "") for entry in feed.findall(f"{ATOM}entry"))
    assert all(name in told for name in BUNDLED)


def saved(page: Page, hand: Mouse | Keyboard, name: str) -> str:
    """The text of a file that the browser saves."""
    with page.expect_download() as awaited:
        hand.press(page.get_by_role("link", name=name, exact=True))
    return Path(awaited.value.path()).read_text()


def opened(page: Page, hand: Mouse | Keyboard, name: str) -> str:
    """The text of a file that the browser shows."""
    before = page.url
    hand.press(page.get_by_role("link", name=name, exact=True))
    expect(page).not_to_have_url(before)
    text = page.locator("pre").inner_text()
    page.go_back()
    return text
