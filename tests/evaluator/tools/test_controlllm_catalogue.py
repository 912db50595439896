"""ControlLLM's catalogue says what the released tool list says."""

import json
from pathlib import Path

import pytest

from evaluator.tools import CONTROLLLM, ResourceType

RELEASED = Path(__file__).resolve().parents[4] / "shared" / "data" / "controlllm" / "tools.json"


def released():
    if not RELEASED.exists():
        pytest.skip(f"the released tool list is not here ({RELEASED})")
    return json.loads(RELEASED.read_text(encoding="utf-8"))


def typed(rows):
    return {row["name"]: row["type"].removeprefix("image.") for row in rows}


def test_names_domains_and_signatures_are_the_released_ones():
    for raw in released():
        tool = CONTROLLLM[raw["name"]]
        assert tool.domain == raw["domain"]
        assert list(tool.inputs.items()) == list(typed(raw["args"]).items())
        assert list(tool.outputs.items()) == list(typed(raw["returns"]).items())


def test_only_the_two_known_tools_are_added_to_the_released_list():
    assert set(CONTROLLLM.tools) - {raw["name"] for raw in released()} == {"mask_image", "speech_to_text"}


def test_no_description_is_copied():
    said = {raw["description"].strip().casefold().rstrip(".") for raw in released()}
    assert not [tool.name for tool in CONTROLLLM.tools.values() if tool.description.casefold().rstrip(".") in said]


def test_there_are_sixty_tools_and_mask_image():
    assert len(CONTROLLLM.tools) == 61
    mask_image = CONTROLLLM["mask_image"]
    assert mask_image.domain == "image-editing"
    assert mask_image.inputs == {"image": ResourceType.IMAGE, "mask": ResourceType.MASK}
    assert mask_image.outputs == {"image": ResourceType.IMAGE}


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("question_answering", "openai_chat_model"),
        ("instance_segmentation", "image_instance_segmentation"),
        ("segment_by_points", "image_segmentation_by_points"),
        ("mask_image", "mask_image"),
        ("audio_to_Audio", None),
    ],
)
def test_the_papers_spellings_lead_to_the_tools(written, name):
    assert CONTROLLLM.canonical(written) == name


def test_no_alias_is_another_tools_name():
    aliases = [alias for tool in CONTROLLLM.tools.values() for alias in tool.aliases]
    assert len(aliases) == len(set(aliases))
    assert not set(aliases) & set(CONTROLLLM.tools)
