"""Pages of `planarena view` in a browser: served, and as files that it opens from a file system."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from evaluator.core.suites.registry import suite_of
from evaluator.episodes.base import Setting, episode_of
from evaluator.episodes.kept_artefacts import folder_beside, keep_artefacts
from leaderboard.evaluations.results.objects import server_store
from tests.browser.looking import EVERY_RULE, FLAGS, NARROW, WIDE, Looker, looker
from tests.leaderboard.evaluations.web.reports.making import document_from, judged_document, written
from tests.leaderboard.evaluations.web.reports.test_bundle import bundled, view
from tests.leaderboard.executed import BOXES, SLUG, WRONG_SIZE, records
from tests.run import find_browser

pytestmark = [pytest.mark.full, pytest.mark.browser]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """With two reports: of plans that were judged, and of plans that were executed with their pictures."""
    folder = tmp_path_factory.mktemp("reports")
    name = "Plansprache-für-Donaudampfschifffahrtsgesellschaften-" * 3
    written({**judged_document(), "planner": name}, folder, name="judged.json")
    store = server_store(split="public")
    setting = Setting(profile="lilliput", samples=2, open_store=lambda: store)
    made = records()
    evaluator = episode_of(SLUG).evaluator(suite=suite_of(SLUG), setting=setting)
    report = written(document_from(evaluator, records=made, setting=setting), folder, name="executed.json")
    assert keep_artefacts(made, store=store, folder=folder_beside(report)) == 0
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        yield browser
        browser.close()


def look(lookers: list[Looker], address: str, *, name: str) -> None:
    problems = []
    for each in lookers:
        for width in (WIDE, NARROW):
            problems += each.open(address, session=None, width=width)
            problems += each.examine(width=width, rules=EVERY_RULE)
            each.picture(name)
            problems += each.said(status=200)
    assert not problems, "\n" + "\n".join(problems)


def test_served_pages(folder, browser):
    process = view("judged.json", "executed.json", "--port", "0", folder=folder)
    try:
        origin = re.search(r"http://127\.0\.0\.1:\d+", process.stderr.readline())[0]
        lookers = [looker(browser, scheme=scheme, origin=origin) for scheme in ("light", "dark")]
        for address, name in (
            ("/", "view-index"), ("/1/", "view-judged"), ("/1/?outcome=planner_fault", "view-filtered"),
            ("/1/tasks/image_detection/0/", "view-judged-task"), ("/2/", "view-executed"),
            (f"/2/tasks/{BOXES}/", "view-executed-task"), (f"/2/tasks/{WRONG_SIZE}/", "view-executed-fault"),
        ):  # fmt: skip
            look(lookers, address, name=name)
        # A filter without leaving the page.
        page = lookers[0].page
        page.goto(f"{origin}/1/")
        page.get_by_role("link", name=re.compile(r"^Planner fault")).click()
        page.wait_for_url("**outcome=planner_fault**")
        assert page.locator("td.task-key").count() == 1
        assert lookers[0].problems == []
    finally:
        process.terminate()
        process.wait(timeout=30)


def test_files_opened_from_a_file_system_without_scripts(folder, browser):
    bundled("judged.json", "executed.json", "--bundle", "appendix", folder=folder)
    origin = (folder / "appendix").as_uri()
    lookers = [looker(browser, scheme=scheme, origin=origin) for scheme in ("light", "dark")]
    for file in (
        "index.html", "1/index.html", "1/tasks-outcome-planner-fault.html", "1/tasks/image-detection-0.html",
        "2/index.html", "2/tasks/image-detection-0.html",
    ):  # fmt: skip
        look(lookers, f"/{file}", name=f"bundle-{file.removesuffix('.html').replace('/', '-')}")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{origin}/index.html")
    page.get_by_role("link", name="clumsy").click()
    page.locator("td.task-key a", has_text="image_detection/0").first.click()
    assert page.locator("h1").inner_text().startswith("Task image_detection/0")
    picture = page.locator("figure.image img").first
    picture.scroll_into_view_if_needed()
    page.wait_for_function("image => image.naturalWidth > 0", arg=picture.element_handle())
    page.get_by_role("link", name="clumsy").click()
    assert page.url == f"{origin}/2/index.html"
    context.close()
