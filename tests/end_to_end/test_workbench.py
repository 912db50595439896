"""The workbench with a real site and worker: ask, point, watch the plan run, go on, edit the plan, compare and vote."""

import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from evaluator.planners.named import planners_of_requests
from tests.end_to_end.arena import Arena, data_folder, started
from tests.end_to_end.test_journey import sign_up

PREPARED = Path(__file__).resolve().parents[2] / "leaderboard" / "workbench" / "prepared"
pytestmark = [pytest.mark.full, pytest.mark.browser, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def arena() -> Iterator[Arena]:
    """A demo whose worker for the workbench takes requests while another one evaluates."""
    with data_folder() as data, started(data, planners=("gold",), PLANARENA_LOCAL_RUN_WORKERS="1") as running:
        running.wait_for(lambda: list(data.glob("workers/local-runs-*.json")), what="the worker of runs")
        yield running


def test_a_person_points_at_a_picture_compares_two_planners_and_votes(arena: Arena, page: Page) -> None:
    sign_up(page, arena, "vera")
    page.goto(f"{arena.url}/workbench/")
    page.get_by_label("Request", exact=True).fill("Segment what point-1 in garden.png is on.")
    page.get_by_label("Files").set_input_files(PREPARED / "garden.png")
    picture = page.locator("canvas.pointing-picture")
    expect(picture).to_be_visible()
    box = picture.bounding_box()
    assert box is not None
    # On the purple circle, whose centre is at 47, 54 of 64 pixels.
    picture.click(position={"x": box["width"] * 47 / 64, "y": box["height"] * 54 / 64})
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("#run")).to_have_attribute("data-ended", "", timeout=120_000)
    expect(page.locator("#reply")).to_contain_text("1 mask")

    page.get_by_role("link", name="Workbench").first.click()
    page.get_by_role("link", name="Compare two planners").first.click()
    # From here on by keyboard.
    page.get_by_role("button", name="Remove the purple circle from garden.png, please.").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Your vote")).to_be_visible(timeout=120_000)
    names = [planner.name for planner in planners_of_requests("toolworld")]
    assert not [name for name in names if name in page.content()], "blind until the vote"
    ballot = page.get_by_role("group").first
    ballot.get_by_role("radio").first.focus()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Vote", exact=True).focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Show the names").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="The vote")).to_be_visible()
    shown = [page.locator(f"#side-{letter}").inner_text().removeprefix(f"{letter}: ") for letter in "AB"]
    assert set(shown) <= set(names)
    assert len(set(shown)) == 2

    page.get_by_role("link", name="The table of votes").click()
    # Of an account that is a minute old.
    expect(page.get_by_text("0 votes of 0 people count")).to_be_visible()
    page.get_by_text("Votes that do not count").click()
    expect(page.get_by_text("by an account that was less than a day old")).to_be_visible()


def test_a_stranger_asks_watches_goes_on_and_edits_the_plan(arena: Arena, page: Page) -> None:
    page.goto(f"{arena.url}/workbench/")
    page.get_by_role("button", name="Remove the purple circle from garden.png, please.").click()

    expect(page).to_have_url(re.compile(r"/workbench/[0-9a-f-]{36}/"))
    expect(page.locator("#run .outcome").first).to_have_text("Done", timeout=120_000)
    expect(page.locator("#reply")).to_contain_text("image_inpainting")
    expect(page.get_by_role("heading", name="Results")).to_be_visible()
    images = page.locator("main img")
    images.evaluate_all("found => Promise.all(found.map(image => { image.loading = 'eager'; return image.decode(); }))")
    first = page.url

    page.get_by_label("Next request").fill("Make the edge map of result-1-1.png.")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("#run .outcome").first).to_have_text("Done", timeout=60_000)
    expect(page.locator("#reply")).to_contain_text("image_to_edge")

    page.goto(first)
    page.get_by_text("Edit the plan").click()
    plan = page.get_by_label(re.compile("^Plan as JSON")).input_value()
    page.get_by_label(re.compile("^Plan as JSON")).fill(plan)
    page.get_by_role("button", name="Run this plan", exact=True).click()
    expect(page.locator("#run .outcome").first).to_have_text("Done", timeout=60_000)
    expect(page.get_by_text("from the store").first).to_be_visible()

    archive = zipfile.ZipFile(io.BytesIO(httpx.get(f"{page.url}run.zip").content))
    assert {"request.txt", "events.jsonl", "plan.json", "files/garden.png"} <= set(archive.namelist())


def test_a_click_on_a_picture_and_the_arrow_keys_point(arena: Arena, page: Page) -> None:
    page.goto(f"{arena.url}/workbench/")
    page.get_by_label("Request", exact=True).fill("Segment what point-1 in garden.png is on.")
    page.get_by_label("Files").set_input_files(PREPARED / "garden.png")
    picture = page.locator("canvas.pointing-picture")
    expect(picture).to_be_visible()
    box = picture.bounding_box()
    assert box is not None
    # In the middle of a pixel of the picture, which has 64 on each side.
    side = box["width"] / 64
    picture.click(position={"x": 32.5 * side, "y": 16.5 * side})
    places = page.get_by_label("Places")
    expect(places).to_have_value("32,16")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowDown")
    expect(places).to_have_value("33,26")
    page.get_by_role("button", name="Run", exact=True).click()

    expect(page.locator("#run")).to_have_attribute("data-ended", "", timeout=60_000)
    expect(page.get_by_role("img", name="point-1 at 33,26 in garden.png")).to_be_visible()


def test_boxes_are_dragged_and_strokes_painted_or_placed_by_keys(arena: Arena, page: Page) -> None:
    page.goto(f"{arena.url}/workbench/")
    page.get_by_label("Files").set_input_files(PREPARED / "garden.png")
    picture = page.locator("canvas.pointing-picture")
    expect(picture).to_be_visible()
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    assert box is not None
    side = box["width"] / 64

    def at(x: float, y: float) -> tuple[float, float]:
        return box["x"] + (x + 0.5) * side, box["y"] + (y + 0.5) * side

    places = page.get_by_label("Places")
    page.get_by_label("Mark").select_option("box")
    page.mouse.move(*at(4, 5))
    page.mouse.down()
    page.mouse.move(*at(20, 30), steps=4)
    page.mouse.up()
    expect(places).to_have_value("4,5; 20,30")

    page.get_by_label("Mark").select_option("stroke")
    expect(places).to_have_value("")
    page.mouse.move(*at(10, 10))
    page.mouse.down()
    for column in (14, 18, 22):
        page.mouse.move(*at(column, 12))
    page.mouse.up()
    expect(places).to_have_value("10,10; 14,12; 18,12; 22,12")

    picture.focus()
    page.keyboard.press("Delete")
    page.keyboard.press("Enter")
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Enter")
    expect(places).to_have_value("22,12; 12,12")


def test_an_uploaded_picture_and_a_hostile_file(arena: Arena, page: Page) -> None:
    page.goto(f"{arena.url}/workbench/")
    page.get_by_label("Request", exact=True).fill("Make the edge map of mine.png.")
    page.get_by_label("Files").set_input_files(
        {"name": "mine.png", "mimeType": "image/png", "buffer": b"\x89PNG no picture"}
    )
    page.get_by_role("button", name="Run", exact=True).click()

    expect(page.locator("#run .outcome").first).to_have_text("Failed", timeout=60_000)
    expect(page.locator("#reply")).to_contain_text("mine.png cannot be read")
