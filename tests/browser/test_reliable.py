"""The reliability of a planner: asked for on the page of an evaluation, read on a page of its own, shown on boards."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looking import EVERY_RULE, WIDE, Looker
from tests.browser.site import Site

pytestmark = [pytest.mark.full, pytest.mark.browser]


@pytest.fixture
def looker(lookers: tuple[Looker, Looker]) -> Looker:
    return lookers[0]


def opened(looker: Looker, address: str, *, session: str | None = None) -> Page:
    assert not looker.open(address, session=session, width=WIDE)
    return looker.page


def test_an_evaluation_leads_to_its_profile_and_a_measure_to_the_tasks_that_lose_most(looker: Looker, site: Site):
    page = opened(looker, f"/evaluations/{site.things['completed']}/")
    page.get_by_role("link", name="Reliability profile", exact=True).click()
    cards = page.locator(".metric-card h3")
    expect(cards).to_have_text(["Success", "Consistency", "Robustness", "Predictability"])
    for heading in ("Consistency", "Robustness", "Predictability"):
        expect(page.get_by_role("heading", name=heading, exact=True, level=2)).to_be_visible()
    for plot in ("Mean over tasks", "Reliability diagram"):
        expect(page.get_by_role("region", name=plot).first).to_be_visible()
    assert not looker.examine(width=WIDE, rules=EVERY_RULE)
    page.get_by_role("region", name="Robustness: table").locator("tbody td a").first.click()
    expect(page).to_have_url(re.compile(r"/evaluations/[0-9a-f-]+/tasks/"))


def test_an_owner_asks_for_a_profile_and_sees_what_it_runs(looker: Looker, site: Site):
    page = opened(looker, f"/evaluations/{site.things['clumsy']}/", session=site.sessions["researcher"])
    page.get_by_role("link", name="Measure it").click()
    expect(page.get_by_role("button", name="Measure reliability")).to_be_visible()
    expect(page.get_by_text("Each counts towards the quota")).to_be_visible()
    page = opened(looker, f"/evaluations/{site.things['measuring']}/reliability/", session=site.sessions["researcher"])
    expect(page.get_by_role("region", name=re.compile("[Rr]uns")).first).to_be_visible()


def test_a_board_has_columns_of_reliability_that_lead_to_profiles(looker: Looker):
    page = opened(looker, "/boards/openagi/")
    expect(page.get_by_role("columnheader", name=re.compile("Consistency")).first).to_be_attached()
