"""Pictures of boards as files."""

import io
from xml.etree import ElementTree

import pytest
from django.test import Client
from PIL import Image

from leaderboard.boards.drawing.files import SCALE, png_file, svg_file
from leaderboard.boards.drawing.picture import Cells, Line, Link, Mark, Picture, Text
from tests.leaderboard.evaluations.web.factories import make_board, make_suite

SVG = "{http://www.w3.org/2000/svg}"
PICTURES = "/boards/openagi/pictures/"


def picture(*items, name: str = "a & <b>") -> Picture:
    text = Text("name", 20, 20, name)
    return Picture("key", "Title", "Words", 100, 50, (*items, Link("/evaluations/1/", name, (Mark("dot", 5, 5), text))))


def test_an_svg_file_holds_every_shape_and_absolute_links():
    drawn = picture(Line("front", ((0, 0), (10, 5))), Cells("heat-10", 8, ((0, 30, 20),)))
    root = ElementTree.fromstring(svg_file(drawn, absolute=lambda path: f"https://example.org{path}"))
    [link] = root.iter(f"{SVG}a")
    assert link.get("href") == "https://example.org/evaluations/1/"
    assert [one.text for one in link.iter(f"{SVG}text")] == ["a & <b>"]
    assert len(list(root.iter(f"{SVG}path"))) == 2
    assert not [one for one in root.iter() if one.get("style") or one.tag in {f"{SVG}script", f"{SVG}style"}]


def test_names_that_xml_cannot_hold_make_no_broken_file():
    root = ElementTree.fromstring(svg_file(picture(name="bell \x07 half \ud800"), absolute=str))
    assert [one.text for one in root.iter(f"{SVG}text")] == ["bell \ufffd half \ufffd"]


def test_a_png_is_twice_as_large_and_shows_the_shapes():
    image = Image.open(io.BytesIO(png_file(picture(Cells("heat-10", 20, ((50, 30, 40),))))))
    assert image.size == (100 * SCALE, 50 * SCALE)
    assert image.getpixel((140, 60)) == (11, 95, 84)
    assert image.getpixel((40, 95)) == (255, 255, 255)


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["time", "tasks"])
def test_every_picture_can_be_downloaded(client: Client, name: str):
    make_board()
    drawn = client.get(f"{PICTURES}{name}.svg")
    assert drawn.headers["Content-Type"] == "image/svg+xml"
    assert drawn.headers["Content-Disposition"] == f'attachment; filename="openagi-{name}.svg"'
    texts = [one.text for one in ElementTree.fromstring(drawn.content).iter(f"{SVG}text")]
    assert "planner of ada" in texts
    assert b'href="http://testserver/evaluations/' in drawn.content
    assert Image.open(io.BytesIO(client.get(f"{PICTURES}{name}.png").content)).format == "PNG"
    assert client.get(f"{PICTURES}{name}.svg", headers={"If-None-Match": drawn.headers["ETag"]}).status_code == 304


@pytest.mark.django_db
def test_what_is_not_drawn_is_404(client: Client):
    make_suite()
    assert client.get(f"{PICTURES}time.svg").status_code == 404
    make_board()
    assert client.get(f"{PICTURES}cost.svg").status_code == 404
    assert client.get(f"{PICTURES}nothing.png").status_code == 404
