"""The candidates of an episode on grids, in a browser: tabs that keys change, with scripts and without."""

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.looking import Looker
from tests.browser.site import Site

pytestmark = [pytest.mark.full, pytest.mark.browser]


@pytest.mark.parametrize("scripts", [True, False])
def test_keys_change_the_candidate(lookers: tuple[Looker, Looker], site: Site, scripts: bool):
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
