"""ControlLLM from request to plan: offline, and with a language model whose answers are given by hand."""

import json

import pytest

from evaluator.controlllm.strategies.planning import MOST_PLANS, plan_offline, plans_of
from evaluator.controlllm.strategies.search import exhaustive
from evaluator.controlllm.strategies.strategy import STRATEGIES as SEARCHING
from evaluator.controlllm.strategies.strategy import AdaptiveControlLLM, ExhaustiveControlLLM
from evaluator.core.language_model import Ability
from evaluator.core.plans.checks import check_plan
from evaluator.core.plans.model import PlanContext
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.core.tools.types import ResourceType
from evaluator.replies.read import read_plan
from tests.evaluator.controlllm.strategies.test_tog_decomposing import answer, raw
from tests.evaluator.controlllm.strategies.tog_factories import TOOLBOX, converse, request, subtask

REQUEST = request("Highlight the otter in river.png.", river_png="image")
OTTER = raw(
    description="Detect all objects, select the boxes of the otter, draw them.",
    task=("image-perception", "image-editing"), args=(("image", "river.png"), ("text", "otter")), gives="image",
)  # fmt: skip


def parsed(plan, file="river.png"):
    context = PlanContext(catalogue=CONTROLLLM, resources={file: ResourceType.IMAGE}, expects=None)
    found = read_plan(value=plan, context=context)
    assert check_plan(plan=found.plan, context=context) == ()
    return found.plan


class Model:
    """Answers each stage as a person would, and remembers what it was asked."""

    def __init__(self, **answers):
        self.asked = []
        self.answers = {
            "Split a request": answer(OTTER),
            "You decide whether a tool": '{"thought": "t", "score": 3}',
            "You judge whether a solution": '{"thought": "s", "score": 3}',
            "You complete the inputs": "{}",
            "Tools were called": "Here is your otter.",
        } | answers

    def __call__(self, call):
        stage = next(stage for stage in self.answers if call.messages[0].content.startswith(stage))
        self.asked.append(stage)
        found = self.answers[stage]
        return found(call) if callable(found) else found


@pytest.mark.parametrize("strategy", SEARCHING)
def test_with_a_model_every_stage_asks_it(strategy):
    model = Model()
    draft, rounds = converse(strategy(with_model=True).converse(REQUEST), model)
    assert strategy(with_model=True).needs == {Ability.GENERATE}
    stages = list(dict.fromkeys(model.asked))
    assert stages[0] == "Split a request"
    assert ("You decide whether a tool" in stages) == (strategy is not ExhaustiveControlLLM)
    assert len(rounds) <= 4
    assert draft.notes["decomposition"]["by"] == "language model"


def test_the_models_scores_decide_what_is_searched_and_what_comes_first():
    wanted = ("visual_grounding", "highlight_object_on_image")

    def tool_score(call):
        tool = call.messages[-1].content.split("Tool: ")[1].split(":")[0]
        return json.dumps({"thought": tool, "score": 5 if tool in wanted else 1})

    model = Model(**{"You decide whether a tool": tool_score})
    draft, _ = converse(AdaptiveControlLLM(with_model=True).converse(REQUEST), model)
    assert parsed(draft.plan).tools() == wanted
    assert draft.alternatives == ()


def test_the_solution_expert_ranks_and_alternatives_follow():
    def solution_score(call):
        solution = call.messages[-1].content.split("Solution:\n")[1]
        return json.dumps({"thought": "x", "score": 5 if "image_cropping" in solution else 3})

    model = Model(**{"You judge whether a solution": solution_score})
    draft, _ = converse(ExhaustiveControlLLM(with_model=True).converse(REQUEST), model)
    plans = [parsed(plan).tools() for plan in (draft.plan, *draft.alternatives)]
    assert "image_cropping" in plans[0]
    assert 2 <= len(plans) <= MOST_PLANS
    assert len(set(plans)) == len(plans)


def test_the_resource_expert_fills_what_the_search_left_open():
    model = Model(**{"You complete the inputs": '{"bbox": "<TOOL-GENERATED>-object_detection-bbox-0"}'})
    draft, _ = converse(ExhaustiveControlLLM(with_model=True).converse(REQUEST), model)
    plan = parsed(draft.plan)
    draw = next(step for step in plan.steps if step.tool == "highlight_object_on_image")
    assert draw.inputs["bbox"] == "<TOOL-GENERATED>-object_detection-bbox-0"


def test_a_decomposition_that_nobody_can_read_is_handed_on_as_it_is():
    model = Model(**{"Split a request": "I would rather not."})
    draft, rounds = converse(AdaptiveControlLLM(with_model=True).converse(REQUEST), model)
    assert draft.plan == "I would rather not."
    assert len(rounds) == 3
    assert draft.notes["decomposition"]["problems"]


def test_a_subtask_without_a_solution_does_not_stop_the_others():
    subtasks = [
        subtask("Make a web page.", returns="html", number=0, image="a.png"),
        subtask("Describe it.", returns="text", number=1, image="a.png"),
    ]
    planned = plan_offline(subtasks=subtasks, toolbox=TOOLBOX, choose=exhaustive)
    assert planned[0].candidates == ()
    (first, *_) = plans_of(planned)
    assert parsed(first, "a.png").answers == ("<GENERATED>-1",)


def test_only_offered_tools_are_called():
    few = REQUEST.model_copy(update={"tools": [tool for tool in REQUEST.tools if tool.name == "image_captioning"]})
    draft, _ = converse(ExhaustiveControlLLM().converse(few), lambda call: "")
    assert set(parsed(draft.plan).tools()) <= {"image_captioning"}


def test_each_stage_asks_in_its_role():
    """Mix: one model decomposes, another one does the rest."""
    asked, model = {}, Model()

    def remembering(call):
        text = model(call)
        asked.setdefault(model.asked[-1], set()).add(call.role)
        return text

    done = request("Highlight the otter in river.png.", history=[{"results": {"r": "a.png"}}], river_png="image")
    converse(AdaptiveControlLLM(with_model=True).converse(done), remembering)
    assert asked.pop("Split a request") == {"decompose"}
    assert asked.pop("Tools were called") == {"respond"}
    assert set().union(*asked.values()) == {"assess"}
