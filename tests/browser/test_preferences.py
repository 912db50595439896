"""What readers ask of pages: no motion, colours of their own, paper, other sizes of text, and a keyboard."""

import pytest

from tests.browser.looking import NARROW, WIDE, Looker

pytestmark = [pytest.mark.full, pytest.mark.browser]
BOARD = "/boards/openagi/"
_STYLE = "([selector, pseudo, name]) => getComputedStyle(document.querySelector(selector), pseudo)[name]"


@pytest.fixture
def light(lookers: tuple[Looker, Looker]) -> Looker:
    yield lookers[0]
    lookers[0].page.emulate_media(color_scheme="light", media="null", reduced_motion="null", forced_colors="null")


def style(looker: Looker, selector: str, name: str, pseudo: str | None = None) -> str:
    return looker.page.evaluate(_STYLE, [selector, pseudo, name])


def test_nothing_moves_for_who_wants_no_motion(light, site):
    light.open(f"/evaluations/{site.things['running']}/", session=None, width=WIDE)
    assert style(light, ".state[data-state='running']", "animationName", "::before") == "pulse"
    light.page.emulate_media(reduced_motion="reduce")
    assert style(light, ".state[data-state='running']", "animationName", "::before") == "none"


def test_marks_are_there_in_the_readers_own_colours(light, site):
    light.page.emulate_media(forced_colors="active")
    light.open(f"/evaluations/{site.things['on_hold']}/", session=None, width=WIDE)
    for selector in (".state", ".outcome[data-outcome='planner_fault']", ".outcome[data-outcome='scored']"):
        assert style(light, selector, "backgroundColor", "::before") == style(light, "body", "color")


def test_on_paper_there_is_what_one_reads_and_nothing_to_press(light, site):
    light.open(BOARD, session=site.sessions["researcher"], width=WIDE)
    light.page.emulate_media(media="print")
    for selector in (".site-header nav", ".board-filters", "#compare-rows", ".pick", ".site-footer"):
        assert style(light, selector, "display") == "none"
    assert style(light, ".table-scroll", "overflowX") == "visible"
    assert light.page.get_by_role("link", name="gold", exact=True).is_visible()


def test_a_row_keeps_its_name_while_its_figures_scroll(light, site):
    light.open(BOARD, session=None, width=NARROW)
    light.page.locator(".table-scroll").first.evaluate("frame => { frame.scrollLeft = 400; }")
    name = light.page.get_by_role("rowheader").filter(has_text="gold").first.bounding_box()
    frame = light.page.locator(".table-scroll").first.bounding_box()
    assert name is not None
    assert frame is not None
    assert frame["x"] <= name["x"] <= frame["x"] + 2
    assert name["width"] < frame["width"] / 2


def test_text_of_twice_the_size_needs_no_scrolling_sideways(light, site):
    """WCAG 2.2, 1.4.4 and 1.4.10: 400 % of 1440 px are 360 px; larger letters on a usual screen are something else."""
    for address in ("/", BOARD, "/submit/", f"/evaluations/{site.things['completed']}/"):
        light.open(address, session=site.sessions["researcher"], width=WIDE)
        light.page.evaluate("() => { document.documentElement.style.fontSize = '200%'; }")
        assert light.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address


def test_the_first_key_leads_past_the_navigation_and_every_stop_can_be_seen(light, site):
    light.open(BOARD, session=site.sessions["researcher"], width=WIDE)
    keyboard = light.page.keyboard
    keyboard.press("Tab")
    assert light.page.evaluate("document.activeElement.textContent") == "Skip to content"
    keyboard.press("Enter")
    assert light.page.evaluate("document.activeElement.id") == "main"
    for _ in range(25):
        keyboard.press("Tab")
        stop = light.page.evaluate(
            """() => {
              const one = document.activeElement, style = getComputedStyle(one), box = one.getBoundingClientRect();
              return { name: one.outerHTML.slice(0, 120), inMain: document.getElementById("main").contains(one),
                ring: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
                seen: box.top >= 0 && box.bottom <= innerHeight && box.left >= 0 && box.right <= innerWidth };
            }"""
        )
        assert stop["inMain"], stop
        assert stop["ring"], stop
        assert stop["seen"] or "table-scroll" in stop["name"], stop


def test_code_scrolls_inside_its_box_on_a_phone_and_pictures_of_the_docs_are_there(light):
    light.open("/docs/ci/", session=None, width=NARROW)
    scrolls = "block => block.scrollWidth > block.clientWidth && getComputedStyle(block).overflowX === 'auto'"
    assert any(block.evaluate(scrolls) for block in light.page.locator(".code-block pre").all())
    light.page.get_by_role("button", name="All chapters").click()
    menu = light.page.get_by_role("navigation", name="Documentation")
    menu.get_by_role("link", name="First evaluation").click()
    light.page.wait_for_url("**/docs/tutorial/")
    pictures = light.page.locator("main img").all()
    assert pictures
    loaded = """image => {
      image.loading = "eager";
      return image.decode().then(() => image.naturalWidth > 0);
    }"""
    assert all(image.evaluate(loaded) for image in pictures)
