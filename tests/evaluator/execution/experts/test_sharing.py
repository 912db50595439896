"""Experts with equal weights share their networks, and compute what they compute alone."""

import gc
import weakref

import pytest

from evaluator.execution.experts.profile import load_expert
from evaluator.execution.random_weights.building import Size, random_profile
from tests.evaluator.execution.experts.test_every_expert import as_bytes, item_of, run

CONTROLLED = ("hed_text_to_image", "depth_text_to_image")
SAME = ("image_question_answering", "image_captioning")
"""Two tools with one LLaVA."""
MAPS = ("image_to_hed", "image_to_scribble")


@pytest.fixture(scope="module")
def paper(tmp_path_factory, one_thread):
    folder = tmp_path_factory.mktemp("weights")
    tools = (*CONTROLLED, *SAME, *MAPS, "image_inpainting", "partial_image_editing")
    return random_profile("paper", folder=folder, size=Size.SMALL, tools=tools, scorers=()).experts


def alone(spec):
    from evaluator.execution.experts.pretrained import forget_networks

    forget_networks()
    return as_bytes(run(load_expert(spec=spec), item_of(spec.tool))[0])


@pytest.mark.parametrize("tools", [CONTROLLED, SAME, MAPS, ("image_inpainting", "partial_image_editing")])
def test_experts_share_networks_and_compute_the_same_as_alone(paper, tools):
    wanted = [alone(paper[tool]) for tool in tools]
    first, second = (load_expert(spec=paper[tool]) for tool in tools)
    if hasattr(first, "_pipeline"):
        for part in ("unet", "vae", "text_encoder"):
            assert getattr(first._pipeline, part) is getattr(second._pipeline, part)
        if tools == CONTROLLED:
            assert first._pipeline.controlnet is not second._pipeline.controlnet
    else:
        assert first._model is second._model
    for _ in range(2):
        assert [
            as_bytes(run(expert, item_of(tool))[0]) for expert, tool in zip((first, second), tools, strict=True)
        ] == wanted


def test_another_precision_is_another_network(paper):
    from dataclasses import replace

    first, second = (load_expert(spec=replace(paper[SAME[0]], precision=name)) for name in ("float32", "bfloat16"))
    assert first._model is not second._model


def test_a_network_is_freed_with_its_last_expert(paper):
    first, second = (load_expert(spec=paper[tool]) for tool in SAME)
    network = weakref.ref(first._model)
    del first
    gc.collect()
    assert network() is second._model
    del second
    gc.collect()
    assert network() is None
