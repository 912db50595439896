"""The experts of the profile `paper` for ControlLLM's tools, on small random checkpoints in their released layouts."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import DetrConfig

from evaluator.core.expert import InputError
from evaluator.core.sounds import sound_of
from evaluator.core.suites.registry import suite_of
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.core.tools.types import ResourceType
from evaluator.core.values import Box, Boxes, Clip, Label, Labels, Mask, Masks
from evaluator.execution.experts.poses import drawing
from evaluator.execution.experts.profile import load_expert, load_profile
from evaluator.execution.experts.released_maps import normals_of, scribble_of
from evaluator.execution.experts.released_segmentation import Candidates, config_of, distinct
from evaluator.execution.experts.weights import WeightsError
from tests.evaluator.execution.experts.paper.world import fetch_tools, small

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("one_thread")]

PROFILE = load_profile("paper")
TOOLS = tuple(tool for tool in PROFILE.experts if tool in CONTROLLLM.tools)
RELEASED = tuple(tool for tool in TOOLS if not PROFILE.experts[tool].id.startswith("rules/"))
SIZE = (52, 40)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    also = ("classification", "text-generation", "machine-translation")
    fetch_tools(folder=folder, mirror=tmp_path_factory.mktemp("mirror"), names=also)
    return folder


@pytest.fixture(scope="module")
def paper(cache):
    return small(load_profile("paper", weights=cache))


@pytest.fixture(scope="module")
def experts(paper):
    return {tool: load_expert(spec=paper.experts[tool]) for tool in TOOLS}


def picture(size=SIZE, *, seed=0):
    generator = np.random.default_rng(seed)
    return Image.fromarray(generator.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8))


def value_of(kind, *, size=SIZE, seed=0):
    """Something of a type of ControlLLM's."""
    if kind is ResourceType.TEXT:
        return "the red dog"
    if kind is ResourceType.VIDEO:
        return Clip(np.stack([np.asarray(picture(size, seed=seed + k)) for k in range(6)]))
    if kind is ResourceType.AUDIO:
        return sound_of(0.3 * np.sin(np.arange(8000) / (9 + seed)))
    if kind is ResourceType.BBOX:
        return Boxes(size, (Box("dog", 2, 3, 20, 30, 0.9),))
    if kind is ResourceType.CATEGORY:
        return Labels((Label("red dog", 0.9), Label("cat", 0.1)))
    if kind is ResourceType.MASK:
        pixels = np.zeros(size[::-1], dtype=np.bool_)
        pixels[5:20, 4:30] = True
        return Masks(size, (Mask("dog", pixels, 0.9),))
    return picture(size, seed=seed)


def item_of(tool, *, size=SIZE, seed=0):
    return {name: value_of(kind, size=size, seed=seed) for name, kind in CONTROLLLM[tool].inputs.items()}


def run(expert, *items):
    if hasattr(expert, "run_seeded"):
        return expert.run_seeded(batch=items, seeds=[7] * len(items))
    return expert.run(list(items))


def test_all_tools_of_right_plans_have_an_expert_or_a_reason():
    tools = {tool for task in suite_of("toolmini").tasks for tool in task.relevant_tools or ()}
    assert len(tools) == 38
    assert tools - set(PROFILE.experts) == {"openai_chat_model"} == set(PROFILE.unavailable)


class TestFinding:
    def test_boxes_are_sorted_and_lie_in_the_picture(self, paper):
        spec = replace(paper.experts["object_detection"], parameters={"threshold": 0.0})
        (result,) = run(load_expert(spec=spec), {"image": picture()})
        boxes = result["object"]
        assert len(boxes.items) == 5
        assert [box.score for box in boxes.items] == sorted((box.score for box in boxes.items), reverse=True)
        assert all(
            0 <= box.left <= box.right <= SIZE[0] and 0 <= box.top <= box.bottom <= SIZE[1] for box in boxes.items
        )
        assert {box.label for box in boxes.items} <= {"N/A", "person", "cat"}

    def test_segments_have_names_and_share_no_pixel(self, paper):
        spec = replace(paper.experts["image_instance_segmentation"], parameters={"threshold": 0.0})
        expert = load_expert(spec=spec)
        # Of a random model no query covers half of what it would cover alone.
        expert._segments = lambda *_, **__: [
            {"segmentation": torch.arange(2).repeat(SIZE[1], SIZE[0] // 2), "segments_info": [
                {"id": 0, "label_id": 1, "score": 0.4}, {"id": 1, "label_id": 3, "score": 0.9}]}
        ] * 2  # fmt: skip
        (result,) = run(expert, {"image": picture()})
        masks = result["mask"]
        assert [mask.label for mask in masks.items] == ["sky", "person"], "the surest first"
        assert not (masks.items[0].pixels & masks.items[1].pixels).any()

    def test_as_many_masks_as_findings_may_hold(self, experts, monkeypatch):
        monkeypatch.setattr("evaluator.execution.experts.released_segmentation.MOST_PIXELS", 2 * SIZE[0] * SIZE[1])
        from evaluator.execution.experts.released_segmentation import _masks

        results = [("cat", score, np.ones(SIZE[::-1], dtype=np.bool_)) for score in (0.2, 0.9, 0.5)]
        assert [mask.score for mask in _masks(results, image=picture()).items] == [0.9, 0.5]

    def test_a_released_configuration_without_a_backbone_of_transformers_means_a_resnet_50(self):
        config = config_of({"backbone": "resnet50", "d_model": 256, "dilation": False, "model_type": "detr"})
        assert isinstance(config, DetrConfig)
        assert config.backbone_config.model_type == "resnet"
        assert list(config.backbone_config.depths) == [3, 4, 6, 3]
        assert list(config.backbone_config.out_features) == ["stage1", "stage2", "stage3", "stage4"]

    def test_of_masks_in_nearly_one_box_the_surest_stays(self):
        logits = torch.full((3, 8, 8), -1.0)
        logits[0, :4], logits[1, :4, :7], logits[2, 5:] = 1.0, 2.0, 3.0
        kept = distinct(Candidates(logits=logits, scores=torch.tensor([0.5, 0.9, 0.7])))
        assert [float(one.max()) for one in kept] == [2.0, 3.0]

    def test_grounded_boxes_are_called_as_asked_without_the_article(self, paper):
        expert = load_expert(spec=replace(paper.experts["visual_grounding"], parameters={"threshold": 0.0}))
        (result,) = run(expert, {"image": picture(), "query": "The red dog"})
        assert {box.label for box in result["bbox"].items} == {"red dog"}
        with pytest.raises(InputError, match="is empty"):
            run(expert, {"image": picture(), "query": "  "})

    def test_people_are_drawn_in_colours_on_black(self, experts, paper):
        expert = load_expert(spec=replace(paper.experts["image_to_pose"], parameters={"threshold": -9.0}))
        expert._detector._threshold = 0.0
        expert._detector._names = dict.fromkeys(expert._detector._names, "person")
        (result,) = run(expert, {"image": picture()})
        assert len(set(result["pose"].get_flattened_data())) > 5
        expert._detector._names = dict.fromkeys(expert._detector._names, "cat")
        assert run(expert, {"image": picture()})[0]["pose"].getextrema() == ((0, 0),) * 3

    def test_a_joint_that_is_not_seen_has_no_limb(self):
        joints = [None] * 18
        joints[0] = (20.0, 20.0)
        assert drawing([joints], size=(64, 64)).getpixel((20, 20)) == (255, 0, 0)
        joints[1] = (20.0, 50.0)
        assert drawing([joints], size=(64, 64)).getpixel((20, 35)) != (0, 0, 0)


class TestMaps:
    def test_a_slope_to_the_right_is_red_and_the_background_flat(self):
        ramp = np.tile(np.linspace(0, 10, 20, dtype=np.float32), (8, 1))
        normals = normals_of(ramp)
        assert tuple(normals[4, 2]) == (127, 127, 255), "far away"
        assert normals[4, 15, 0] > 140
        assert normals[4, 15, 1] == 127

    def test_a_scribble_follows_the_ridge_of_an_edge(self):
        edges = np.zeros((60, 60), dtype=np.float32)
        edges[:, 26:34] = 1.0
        strokes = scribble_of(edges)
        assert set(np.unique(strokes)) == {0.0, 1.0}
        assert strokes[:, 30].all()
        assert not strokes[:, :10].any()

    @pytest.mark.parametrize("tool", [tool for tool in RELEASED if tool.endswith("_text_to_image")])
    def test_a_picture_drawn_along_a_map_depends_on_map_and_words(self, experts, tool):
        item = item_of(tool)
        kind = next(name for name in item if name != "text")
        results = [
            run(experts[tool], one)[0]["image"]
            for one in (item, {**item, "text": "a blue cat"}, {**item, kind: picture(seed=9)})
        ]
        assert [one.size for one in results] == [SIZE] * 3
        assert len({one.tobytes() for one in results}) == 3


class TestWriting:
    def test_a_question_brings_in_no_second_picture(self, experts):
        expert = experts["image_question_answering"]
        count = expert.ids("a <image> b <image>").count(expert._image_token)
        assert count == expert._places == 16

    def test_captions_ask_the_question_of_the_profile(self, experts, monkeypatch):
        expert, asked = experts["image_captioning"], []
        ids = expert.ids
        monkeypatch.setattr(expert, "ids", lambda question: asked.append(question) or ids(question))
        run(expert, {"image": picture()})
        assert "Please describe the image in details." in asked


class TestDrawing:
    @pytest.mark.parametrize("tool", ["image_inpainting", "partial_image_editing"])
    def test_outside_the_grown_mask_every_pixel_stays(self, experts, tool):
        item = item_of(tool)
        (result,) = run(experts[tool], item)
        before, after = (np.asarray(one, dtype=np.int64) for one in (item["image"], result["image"]))
        changed = (before != after).any(axis=-1)
        assert changed[10:15, 10:20].any()
        assert not changed[:, 40:].any()
        assert not changed[30:].any()


def test_an_expert_whose_base_was_altered_is_refused(paper, cache):
    spec = paper.experts["edge_text_to_image"]
    with pytest.raises(WeightsError, match="are not those of the profile"):
        load_expert(spec=replace(spec, base_digest="0" * 64))
    other = replace(
        spec, base=cache / "text-to-text", base_digest=paper.experts["text_to_text_generation"].weights_digest
    )
    with pytest.raises(WeightsError, match="there is no StableDiffusionControlNetPipeline"):
        load_expert(spec=other)
