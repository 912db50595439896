"""Heat maps, plots, tasks across planners and candidates on grids, with the keyboard."""

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.looking import EVERY_RULE, NARROW, WIDE, Looker
from tests.browser.site import Site

pytestmark = [pytest.mark.full, pytest.mark.browser]


def test_from_the_heat_map_to_a_result_and_to_one_task_across_planners(lookers: tuple[Looker, Looker], site: Site):
    looker, _ = lookers
    assert not looker.open("/boards/openagi/tasks/?order=suite", session=None, width=WIDE)
    page = looker.page
    cells = page.locator("[data-cells] td a")
    assert page.locator('[data-cells] td a[tabindex="0"]').count() == 1, "one press of Tab leaves the table"
    cells.first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    focused = page.evaluate("document.activeElement.title")
    assert focused.startswith("1, ")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/evaluations/[-0-9a-f]+/tasks/1/$"))

    page.goto(f"{looker.origin}/boards/openagi/tasks/?order=suite")
    page.locator(".heat .task-key", has_text=re.compile("^25$")).click()
    page.wait_for_url(re.compile(r"/boards/openagi/tasks/25/$"))
    assert page.locator(".plan-graph").count() == 3
    page.get_by_role("link", name="Sample 1", exact=True).click()
    assert page.locator("#steps-title").inner_text() == "Step by step, sample 1"


def test_from_a_comparison_and_a_task_to_turns_and_grids_beside_each_other(lookers: tuple[Looker, Looker], site: Site):
    looker, _ = lookers
    page = looker.page
    both = site.things["grids"], site.things["grids_other"]
    assert not looker.open(f"/compare/?e={both[0]}&e={both[1]}", session=None, width=WIDE)
    page.get_by_role("region", name="Table of tasks").get_by_role("link", name="episode", exact=True).click()
    page.wait_for_url(re.compile(r"/boards/grids-small/tasks/episode/\?e="))
    page.wait_for_load_state()
    turns = page.get_by_role("region", name="Turns by planner")
    rows = turns.locator("tbody tr").filter(has=page.get_by_role("rowheader", name=re.compile("^Turn ")))
    assert [row.get_attribute("class") for row in rows.all()][:3] == [None, None, "differs"]
    assert page.get_by_text("The actions first differ in turn 3.").is_visible()
    lefts = [cell.bounding_box()["x"] for cell in rows.first.locator("td").all()]
    assert lefts == sorted(set(lefts)), "actions of one turn are beside each other"
    wrong = page.get_by_role("region", name="Tries by planner").get_by_role("img", name=re.compile("Crosses mark"))
    assert wrong.first.locator("path.crosses").count() == 2

    assert not looker.open(f"/evaluations/{both[0]}/tasks/third/", session=None, width=NARROW)
    page.get_by_role("link", name="Side by side with fewer tries").press("Enter")
    page.wait_for_url(re.compile(r"/boards/grids-small/tasks/third/\?e="))
    page.wait_for_load_state()
    assert page.get_by_role("region", name="Candidates by planner").get_by_role("img").count() >= 6
    assert looker.examine(width=NARROW, rules=EVERY_RULE) == []


def test_marks_of_a_plot_are_links_that_the_keyboard_reaches(lookers: tuple[Looker, Looker], site: Site):
    looker, _ = lookers
    assert not looker.open("/boards/openagi/plots/", session=None, width=WIDE)
    page = looker.page
    marks = page.locator("svg.plot.time a")
    assert marks.count() >= 3
    marks.first.focus()
    assert page.evaluate("document.activeElement.getAttribute('href')").startswith("/evaluations/")
    with page.expect_download() as download:
        page.get_by_role("link", name="PNG").first.click()
    assert download.value.suggested_filename == "openagi-time.png"
    page.get_by_role("link", name="Logarithmic").click()
    page.wait_for_url(re.compile(r"\?axis=log$"))


@pytest.mark.parametrize("scripts", [True, False])
def test_keys_change_the_candidate_of_an_episode_on_grids_with_scripts_and_without(
    lookers: tuple[Looker, Looker], site: Site, scripts: bool
):
    browser = lookers[0].context.browser
    assert isinstance(browser, Browser)
    context = browser.new_context(java_script_enabled=scripts, viewport={"width": 390, "height": 800})
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(f"{site.url}/evaluations/{site.things['grids']}/tasks/episode/")
    first, last = page.get_by_role("radio", name="Try 1"), page.get_by_role("radio", name="Try 3")
    expect(last).to_be_checked()
    panel = page.locator(".radio-panel:visible")
    expect(panel).to_have_count(1)
    expect(panel).to_contain_text("return horizontal_flip(grid)")
    last.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(first).to_be_checked()
    expect(panel).to_have_count(1)
    expect(panel.locator(".failing")).to_contain_text("new[99][0] = 'a' fails here")
    expect(page.get_by_role("img", name="Demonstration 1, input")).to_be_visible()
    assert said == []
    context.close()
