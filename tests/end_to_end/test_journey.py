"""A researcher in a real browser: sign up, submit the example endpoint, watch it finish, open a task."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.end_to_end.arena import ROOT, free_port, runnable_count
from tests.run import find_browser

pytestmark = [pytest.mark.browser, pytest.mark.timeout(400)]

PICTURES = ROOT / "test-output"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def page(browser):
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


@pytest.fixture
def example_endpoint():
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "examples/planner_server.py", "--port", str(port)],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.readline()
    yield f"http://127.0.0.1:{port}/"
    process.terminate()
    process.wait(timeout=10)


def picture(page, name):
    """Keep a picture of the page in light and dark, for people to look at."""
    Path(PICTURES).mkdir(exist_ok=True)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.screenshot(path=PICTURES / f"{name}-{scheme}.png", full_page=True, caret="initial")
    page.emulate_media(color_scheme="light")


def test_sign_up_submit_the_example_endpoint_watch_it_finish_and_open_a_task(arena, page, example_endpoint):
    page.goto(f"{arena.url}/accounts/signup/")
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password", exact=True).fill("an analytical engine")
    page.get_by_label("Password (again)").fill("an analytical engine")
    page.get_by_role("main").get_by_role("button", name="Sign up").click()
    expect(page.get_by_role("link", name="Sign out")).to_be_visible()

    page.goto(f"{arena.url}/submit/")
    page.get_by_label("HTTP endpoint").check()
    page.get_by_label("Address").fill(example_endpoint)
    page.get_by_label("Name on the board").fill("word-reader")
    page.get_by_role("checkbox", name=re.compile("^OpenAGI")).check()
    page.get_by_role("main").get_by_role("button", name="Submit").click()

    expect(page).to_have_url(re.compile(r"/evaluations/[0-9a-f-]{36}/"))
    expect(page.get_by_role("heading", level=1)).to_have_text("word-reader")
    # Nothing is reloaded by hand: the page follows the evaluation by server-sent events.
    expect(page.locator("[data-live='state']")).to_have_text("Completed", timeout=180_000)
    expect(page.locator("#results tbody tr").first).to_be_visible()
    picture(page, "evaluation")

    page.get_by_role("link", name=re.compile(r"^25\b")).first.click()
    expect(page.get_by_text("Given noisy blurry grayscale image").first).to_be_visible()
    images = page.locator("main img")
    expect(images.first).to_be_visible()
    assert images.count() >= 2 * 4
    # Images below the fold load late; `decode` waits for each, and rejects one that cannot be shown.
    images.evaluate_all("found => Promise.all(found.map(image => { image.loading = 'eager'; return image.decode(); }))")
    picture(page, "task")

    page.goto(f"{arena.url}/boards/openagi/")
    expect(page.get_by_role("link", name="word-reader", exact=True)).to_be_visible()
    expect(page.get_by_text(f"{runnable_count()} of 185").first).to_be_visible()
    picture(page, "board")
    assert page.problems == []


def test_a_malformed_form_names_the_field_and_keeps_what_was_entered(arena, page):
    page.goto(f"{arena.url}/accounts/signup/")
    page.get_by_label("Username").fill("grace")
    page.get_by_label("Password", exact=True).fill("a compiler for you")
    page.get_by_label("Password (again)").fill("a compiler for you")
    page.get_by_role("main").get_by_role("button", name="Sign up").click()
    page.goto(f"{arena.url}/submit/")
    page.get_by_label("HTTP endpoint").check()
    page.get_by_label("Address").fill("ftp://example.org/")
    page.get_by_label("Name on the board").fill("wrong")
    page.get_by_role("checkbox", name=re.compile("^OpenAGI")).check()
    with page.expect_response(re.compile("/submit/$")) as answered:
        page.get_by_role("main").get_by_role("button", name="Submit").click()
    assert answered.value.status == 400
    expect(page.get_by_text("The address must begin with http:// or https://.")).to_be_visible()
    expect(page.get_by_label("Name on the board")).to_have_value("wrong")


def test_the_board_can_be_read_and_sorted_without_javascript(arena, browser):
    context = browser.new_context(java_script_enabled=False)
    reading = context.new_page()
    reading.goto(f"{arena.url}/boards/openagi/?sort=overall")
    names = reading.locator("table.data tbody tr th a, table.data tbody tr td a").all_inner_texts()
    planners = [name for name in names if name in {"gold", "random-valid", "no-op"}]
    assert planners[-1] == "gold"
    context.close()
