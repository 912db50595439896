"""Rules of every expert: of the shipped ones, and of those of the profile `paper` on small random checkpoints."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from PIL import Image

from evaluator.core.expert import ExpertError, InputError
from evaluator.core.sounds import Sound, sound_of
from evaluator.core.tools.catalogues import CONTROLLLM, OPENAGI
from evaluator.core.tools.types import ResourceType, Tool
from evaluator.core.values import Box, Boxes, Clip, Label, Labels, Mask, Masks, decode, encode
from evaluator.execution.experts.profile import Profile, load_expert, load_profile
from evaluator.miniature.seeds import Split
from evaluator.miniature.tableaux.drawing import Content, draw_tableau, paint

FEW = {
    "lilliput": (
        "Image Super Resolution", "Colorization", "Object Detection", "Machine Translation", "Question Answering",
        "Fill Mask", "Visual Question Answering", "select_bbox", "image_cropping", "video_classification",
        "image_to_depth", "partial_image_editing", "image_segmentation_by_points", "visual_grounding",
        "depth_text_to_image", "optical_character_recognition", "text_to_tags",
    ),
    "paper": ("Image Denoising", "Image Captioning", "Text Summarization", "Question Answering", "Object Detection"),
}  # fmt: skip
"""The tools of each run: of each kind of network and of each rule one."""
SIZE = (64, 64)
LANGUAGE = ("Machine Translation", "Text Summarization", "Text Generation", "Fill Mask", "Question Answering",
            "Sentiment Analysis")  # fmt: skip
CLASSES = {
    ResourceType.TEXT: str,
    ResourceType.TITLE: str,
    ResourceType.LOCATION: str,
    ResourceType.BBOX: Boxes,
    ResourceType.CATEGORY: Labels,
    ResourceType.TAGS: Labels,
    ResourceType.MASK: Masks,
    ResourceType.VIDEO: Clip,
    ResourceType.AUDIO: Sound,
}


@dataclass(frozen=True)
class World:
    """A profile, and the tools whose experts are looked at."""

    profile: Profile
    tools: tuple[str, ...]

    def expert(self, tool, **changes):
        from evaluator.execution.experts.pretrained import forget_networks

        forget_networks()
        return load_expert(spec=replace(self.profile.experts[tool], **changes))


@pytest.fixture(scope="module", params=["lilliput", "paper"])
def world(request, full, tmp_path_factory, one_thread):
    profile = load_profile(request.param)
    tools = tuple(profile.experts) if full else FEW[request.param]
    if request.param == "paper":
        from tests.evaluator.execution.experts.paper.world import fetch_checkpoints, names_for, small

        folder = tmp_path_factory.mktemp("cache")
        fetch_checkpoints(folder=folder, mirror=tmp_path_factory.mktemp("mirror"), names=names_for(profile, tools))
        profile = small(load_profile("paper", weights=folder))
    else:
        experts = {
            tool: replace(spec, batch_size=2, parameters=dict(spec.parameters) | ({"steps": 2} if spec.samples else {}))
            for tool, spec in profile.experts.items()
        }
        profile = replace(profile, experts=experts)
    return World(profile=profile, tools=tools)


@pytest.fixture(scope="module")
def experts(world):
    return {tool: world.expert(tool) for tool in world.tools}


def signature(tool: str) -> Tool:
    return OPENAGI[tool] if tool in OPENAGI.tools else CONTROLLLM[tool]


def picture(*, seed, size=SIZE):
    record = draw_tableau(split=Split.VALIDATION, index=seed, content=Content.FIGURE if seed % 2 else Content.THINGS)
    return Image.fromarray(paint(record).pixels).resize(size)


def value_of(kind, *, seed=0, size=SIZE):
    """Something of a type, on a picture of this size."""
    match kind:
        case ResourceType.TEXT:
            return ("A red star is on a <mask> background.", "Who bought it?", "Anna lost a [MASK] in the mill.")[seed]
        case ResourceType.VIDEO:
            return Clip(np.stack([np.asarray(picture(seed=seed + number, size=size)) for number in range(6)]))
        case ResourceType.AUDIO:
            return sound_of(0.3 * np.sin(np.arange(8000 + 999 * seed) / (9 + seed)))
        case ResourceType.BBOX:
            return Boxes(size, (Box("red star", 0, 0, size[0] / (seed + 1), size[1], 0.9),))
        case ResourceType.CATEGORY:
            return Labels((Label("red star", 0.9), Label("cat", 0.1 * seed)))
        case ResourceType.MASK:
            pixels = np.zeros(size[::-1], dtype=np.bool_)
            pixels[size[1] // 3 : size[1] // 2 + 1, seed : size[0] // 2 + 1] = True
            return Masks(size, (Mask("red star", pixels, 0.9),))
        case ResourceType.POINT:
            return f"{size[0] // 2},{size[1] // 2}"
    return picture(seed=seed, size=size)


def item_of(tool, *, seed=0, size=SIZE):
    return {name: value_of(kind, seed=seed, size=size) for name, kind in signature(tool).inputs.items()}


def run(expert, *items, seeds=(7, 8, 9)):
    if hasattr(expert, "run_seeded"):
        return expert.run_seeded(batch=items, seeds=list(seeds[: len(items)]))
    return expert.run(list(items))


def as_bytes(outputs):
    return {name: encode(value) for name, value in outputs.items()}


def test_outputs_have_the_types_of_the_signature_and_can_be_stored(experts):
    wrong = {}
    for tool, expert in experts.items():
        (result,) = run(expert, item_of(tool))
        wanted = signature(tool).outputs
        # What an image shows beside its objects is for people.
        if set(result) - ({"boxes"} if tool == "Object Detection" else set()) != set(wanted):
            wrong[tool] = set(result)
        for name, kind in wanted.items():
            right = isinstance(result[name], CLASSES.get(kind, Image.Image))
            if not right or encode(decode(encode(result[name]))) != encode(result[name]):
                wrong[tool] = result[name]
    assert wrong == {}


def test_an_item_depends_on_itself_and_its_seed_alone(experts):
    wrong = {}
    for tool, expert in experts.items():
        items = [item_of(tool, seed=seed) for seed in range(3)]
        together = [as_bytes(one) for one in run(expert, *items)]
        alone = [as_bytes(run(expert, item, seeds=(seed,))[0]) for item, seed in zip(items, (7, 8, 9), strict=True)]
        backwards = [as_bytes(one) for one in run(expert, *items[::-1], seeds=(9, 8, 7))]
        if not together == alone == backwards[::-1]:
            wrong[tool] = "other items change a result"
        if run(expert) != []:
            wrong[tool] = "an empty batch is work"
        if hasattr(expert, "run_seeded") and as_bytes(run(expert, items[0], seeds=(1,))[0]) == together[0]:
            wrong[tool] = "the seed does not matter"
    assert wrong == {}


def test_a_wrong_kind_of_input_is_an_error_that_says_why(experts):
    wrong = {}
    for tool, expert in experts.items():
        for name, kind in signature(tool).inputs.items():
            texts = kind in (ResourceType.TEXT, ResourceType.POINT)
            for given in ({}, {name: picture(seed=0) if texts else "a text"}):
                item = {key: value for key, value in item_of(tool).items() if key != name} | given
                try:
                    wrong[tool, name] = run(expert, item)
                except ExpertError as error:
                    if "must be " not in str(error):
                        wrong[tool, name] = str(error)
    assert wrong == {}


def test_pictures_of_any_size_are_taken(world, experts):
    factor = {"Image Super Resolution": 4 if world.profile.name == "lilliput" else 2}
    wrong = {}
    for tool, expert in experts.items():
        if "image" not in signature(tool).inputs:
            continue
        for size in ((1, 1), (5, 70), (90, 3)):
            try:
                (result,) = run(expert, item_of(tool, size=size))
            except InputError as error:
                if "question" not in tool.lower() or size != (90, 3) or "too thin" not in str(error):
                    wrong[tool, size] = str(error)
                continue
            for name, kind in signature(tool).outputs.items():
                value = result[name]
                is_kept = isinstance(value, Boxes | Masks) or (tool in OPENAGI.tools and kind is ResourceType.IMAGE)
                if is_kept and value.size != tuple(side * factor.get(tool, 1) for side in size):
                    wrong[tool, size] = value.size
    assert wrong == {}


def test_blank_long_and_strange_texts_give_a_text(experts):
    wrong = {}
    for tool, expert in experts.items():
        if tool not in LANGUAGE:
            continue
        for text in ("", " ", "word " * 300, "Ein Wörterbuch? 3,14 - 東京!", "x"):
            (result,) = expert.run([dict.fromkeys(signature(tool).inputs, text)])
            if not isinstance(result["text"], str):
                wrong[tool, text] = result
    assert wrong == {}


def test_nothing_in_an_expert_is_random(world, experts):
    """A parameter that the released file names otherwise would be left as it was initialised."""
    import torch

    wrong = {}
    for tool in [tool for tool in world.tools if not world.profile.experts[tool].id.startswith("rules/")]:
        torch.manual_seed(1)
        first, again = (run(one, item_of(tool))[0] for one in (experts[tool], world.expert(tool)))
        if as_bytes(first) != as_bytes(again):
            wrong[tool] = first
    assert wrong == {}


def test_a_loaded_expert_computes_in_batches_of_another_size_like_one_loaded_for_it(world, experts):
    """So that halving a batch for lack of memory loads nothing."""
    wrong, sized = {}, {tool: expert for tool, expert in experts.items() if hasattr(expert, "batch_size")}
    for tool, expert in sized.items():
        before, expert.batch_size = expert.batch_size, 1
        try:
            (result,) = run(expert, item_of(tool))
        finally:
            expert.batch_size = before
        if as_bytes(result) != as_bytes(run(world.expert(tool, batch_size=1), item_of(tool))[0]):
            wrong[tool] = result
    assert wrong == {}
    assert len(sized) > len(experts) / 2


@pytest.mark.full
@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_low_precision_is_what_the_model_computes_in(world, precision):
    import torch

    wrong = {}
    for tool in world.tools:
        if world.profile.experts[tool].id.startswith("rules/"):
            continue
        expert = world.expert(tool, precision=precision)
        networks = expert._pipeline.components.values() if hasattr(expert, "_pipeline") else [expert._model]
        networks = [one for one in networks if isinstance(one, torch.nn.Module)]
        results = {value.dtype for network in networks for value in network.parameters()}
        # T5's own code keeps one layer of each block in float32 when the rest is float16, which would overflow there.
        if results - {torch.float32} != {getattr(torch, precision)} or not run(expert, item_of(tool)):
            wrong[tool] = results
    assert wrong == {}
