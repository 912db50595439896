"""Plans that say the right words without solving the request do not get their points."""

from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.controlllm.toolbench import judging
from evaluator.controlllm.toolbench.indicators import judge_plan
from evaluator.controlllm.toolbench.judging import judge_digest
from evaluator.controlllm.toolbench.meaning.verdict import Verdict
from evaluator.core.plans.model import Plan, Step
from evaluator.core.suites.registry import suite_of
from evaluator.scoring.arbiters.base import Settled
from tests.evaluator.controlllm.toolbench.test_indicators import CONTROLLLM, ERASE, GOLD, judged, plan, request, subtask
from tests.rings import usual

SEEN = request(
    "Identify all objects in yard_image.png, especially the prayer rug",
    subtask(
        0, "Recognize all objects in yard_image.png", "image-perception", [("image", "yard_image.png")], "category"
    ),
)
WORN = request(
    "In yard_image.png, what is the jockey wearing?",
    subtask(0, "Answer questions based on image", "visual-question-answering",
            [("image", "yard_image.png"), ("text", "what is the jockey wearing?")], "text"),
)  # fmt: skip
VQA = "image_question_answering"


def is_literal(value, *, task, made):
    return value not in task.files and value not in made


def with_literals(task, text, *, only=""):
    """The gold plan with every literal, or that of one argument, replaced."""
    made = {reference for step in task.gold.steps for reference in step.outputs.values()}
    steps = [
        replace(
            step,
            inputs={
                name: text if is_literal(value, task=task, made=made) and only in {"", name} else value
                for name, value in step.inputs.items()
            },
        )
        for step in task.gold.steps
    ]
    return Plan(steps=tuple(steps), answers=task.gold.answers)


def asking(task, question):
    steps = [
        Step(f"s{number}", VQA, {"image": file, "text": question}, {"response": f"s{number}.response"})
        for number, file in enumerate(task.files)
    ]
    return Plan(steps=tuple(steps), answers=())


def mean(values):
    values = list(values)
    return sum(values) / len(values)


@pytest.mark.parametrize("slug", usual(["tool100", "tool2k"], of=["tool100"]))
def test_whole_requests_as_literals_solve_a_quarter_at_most(suites, slug):
    if slug not in suites:
        assert set(suites) == {"toolmini"}
        return
    tasks = [task for task in suites[slug].tasks if task.goal is not None]
    assert mean(judged(task, with_literals(task, task.text)).SE for task in tasks) <= 0.25
    assert mean(judged(task, asking(task, task.text)).SE for task in tasks) <= 0.10
    single = [
        task
        for task in tasks
        if len(task.goal.parts) == 1 and any("condition" in step.inputs for step in task.gold.steps)
    ]
    assert mean(judged(task, with_literals(task, task.text, only="condition")).SE for task in single) <= 0.02


def test_a_question_about_a_bicycle_recognises_nothing_else(suites):
    for suite in suites.values():
        for task in suite.tasks:
            if task.goal is not None and [part.kind for part in task.goal.parts] == ["recognise"]:
                assert ("bicycle" in task.goal.parts[0].target) == judged(task, asking(task, "Is there a bicycle?")).SE


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Is there a prayer rug?", 0),
        ("What objects are in the image?", 1),
        ("What objects are in the image, especially the prayer rug?", 1),
        ("Is there a bicycle?", 0),
        ("What colour is the prayer rug?", 0),
    ],
)
def test_a_list_that_stresses_an_object_is_asked_for_with_it_or_without(question, expected):
    assert SEEN.goal.parts[0].target == "prayer rug"
    assert expected == judged(SEEN, plan((VQA, {"image": "yard_image.png", "text": question}))).SE


def test_undecided_is_neither_solved_nor_unsolved_and_says_why():
    found = judged(WORN, plan((VQA, {"image": "yard_image.png", "text": "Which silks does the jockey sport?"})))
    assert found.SE == 0
    (pair,) = found.undecided
    assert pair.wanted == "what is the jockey wearing?"
    assert "sport" in pair.why
    assert "undecided" in found.why["SE"]
    calls = plan((VQA, {"image": "yard_image.png", "text": "Which silks does the jockey sport?"}))
    for verdict, expected in [(Verdict.SAME, 1), (Verdict.DIFFERENT, 0)]:
        settled = judge_plan(
            plan=calls, goal=WORN.goal, catalogue=CONTROLLLM, files=WORN.files, settle=lambda pair, said=verdict: said
        )
        assert (settled.SE, settled.undecided) == (expected, ())


@pytest.mark.parametrize(
    ("question", "decided"),
    [("what is the jockey wearing?", 1), ("what is the jockey in yard_image.png wearing?", 1), (WORN.text, 0)],
)
def test_the_whole_request_is_left_undecided_as_a_question_to_one_of_its_files(question, decided):
    found = judged(WORN, plan((VQA, {"image": "yard_image.png", "text": question})))
    assert (found.SE, bool(found.undecided)) == (decided, not decided)


def test_nobody_is_asked_about_what_the_rules_decide():
    def refuse(pair):
        assert pair.refused, pair
        return Verdict.UNDECIDED

    for question in ("what is the jockey wearing?", "What does the jockey have on?", "How many jockeys are there?"):
        calls = plan((VQA, {"image": "yard_image.png", "text": question}))
        judge_plan(plan=calls, goal=WORN.goal, catalogue=CONTROLLLM, files=WORN.files, settle=refuse)


@pytest.mark.parametrize("name", ["mask", "bbox", "image", "x"])
def test_an_output_keeps_its_type_whatever_it_is_called(name):
    """Boxes are no mask, also if the plan calls them so."""
    steps = (
        Step("s1", "object_detection", {"image": "sky_image.png"}, {name: "s1.out"}),
        Step("s2", "image_inpainting", {"image": "sky_image.png", "mask": "s1.out"}, {"image": "s2.image"}),
    )
    assert judged(ERASE, Plan(steps=steps, answers=())).CR == 0


def test_making_a_given_mask_again_solves_but_is_irrelevant():
    again = plan(
        ("image_instance_segmentation", {"image": "sky_image.png"}),
        ("select_mask", {"mask_list": "#0", "condition": "kite"}),
        ("image_inpainting", {"image": "sky_image.png", "mask": "#1"}),
    )
    assert judged(ERASE, again).indicators() == GOLD | {"IR": 1}
    other = plan(
        ("image_instance_segmentation", {"image": "sky_image.png"}),
        ("select_mask", {"mask_list": "#0", "condition": "dog"}),
        ("image_inpainting", {"image": "sky_image.png", "mask": "#1"}),
    )
    assert judged(ERASE, other).indicators() == GOLD | {"IR": 1, "SE": 0}


def test_the_digest_follows_from_the_sources_the_lexicon_and_wordnet(monkeypatch):
    own = judge_digest()
    folder = Path(judging.__file__).parent
    assert len([file for file in judging._files(folder / "meaning") if file.suffix == ".toml"]) == 7
    assert folder / "goals" / "goal.py" in judging._files(folder / "goals")
    read_text = Path.read_text
    for name in ("asks.toml", "goal.py", "terms.py", "planning.py"):

        def with_one_more_word(path, *, changed=name, **how):
            return read_text(path, **how) + ("#" if path.name == changed else "")

        monkeypatch.setattr(Path, "read_text", with_one_more_word)
        assert judging.judge_digest.__wrapped__() != own, name
    monkeypatch.setattr(Path, "read_text", read_text)
    assert judging.judge_digest.__wrapped__() == own
    monkeypatch.setattr(Path, "read_bytes", lambda path: path.name.encode())
    assert judging.judge_digest.__wrapped__() != own


def test_the_network_overturns_a_refusal_of_the_rules_and_nothing_else(monkeypatch):
    asked = []

    class Sure:
        """A network that is certain of everything that it is asked."""

        def settle(self, questions):
            asked.extend(questions)
            return [Settled(verdict="same", answers=("1.0000",)) for _ in questions]

    monkeypatch.setattr(judging, "shipped_network", Sure)
    suite = suite_of("toolmini")
    task = next(task for task in suite.tasks if [step.tool for step in task.gold.steps] == [VQA])
    step = task.gold.steps[0]
    image = step.inputs["image"]

    def judged_with(**changed):
        asked.clear()
        value = {"plan": [{"tool": VQA, "inputs": {**step.inputs, **changed}, "outputs": ["<GENERATED>-0"]}]}
        return judging.judge(suite=suite, task=task, value=value)

    refused = f"{step.inputs['text'].rstrip('?')}, apart from the dog?"
    other = judged_with(text=refused)
    assert (other.indicators["SE"], other.indicators["SE_high"], other.indicators["decided_by_network"]) == (1, 1, 1)
    assert [pair.by for pair in other.pairs] == ["network"] * len(other.pairs)
    assert [question.refused for question in asked] == [True]
    for hopeless in (
        {"text": "the object"},
        {"text": f"What is in {image}?"},
        {"text": task.text},
        {"image": "elsewhere.png", "text": refused},
    ):
        assert judged_with(**hopeless).indicators["SE"] == 0, hopeless
