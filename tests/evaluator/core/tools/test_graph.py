"""The tool graph follows from the signatures, and its drawing is whole and legible."""

import json
from pathlib import Path
from types import MappingProxyType
from xml.etree import ElementTree

import pytest

from evaluator.core.tools.catalogues import CONTROLLLM, OPENAGI
from evaluator.core.tools.graph import tool_graph, tools_graph_svg
from evaluator.core.tools.types import Catalogue, ResourceType, Tool

SVG = "{http://www.w3.org/2000/svg}"
CATALOGUES = pytest.mark.parametrize("catalogue", [OPENAGI, CONTROLLLM], ids=lambda catalogue: catalogue.name)


def test_edges_are_those_of_the_signatures():
    graph = tool_graph(CONTROLLLM)
    assert len(graph.tools) == 61
    assert set(graph.resources) == set(ResourceType)
    assert graph.tools_taking(ResourceType.BBOX) == (
        "highlight_object_on_image",
        "image_cropping",
        "select_bbox",
        "count_objects",
    )
    assert graph.tools_giving(ResourceType.BBOX) == ("object_detection", "visual_grounding", "select_bbox")
    assert (ResourceType.MASK, "mask_image") in graph.takes
    assert ("mask_image", ResourceType.IMAGE) in graph.gives


def test_what_can_be_made_follows_from_what_is_there():
    graph = tool_graph(CONTROLLLM)
    from_video = graph.reachable([ResourceType.VIDEO])
    assert {ResourceType.CATEGORY, ResourceType.TEXT, ResourceType.IMAGE, ResourceType.WEATHER} <= from_video
    assert ResourceType.POINT not in from_video
    assert graph.reachable([ResourceType.BBOX]) >= {ResourceType.BBOX, ResourceType.TEXT}
    assert graph.reachable([]) == frozenset()


@CATALOGUES
def test_the_drawing_has_a_box_for_each_tool_and_a_line_for_each_edge(catalogue):
    graph = tool_graph(catalogue)
    root = ElementTree.fromstring(tools_graph_svg(catalogue))
    written = [text.text for text in root.iter(f"{SVG}text")]
    assert [name for name in written if name in catalogue] == list(catalogue.tools)
    assert len(list(root.iter(f"{SVG}path"))) == len(graph.takes) + len(graph.gives)
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert titles[0] == f"Tool graph of {catalogue.name}"
    assert all(any(title.startswith(f"{name}: ") for title in titles) for name in catalogue.tools)


def test_names_are_escaped_and_an_empty_catalogue_is_drawn():
    tool = Tool("a<b & c", "x>y", 'Says "no".', {"t": ResourceType.TEXT}, {"t": ResourceType.TEXT})
    odd = Catalogue(name="<odd>", tools=MappingProxyType({tool.name: tool}))
    root = ElementTree.fromstring(tools_graph_svg(odd))
    assert tool.name in [text.text for text in root.iter(f"{SVG}text")]
    empty = Catalogue(name="empty", tools=MappingProxyType({}))
    assert ElementTree.fromstring(tools_graph_svg(empty)).find(f"{SVG}path") is None


RELEASED = Path(__file__).resolve().parents[5] / "shared" / "data" / "controlllm" / "tools.json"


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
