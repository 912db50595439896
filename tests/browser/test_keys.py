"""The palette, the keys of every page, and what scripts add to the documentation."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.looking import EVERY_RULE, NARROW, WIDE, Looker
from tests.browser.site import Site

pytestmark = [pytest.mark.full, pytest.mark.browser]
BOARD = "/boards/openagi/"
ROW = "() => document.activeElement.closest('tbody tr')?.rowIndex ?? 0"


@pytest.fixture(params=[0, 1], ids=["light", "dark"])
def looker(request, lookers: tuple[Looker, Looker]) -> Looker:
    return lookers[request.param]


def open_palette(looker: Looker, *, width: int = WIDE, address: str = BOARD):
    looker.open(address, session=None, width=width)
    looker.page.keyboard.press("/")
    palette = looker.page.get_by_role("dialog", name="Search")
    expect(palette).to_be_visible()
    return palette


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_palette_finds_and_opens(looker: Looker, width: int):
    palette = open_palette(looker, width=width)
    expect(palette.get_by_role("link", name="Submit a planner")).to_be_visible()
    looker.page.keyboard.type("toolmini")
    expect(palette.get_by_role("region", name="Documentation")).to_be_visible()
    assert not looker.examine(width=width, rules=EVERY_RULE)
    looker.picture("palette")
    looker.page.keyboard.press("Enter")
    expect(looker.page).to_have_url(re.compile(r"/suites/toolmini/$"))


def test_arrows_go_round_and_escape_leaves(lookers: tuple[Looker, Looker]):
    looker = lookers[0]
    palette = open_palette(looker)
    for key, name in (("ArrowDown", "Boards"), ("ArrowDown", "Submit a planner"), ("ArrowUp", "Boards")):
        looker.page.keyboard.press(key)
        expect(palette.get_by_role("link", name=name)).to_be_focused()
    looker.page.keyboard.press("ArrowUp")
    expect(palette.get_by_role("searchbox")).to_be_focused()
    looker.page.keyboard.press("Escape")
    expect(palette).to_be_hidden()


def test_j_and_k_go_through_the_rows_of_a_table(lookers: tuple[Looker, Looker]):
    looker = lookers[0]
    looker.open(BOARD, session=None, width=WIDE)
    rows = []
    for key in "jjk":
        looker.page.keyboard.press(key)
        rows.append(looker.page.evaluate(ROW))
    assert rows == [1, 2, 1]


def test_keys_are_listed_and_can_be_turned_off(looker: Looker):
    looker.open(BOARD, session=None, width=WIDE)
    looker.page.keyboard.press("?")
    keys = looker.page.get_by_role("dialog", name="Keys")
    expect(keys).to_be_visible()
    assert not looker.examine(width=WIDE, rules=EVERY_RULE)
    looker.picture("keys")
    keys.get_by_role("checkbox").uncheck()
    keys.get_by_role("button", name="Close").click()
    looker.page.keyboard.press("/")
    expect(looker.page.get_by_role("dialog", name="Search")).to_be_hidden()
    looker.page.keyboard.press("Control+k")
    expect(looker.page.get_by_role("dialog", name="Search")).to_be_visible()
    looker.page.evaluate("() => localStorage.removeItem('planarena-single-keys')")


def test_typing_is_no_command(lookers: tuple[Looker, Looker]):
    looker = lookers[0]
    looker.open("/search/", session=None, width=WIDE)
    looker.page.locator("#q").focus()
    looker.page.keyboard.type("a/b?jk")
    assert looker.page.locator("#q").input_value() == "a/b?jk"
    expect(looker.page.get_by_role("dialog")).to_have_count(0)


def test_chapters_are_folded_on_a_phone(looker: Looker):
    looker.open("/docs/ci/", session=None, width=NARROW)
    chapters = looker.page.locator("#chapter-list")
    expect(chapters).to_be_hidden()
    looker.page.get_by_role("button", name="All chapters").click()
    expect(chapters).to_be_visible()
    assert not looker.examine(width=NARROW, rules=EVERY_RULE)
    looker.picture("chapters")


def test_an_evaluation_has_at_most_four_screens_of_a_phone_before_its_parts_are_unfolded(looker: Looker, site: Site):
    looker.open(f"/evaluations/{site.things['completed']}/", session=None, width=NARROW)
    before = looker.page.evaluate("() => document.documentElement.scrollHeight / innerHeight")
    assert before <= 4
    assert not looker.examine(width=NARROW, rules=EVERY_RULE)
    hidden = looker.page.locator(".metric-card:not(.is-primary)").first
    expect(hidden).to_be_hidden()
    for name in ("All scores", "By kind of task", "All rows of this page"):
        looker.page.get_by_role("button", name=name).click()
    expect(hidden).to_be_visible()
    expect(looker.page.get_by_role("heading", name="By kind of task")).to_be_visible()
    assert looker.page.evaluate("() => document.documentElement.scrollHeight / innerHeight") > before + 2
    assert not looker.examine(width=NARROW, rules=EVERY_RULE)


def test_code_is_copied(lookers: tuple[Looker, Looker], site: Site):
    looker = lookers[0]
    looker.page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=site.url)
    looker.open("/docs/ci/", session=None, width=WIDE)
    block = looker.page.locator(".code-block").first
    block.get_by_role("button", name="Copy").click()
    expect(block.get_by_role("button", name="Copied")).to_be_visible()
    copied = looker.page.evaluate("() => navigator.clipboard.readText()")
    assert copied == block.locator("pre").text_content().strip()
