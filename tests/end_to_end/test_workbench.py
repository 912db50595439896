"""The workbench with a real site and worker: ask, watch the plan run, go on, edit the plan."""

import io
import re
import zipfile
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.end_to_end.arena import Arena

PREPARED = Path(__file__).resolve().parents[2] / "leaderboard" / "workbench" / "prepared"
pytestmark = [pytest.mark.full, pytest.mark.browser, pytest.mark.timeout(400)]


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
    page.get_by_role("button", name="Run this plan").click()
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
    column, row = page.get_by_label("Column"), page.get_by_label("Row", exact=True)
    expect(column).to_have_value("32")
    expect(row).to_have_value("16")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowDown")
    expect(column).to_have_value("33")
    expect(row).to_have_value("26")
    page.get_by_role("button", name="Run", exact=True).click()

    expect(page.locator("#run")).to_have_attribute("data-ended", "", timeout=60_000)
    expect(page.get_by_role("img", name="point-1: 33, 26 in garden.png")).to_be_visible()


def test_an_uploaded_picture_and_a_hostile_file(arena: Arena, page: Page) -> None:
    page.goto(f"{arena.url}/workbench/")
    page.get_by_label("Request", exact=True).fill("Make the edge map of mine.png.")
    page.get_by_label("Files").set_input_files(
        {"name": "mine.png", "mimeType": "image/png", "buffer": b"\x89PNG no picture"}
    )
    page.get_by_role("button", name="Run", exact=True).click()

    expect(page.locator("#run .outcome").first).to_have_text("Failed", timeout=60_000)
    expect(page.locator("#reply")).to_contain_text("mine.png cannot be read")
