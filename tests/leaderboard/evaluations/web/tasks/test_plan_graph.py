"""Drawings of plans, and a plan beside the gold plan, without a database."""

import pytest

from evaluator.core.plans.model import plan_to_json
from evaluator.core.suites.registry import suite_of
from evaluator.core.tools.catalogues import OPENAGI
from leaderboard.evaluations.web.tasks.plan_graph import NODE_WIDTH, Graph, Marks, differences, draw


def step(name: str, tool: str, inputs: dict[str, str], output: str = "image") -> dict:
    return {"id": name, "tool": tool, "inputs": inputs, "outputs": {output: f"{name}.{output}"}}


def overlaps(graph: Graph) -> list[tuple[str, str]]:
    boxes = [(node.x, node.y, node.x + node.width, node.y + node.height, node.tip) for node in graph.nodes]
    return [
        (one[4], other[4])
        for index, one in enumerate(boxes)
        for other in boxes[index + 1 :]
        if one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
    ]


def test_every_gold_plan_is_drawn_downwards_inside_its_frame_without_overlaps():
    for task in suite_of("openagi").tasks:
        resources = {name: str(kind) for name, kind in task.resources.items()}
        graph = draw(plan=plan_to_json(task.gold), catalogue=OPENAGI, resources=resources)
        assert len(graph.nodes) == len(task.gold.steps) + len(task.resources) + 1
        assert not overlaps(graph)
        assert all(node.x >= 0 and node.x + NODE_WIDTH <= graph.width for node in graph.nodes)
        assert all(node.y >= 0 and node.y + node.height <= graph.height for node in graph.nodes)
        assert not any(edge.broken for edge in graph.edges)
        assert {edge.label for edge in graph.edges} <= {"image", "text"}
        tops = {node.title: node.y for node in graph.nodes}
        assert tops["Answer"] == max(tops.values())


def test_the_failing_step_is_marked_with_its_problem_and_a_reference_that_nothing_makes_is_a_literal():
    plan = {"steps": [step("s1", "Colorization", {"image": "nowhere"})], "answers": ["s1.image"]}
    nodes = draw(plan=plan, marks=Marks(problems={"s1": "Type conflict"})).nodes
    assert [(node.title, node.sub) for node in nodes if node.failing] == [("Colorization", "Type conflict")]
    assert [node.title for node in nodes if node.kind == "literal"] == ['"nowhere"']


def test_a_cycle_is_drawn_with_one_broken_edge():
    plan = {
        "steps": [
            step("s1", "Colorization", {"image": "s2.image"}),
            step("s2", "Image Denoising", {"image": "s1.image"}),
        ],
        "answers": ["s2.image"],
    }
    graph = draw(plan=plan, catalogue=OPENAGI)
    assert [edge.broken for edge in graph.edges].count(True) == 1
    assert not overlaps(graph)


def test_edges_into_one_box_do_not_cross_whatever_the_order_of_its_inputs():
    plan = {
        "steps": [
            step("s1", "Image Denoising", {"image": "$image"}),
            step("s2", "Fill Mask", {"text": "$query"}, "text"),
            step("s3", "Visual Question Answering", {"text": "s2.text", "image": "s1.image"}, "text"),
        ],
        "answers": ["s3.text"],
    }
    graph = draw(plan=plan, catalogue=OPENAGI)
    ends = [
        (float(edge.path.removeprefix("M").split()[0]), edge.x)
        for edge in graph.edges
        if round(edge.y) == max(round(one.y) for one in graph.edges if one.label == "image")
    ]
    assert len(ends) == 2
    assert sorted(ends) == sorted(ends, key=lambda end: end[1])


def test_an_empty_plan_is_drawn_as_its_answer():
    assert [node.kind for node in draw(plan={"steps": [], "answers": ["$image"]}).nodes] == ["answer", "resource"]
    assert draw(plan={"steps": [], "answers": []}).nodes == ()


def test_plans_that_are_judged_are_drawn_with_their_texts_inside_the_steps():
    for task in suite_of("toolmini").tasks[::7]:
        graph = draw(
            plan=plan_to_json(task.gold),
            catalogue=suite_of("toolmini").catalogue,
            resources={name: str(kind) for name, kind in task.resources.items()},
            texts_inside=True,
        )
        kinds = [node.kind for node in graph.nodes]
        used = {value for step in task.gold.steps for value in step.inputs.values()} & set(task.resources)
        assert kinds.count("resource") == len(used), task.key
        assert "literal" not in kinds, task.key
        assert not overlaps(graph), task.key


def test_a_text_stands_in_its_step_and_a_reference_that_nothing_makes_beside_it():
    plan = {
        "steps": [
            step("s1", "text_to_image", {"text": "a red bird"}),
            step("s2", "image_to_edge", {"image": "<GEN>-7"}),
        ],
        "answers": ["s2.image"],
    }
    graph = draw(plan=plan, catalogue=suite_of("toolmini").catalogue, texts_inside=True)
    tips = {node.kind: node.tip for node in graph.nodes if node.kind != "step"}
    assert tips["literal"] == "<GEN>-7: nothing makes this"
    assert 'text_to_image: text "a red bird"' in [node.tip for node in graph.nodes]


def plan(*tools: str, answer: int = -1) -> dict:
    """A chain of tools on the request's image; the answer is the output of one of them."""
    steps = [
        {"id": f"s{place}", "tool": tool, "inputs": {"image": f"s{place - 1}.image" if place else "$image"},
         "outputs": {"image": f"s{place}.image"}}
        for place, tool in enumerate(tools)
    ]  # fmt: skip
    return {"steps": steps, "answers": [steps[answer]["outputs"]["image"]] if steps else ["$image"]}


def compare(mine: dict, gold: dict):
    return differences(plan=mine, gold=gold, resources={"image": "image"})


def test_steps_that_are_missing_and_steps_that_are_extra_are_marked_at_their_places():
    found = compare(plan("A", "X", "A"), plan("A", "B", "C"))
    assert found.extra == {1: "extra", 2: "extra"}
    assert found.missing == {1: "missing", 2: "missing"}
    assert found.sentences == ("Missing: B, C.", "Not in the gold plan: X, A.")


def test_a_tool_that_is_called_too_often_is_extra_from_there_on():
    found = compare(plan("A", "A", "A"), plan("A"))
    assert found.extra == {1: "extra", 2: "extra"}
    assert found.sentences == ("Not in the gold plan: A (2 times).",)


def test_the_same_steps_in_another_order_are_the_same_steps_connected_otherwise():
    found = compare(plan("A", "B"), plan("B", "A"))
    assert not found.extra
    assert not found.missing
    assert found.sentences == ("The same steps as the gold plan, connected in another way.",)
    assert compare(plan("A", "B", answer=0), plan("A", "B")).sentences == found.sentences


def test_ids_and_the_order_of_writing_do_not_matter():
    gold = plan("A", "B")
    renamed = {
        "steps": [
            {"id": "z", "tool": "B", "inputs": {"image": "y.image"}, "outputs": {"image": "z.image"}},
            {"id": "y", "tool": "A", "inputs": {"image": "$image"}, "outputs": {"image": "y.image"}},
        ],
        "answers": ["z.image"],
    }
    assert compare(renamed, gold).sentences == ("The same steps as the gold plan, connected in the same way.",)


def test_an_empty_plan_lacks_everything():
    found = compare(plan(), plan("A", "B"))
    assert found.missing == {0: "missing", 1: "missing"}
    assert found.sentences == ("Missing: A, B.",)


@pytest.mark.parametrize("slug", ["openagi", "toolmini"])
def test_every_gold_plan_is_like_itself(slug: str):
    for task in suite_of(slug).tasks:
        if task.gold is not None:
            gold = plan_to_json(task.gold)
            found = differences(plan=gold, gold=gold, resources=dict.fromkeys(task.resources, ""))
            assert found.sentences == ("The same steps as the gold plan, connected in the same way.",)
