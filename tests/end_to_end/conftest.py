"""One arena and one browser for all end-to-end tests that only read or add."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.looking import FLAGS
from tests.end_to_end.arena import Arena, data_folder, started
from tests.run import find_browser


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first test waits for the arena, which takes longer than any other test may."""
    for item in items:
        if "end_to_end" in item.path.parts:
            item.add_marker(pytest.mark.timeout(900))


@pytest.fixture(scope="package")
def arena() -> Iterator[Arena]:
    """A demo that has published its three planners. It ends with these tests: its processes would slow down others."""
    with data_folder() as data, started(data) as running:
        running.wait_published()
        yield running


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that collects errors of scripts and the console, and requests to other hosts."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    opened.set_default_timeout(20_000)
    opened.problems = []
    opened.on("console", lambda message: message.type == "error" and opened.problems.append(message.text))
    opened.on("pageerror", lambda error: opened.problems.append(str(error)))
    opened.on(
        "request",
        lambda request: (
            request.url.startswith(("http://127.0.0.1", "data:", "blob:"))
            or opened.problems.append(f"request to {request.url}")
        ),
    )
    yield opened
    context.close()
