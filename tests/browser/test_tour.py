"""The most important pages in a browser, light and wide; one of them in dark and narrow."""

import pytest

from tests.browser.looking import EVERY_RULE, NARROW, WIDE, Looker
from tests.browser.site import Site

pytestmark = pytest.mark.browser
PAGES = ("/", "/boards/openagi/", "/evaluations/{completed}/", "/evaluations/{completed}/tasks/{task}/")


def problems_of(looker: Looker, address: str, *, session: str | None, width: int) -> list[str]:
    """What is wrong with a page by its layout, axe and the console."""
    found = looker.open(address, session=session, width=width)
    found += looker.examine(width=width, rules=EVERY_RULE)
    return [f"{address}: {problem}" for problem in found + looker.said(status=200)]


def test_the_most_important_pages_are_accessible_and_ask_no_other_host(lookers: tuple[Looker, Looker], site: Site):
    light, dark = lookers
    found = [problem for page in PAGES for problem in problems_of(
        light, page.format(**site.things), session=None, width=WIDE
    )]  # fmt: skip
    found += problems_of(light, "/submit/endpoint/", session=site.sessions["researcher"], width=WIDE)
    found += problems_of(dark, "/boards/openagi/", session=None, width=NARROW)
    assert found == []


def test_a_page_with_a_fault_is_found(lookers: tuple[Looker, Looker]):
    light, _ = lookers
    assert problems_of(light, "/", session=None, width=WIDE) == []
    light.page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=\"data:,\" class=\"x\">')")
    found = light.examine(width=WIDE, rules=EVERY_RULE)
    assert [problem for problem in found if "image without a size" in problem]
    assert [problem for problem in found if "image-alt" in problem]
