"""The tool graph follows from the signatures, and its drawing is whole and legible."""

from types import MappingProxyType
from xml.etree import ElementTree

import pytest

from evaluator.tools import CONTROLLLM, OPENAGI, Catalogue, ResourceType, Tool, tool_graph, tools_graph_svg

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
