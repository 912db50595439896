"""Depth, soft edges and poses, on the shipped weights."""

import dataclasses

import numpy as np
import pytest
from PIL import Image

from evaluator.pictures.skeleton import read_skeleton
from evaluator.training.experts.quality.maps import MEASURES
from evaluator.world.seeds import Split
from evaluator.world.tableaux import Content, draw_tableau, paint
from tests.evaluator.experts.shipped import shipped_expert

TOOLS = {
    "image_to_depth": ("depth", "dpt", {}),
    "image_to_normal": ("depth", "dpt-normals", {}),
    "image_to_hed": ("soft-edges", "hed", {"size": 64}),
    "image_to_pose": ("pose", "vitpose", {}),
}
OUTPUTS = {"image_to_depth": "depth", "image_to_normal": "normal", "image_to_hed": "hed", "image_to_pose": "pose"}

each_tool = pytest.mark.parametrize("tool", TOOLS)


@pytest.fixture(scope="module")
def experts():
    return {
        tool: shipped_expert(folder=folder, implementation=implementation, **parameters)
        for tool, (folder, implementation, parameters) in TOOLS.items()
    }


def tableau_image(index, *, content=Content.FIGURE):
    return Image.fromarray(paint(draw_tableau(split=Split.VALIDATION, index=index, content=content)).pixels)


@pytest.mark.parametrize("tool", ["image_to_depth", "image_to_hed"])
def test_depth_and_edges_are_grey(experts, tool):
    (output,) = experts[tool].run([{"image": tableau_image(1)}])
    red, green, blue = np.moveaxis(np.asarray(output[OUTPUTS[tool]]), -1, 0)
    assert np.array_equal(red, green)
    assert np.array_equal(red, blue)


def test_most_normals_point_to_the_viewer(experts):
    (output,) = experts["image_to_normal"].run([{"image": tableau_image(2)}])
    normals = np.asarray(output["normal"]) / 127.5 - 1
    assert (normals[..., 2] > 0.9).mean() > 0.7
    assert (normals[..., 2] < 0.9).any()
    assert np.abs(np.linalg.norm(normals, axis=-1) - 1).max() < 0.05


def test_the_background_is_far_away(experts):
    image, tableau = tableau_image(2), draw_tableau(split=Split.VALIDATION, index=2, content=Content.FIGURE)
    (output,) = experts["image_to_depth"].run([{"image": image}])
    owner = paint(tableau).owner
    levels = np.asarray(output["depth"])[..., 0]
    assert levels[owner < 0].mean() < 20 < levels[owner >= 0].mean()


def test_a_picture_without_a_figure_has_no_skeleton(experts):
    plain = dataclasses.replace(draw_tableau(split=Split.VALIDATION, index=0, content=Content.THINGS), parts=())
    (output,) = experts["image_to_pose"].run([{"image": Image.fromarray(paint(plain).pixels)}])
    assert read_skeleton(np.asarray(output["pose"])) is None


@pytest.mark.full
@pytest.mark.parametrize(
    ("folder", "figure", "floor"),
    [
        ("depth", "pairs of parts whose order is right", 0.85),
        ("soft-edges", "F1 of edges within one pixel", 0.8),
        ("pose", "joints within 0.2 torsos (PCK)", 0.7),
        ("pose", "figures seen or rightly not seen", 0.85),
    ],
)
def test_held_out_quality_is_far_above_chance(experts, folder, figure, floor):
    assert MEASURES[folder](experts, 24)[figure] >= floor
