"""The page that offers the kinds of planners, and their forms, in a browser."""

import pytest
from playwright.sync_api import expect

from leaderboard.planners.kinds import FIELDS, KINDS, kinds_with
from leaderboard.platform.fields import FIELD_TEMPLATE
from tests.browser.looking import EVERY_RULE, HEIGHTS, NARROW, WIDE

pytestmark = [pytest.mark.full, pytest.mark.browser]
_VISIBLE = (
    "() => [...document.querySelectorAll('.form [name]')].filter(one => one.checkVisibility()).map(one => one.name)"
)
_TOP_OF_OPTIONS = "() => document.querySelector('.folds-of-form').getBoundingClientRect().top + scrollY"


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_is_reached_from_the_first_page_and_asks_for_its_own_fields_only(lookers, site, name):
    looker, kind = lookers[0], KINDS[name]
    looker.open("/submit/", session=site.sessions["researcher"], width=WIDE)
    looker.page.get_by_role("link", name=kind.choice).click()
    expect(looker.page).to_have_url(f"{site.url}/submit/{name}/")
    of_kinds = {field.name for field in FIELDS if kinds_with(field)}
    visible = set(looker.page.evaluate(_VISIBLE)) & of_kinds
    assert visible <= {field.name for field in kind.fields}
    assert visible >= {field.name for field in kind.fields if field.on_page and field.template == FIELD_TEMPLATE}
    if name != "bundled" and kind.has_main_model:
        assert looker.page.evaluate(_TOP_OF_OPTIONS) <= HEIGHTS[WIDE], "what is asked of everyone fits on a screen"
    looker.page.locator("details.folded:not([open]) > summary").evaluate_all(
        "found => found.forEach(one => one.click())"
    )
    assert looker.examine(width=WIDE, rules=EVERY_RULE) == []
    assert looker.examine(width=NARROW, rules=EVERY_RULE) == []


def test_errors_lead_to_their_fields_and_inputs_beside_each_other_stay_level(lookers, site):
    looker = lookers[1]
    looker.open("/submit/endpoint/", session=site.sessions["researcher"], width=WIDE)
    looker.page.get_by_label("Address of the endpoint").fill("ftp://example.org")
    looker.page.get_by_text("Timeout and secret header").click()
    looker.page.get_by_label("Timeout in seconds").fill("0")
    looker.page.get_by_label("Name of the header").fill("Host")
    looker.page.get_by_role("main").get_by_role("button", name="Submit", exact=True).click()
    expect(looker.page.get_by_role("alert").get_by_role("link")).to_have_count(4)
    tops = {looker.page.get_by_label(f"{of} of the header").bounding_box()["y"] for of in ("Name", "Value")}
    assert len(tops) == 1
    assert looker.examine(width=WIDE, rules=EVERY_RULE) == []
    assert looker.examine(width=NARROW, rules=EVERY_RULE) == []
    looker.picture("planners-submit-errors")


def test_the_end_of_an_embargo_is_asked_for_with_an_embargo_only(lookers, site):
    looker = lookers[0]
    looker.open("/submit/bundled/", session=site.sessions["researcher"], width=WIDE)
    expect(looker.page.get_by_label("End of the embargo")).to_be_hidden()
    looker.page.get_by_label("Who sees it?").select_option("embargo")
    expect(looker.page.get_by_label("End of the embargo")).to_be_visible()


@pytest.mark.parametrize("scheme", [0, 1])
def test_a_model_for_each_role_is_asked_for_and_no_other(lookers, site, scheme):
    looker = lookers[scheme]
    looker.open("/submit/roles/", session=site.sessions["researcher"], width=WIDE)
    looker.page.locator("[name=strategy]").select_option("lumos/iterative")
    looker.page.locator("[name=roles__plan__kind]").select_option("endpoint")
    looker.page.locator("[name=roles__ground__kind]").select_option("checkpoint")
    visible = set(looker.page.evaluate(_VISIBLE))
    assert {"roles__plan__endpoint_url", "roles__ground__checkpoint_file"} <= visible
    assert not visible & {
        "endpoint_url",
        "model_id",
        "checkpoint_digest",
        "roles__plan__model_id",
        "roles__assess__kind",
    }
    assert looker.examine(width=WIDE, rules=EVERY_RULE) == []
    assert looker.examine(width=NARROW, rules=EVERY_RULE) == []
    looker.picture("planners-submit-roles")
