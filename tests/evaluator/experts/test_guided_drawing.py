"""Drawing along maps, by the shipped weights."""

import dataclasses
import json
import shutil

import numpy as np
import pytest
import torch
from PIL import Image

from evaluator.experts.map_conditions import conditions_of
from evaluator.experts.profile import load_expert, load_profile
from evaluator.experts.protocol import ExpertError
from evaluator.experts.weights import WeightsError, weights_digest
from evaluator.training.experts.quality.guided_drawing import map_quality
from evaluator.world.seeds import Split
from evaluator.world.tableaux import Content, draw_tableau, paint
from evaluator.world.tableaux.maps import MapKind, depth_map, edge_map

TEXT = "A red star is on a green background."


@pytest.fixture(scope="module")
def profile():
    return load_profile("lilliput")


def load(spec, *, batch_size=3, **parameters):
    """With small batches, and fewer steps where what is drawn does not matter."""
    return load_expert(
        spec=dataclasses.replace(spec, batch_size=batch_size, parameters={**spec.parameters, **parameters})
    )


@pytest.fixture(scope="module")
def by_depth(profile):
    return load(profile.experts["depth_text_to_image"], steps=2)


def depth(index):
    record = draw_tableau(split=Split.VALIDATION, index=index, content=Content.THINGS)
    return Image.fromarray(depth_map(paint(record).nearness))


def test_each_kind_of_map_has_channels_of_its_own():
    maps = torch.rand(8, 3, 4, 4)
    pictures = conditions_of(maps=maps, kinds=list(MapKind)).reshape(8, 8, 3, 4, 4)
    for row in range(8):
        assert torch.equal(pictures[row, row], 2 * maps[row] - 1)
        assert not pictures[row, [other for other in range(8) if other != row]].any()


def test_wrong_inputs_and_settings_are_refused(by_depth, profile):
    with pytest.raises(ExpertError, match='"depth" must be an image, found nothing'):
        by_depth.run([{"text": TEXT, "edge": depth(0)}])
    with pytest.raises(ExpertError, match='"text" must be a text'):
        by_depth.run([{"depth": depth(0)}])
    with pytest.raises(ExpertError, match='"condition"'):
        load(profile.experts["depth_text_to_image"], condition="smell")


def test_weights_for_another_stable_diffusion_are_refused(profile, tmp_path):
    spec = profile.experts["depth_text_to_image"]
    for name in (spec.path.name, "text-to-image"):
        shutil.copytree(spec.path.parent / name, tmp_path / name)
    folder = tmp_path / spec.path.name
    index = json.loads((folder / "model_index.json").read_text())
    (folder / "model_index.json").write_text(json.dumps(index | {"base_digest": "0" * 64}))
    with pytest.raises(WeightsError, match="belong to others"):
        load_expert(spec=dataclasses.replace(spec, path=folder, weights_digest=weights_digest(folder)))


@pytest.mark.full
def test_pictures_follow_maps_of_depth(profile):
    expert = load(profile.experts["depth_text_to_image"], batch_size=8, steps=6)
    assert map_quality(expert=expert, kind=MapKind.DEPTH, count=24) >= 0.6


@pytest.mark.full
def test_the_text_says_the_background_and_not_the_map(profile):
    expert = load(profile.experts["edge_text_to_image"], batch_size=4, steps=6)
    record = draw_tableau(split=Split.VALIDATION, index=0, content=Content.THINGS)
    edges = Image.fromarray(edge_map(paint(record).owner))
    texts = [f"A red star is on a {name} background." for name in ("green", "dark blue", "sandy", "light blue")]
    corners = [
        np.asarray(result["image"])[:4, :4].mean(axis=(0, 1))
        for result in expert.run([{"text": text, "edge": edges} for text in texts])
    ]
    assert corners[0].argmax() == 1
    assert corners[1].mean() < 70
    assert corners[2].argmin() == 2
    assert corners[3].argmax() == 2
