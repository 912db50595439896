import csv
import io
import xml.etree.ElementTree as ElementTree

import pytest

from evaluator.training.planners.curves import curve_csv, curve_svg
from evaluator.training.planners.rltf import Point

POINTS = [Point(step=step, reward=0.1 * step, baseline=0.05 * step, invalid=0.0, entropy=1.0) for step in range(5)]
SVG = "{http://www.w3.org/2000/svg}"


def test_the_table_has_a_line_for_each_step():
    rows = list(csv.DictReader(io.StringIO(curve_csv(POINTS))))
    assert [int(row["step"]) for row in rows] == [0, 1, 2, 3, 4]
    assert [float(row["reward"]) for row in rows] == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4])
    assert set(rows[0]) == {"step", "reward", "baseline", "invalid", "entropy"}


def test_the_drawing_has_a_line_that_rises_with_the_reward():
    root = ElementTree.fromstring(curve_svg(POINTS, title="Seed 0 <&>"))
    assert root.find(f"{SVG}title").text == "Seed 0 <&>"
    reward, baseline = root.findall(f"{SVG}polyline")
    places = [tuple(map(float, place.split(","))) for place in reward.attrib["points"].split()]
    assert len(places) == len(POINTS)
    assert [across for across, _ in places] == sorted(across for across, _ in places)
    heights = [down for _, down in places]  # a drawing's y grows downwards
    assert heights == sorted(heights, reverse=True)
    assert heights[0] > heights[-1]
    assert reward.attrib["stroke"] != baseline.attrib["stroke"]


def test_a_flat_curve_can_be_drawn_and_an_empty_one_cannot():
    ElementTree.fromstring(curve_svg(POINTS[:1], title="One step"))
    with pytest.raises(ValueError, match="no step was taken"):
        curve_svg([], title="Nothing")
