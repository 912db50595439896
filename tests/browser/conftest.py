"""One site, one browser, and a context of it in each colour scheme."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from tests.browser.looking import FLAGS, PICTURES, Looker, looker
from tests.browser.site import Site, looked_at, own_database
from tests.memory import forget_everything
from tests.run import find_browser


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whoever looks at this site comes last: while it stands, Django's connection leads to its database, and Playwright
    runs an event loop in this thread."""
    places = [place for place, item in enumerate(items) if item.path.is_relative_to(Path(__file__).parent)]
    in_order = sorted((items[place] for place in places), key=lambda item: "site" in getattr(item, "fixturenames", ()))
    for place, item in zip(places, in_order, strict=True):
        items[place] = item


@pytest.fixture(scope="package")
def site(django_db_modify_db_settings, django_db_blocker, tmp_path_factory) -> Iterator[Site]:
    """Everything there is to look at, in a database of its own: its rows stay from test to test."""
    # Its rows have keys that rows of other tests had.
    forget_everything()
    with django_db_blocker.unblock(), own_database(), looked_at(tmp_path_factory.mktemp("site")) as served:
        yield served


@pytest.fixture(scope="package")
def lookers(site: Site) -> Iterator[tuple[Looker, Looker]]:
    """A context in light colours and one in dark ones."""
    shutil.rmtree(PICTURES, ignore_errors=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        yield looker(browser, scheme="light", origin=site.url), looker(browser, scheme="dark", origin=site.url)
        browser.close()
