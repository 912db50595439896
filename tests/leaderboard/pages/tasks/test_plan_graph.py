"""Drawing plans."""

from evaluator.plans import plan_to_json
from evaluator.suites.registry import suite_of
from evaluator.tools.openagi import OPENAGI
from leaderboard.pages.tasks.plan_graph import NODE_WIDTH, Graph, draw
from leaderboard.pages.tasks.plan_reading import Marks


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
        check_drawn(task)


def check_drawn(task) -> None:
    graph = draw(
        plan=plan_to_json(task.gold),
        catalogue=OPENAGI,
        resources={name: str(kind) for name, kind in task.resources.items()},
    )
    assert len(graph.nodes) == len(task.gold.steps) + len(task.resources) + 1
    assert not overlaps(graph)
    assert all(node.x >= 0 and node.x + NODE_WIDTH <= graph.width for node in graph.nodes)
    assert all(node.y >= 0 and node.y + node.height <= graph.height for node in graph.nodes)
    assert not any(edge.broken for edge in graph.edges)
    assert {edge.label for edge in graph.edges} <= {"image", "text"}
    tops = {node.title: node.y for node in graph.nodes}
    assert tops["Answer"] == max(tops.values())


def test_the_failing_step_is_marked_with_its_problem():
    plan = {"steps": [step("s1", "Colorization", {"image": "$image"})], "answers": ["s1.image"]}
    graph = draw(plan=plan, marks=Marks(problems={"s1": "Type conflict"}))
    assert [(node.title, node.sub) for node in graph.nodes if node.failing] == [("Colorization", "Type conflict")]


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


def test_references_that_nothing_makes_are_drawn_as_literals():
    plan = {"steps": [step("s1", "Colorization", {"image": "nowhere"})], "answers": ["s1.image"]}
    assert [node.title for node in draw(plan=plan).nodes if node.kind == "literal"] == ['"nowhere"']


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
