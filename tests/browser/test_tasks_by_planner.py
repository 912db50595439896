"""From a board's heat map to one task across planners, with the keyboard."""

import re

import pytest

from tests.browser.looking import WIDE, Looker
from tests.browser.site import Site

pytestmark = pytest.mark.browser


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
