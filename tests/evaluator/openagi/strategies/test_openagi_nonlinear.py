"""Constrained generation of sequences and of trees, with a model that follows a constraint and nothing else."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.core.language_model import Beam, Completion, FailureKind, LanguageModelError
from evaluator.core.plans.model import Plan, Step
from evaluator.openagi.strategies.constrained import Constrained, Nonlinear
from evaluator.openagi.training.corpus import tree_lessons
from evaluator.openagi.training.lessons import NoTreeError, as_tree
from tests.evaluator.openagi.strategies.openagi_tasks import (
    ALL,
    LINEAR,
    NONLINEAR,
    TASKS,
    is_gold,
    read,
    request,
    task_like,
)
from tests.fakes.constrained_model import ConstrainedModel, held, random_scoring, taught

JOINERS = frozenset({"Visual Question Answering", "Question Answering"})
BOTH = "Given {image} and {query} query, how to answer the question in {language}"


def lessons(*tasks):
    found = {}
    for task in tasks:
        resources = tuple(task.resources)
        branches, names = as_tree(resources=resources, plan=task.gold)
        for lesson in tree_lessons(request=task.text, resources=resources, branches=branches, names=names):
            found[lesson.messages[-1].content] = tuple(filter(None, lesson.answer.split(", ")))
    return found


def answer(task, *, strategy=None, scoring=None, offered=ALL):
    """The draft, and the model that wrote it."""
    model = ConstrainedModel(scoring or taught(lessons(task)))
    return held(
        strategy=strategy or Nonlinear(), request=request(task.key, offered=offered), answer=model.answer
    ), model


def test_a_model_that_was_taught_the_gold_plans_finds_them_all():
    for task in TASKS:
        plan, problems = read(answer(task)[0], task)
        assert problems == (), task.key
        assert is_gold(plan, task), task.key


def test_requests_of_one_input_are_planned_as_by_constrained_generation():
    for task in LINEAR[::7]:
        one, first = answer(task, strategy=Constrained(), scoring=random_scoring(1))
        other, second = answer(task, strategy=Nonlinear(), scoring=random_scoring(1))
        assert one == other
        assert first.prompts == second.prompts == [task.text]


@settings(max_examples=200, deadline=None)
@given(
    task=st.sampled_from(TASKS),
    missing=st.one_of(st.just(frozenset()), st.frozensets(st.sampled_from(sorted(ALL)))),
    seed=st.integers(0, 10_000),
    beams=st.integers(1, 4),
    strategy=st.sampled_from((Constrained, Nonlinear)),
)
def test_whatever_the_model_wants_the_plan_has_no_problems(task, missing, seed, beams, strategy):
    offered = ALL - missing
    draft, model = answer(task, strategy=strategy(beams=beams), scoring=random_scoring(seed), offered=offered)
    if not model.prompts:
        assert "no sequence of the offered tools" in draft.notes["problem"]
        return
    plan, problems = read(draft, task, offered=offered)
    assert problems == ()
    assert plan.steps


@pytest.mark.parametrize("task", NONLINEAR[::15], ids=lambda task: task.key)
@pytest.mark.parametrize("seed", range(2))
def test_the_inputs_of_a_request_are_joined(task, seed):
    plan, _ = read(answer(task, scoring=random_scoring(seed))[0], task)
    makers = {reference: step for step in plan.steps for reference in step.outputs.values()}
    used, waiting = set(), list(plan.answers)
    while waiting:
        step = makers.get(value := waiting.pop())
        used.add(value)
        waiting += step.inputs.values() if step else []
    assert {f"${name}" for name in task.resources} <= used
    assert JOINERS & set(plan.tools())


def test_branches_are_asked_for_together_then_the_join_then_the_rest():
    task = task_like(text=BOTH.format(image="noisy image", query="clozed English", language="German"))
    asked = []
    model = ConstrainedModel(taught(lessons(task)))

    def answered(calls):
        asked.append([call.messages[-1].content.removeprefix(task.text) for call in calls])
        return model.answer(calls)

    draft = held(strategy=Nonlinear(), request=request(task.key), answer=answered)
    branches = "(Image Denoising,)(Fill Mask,)"
    end = "Visual Question Answering,Machine Translation,"
    assert asked == [[" Input: image", " Input: query"], [f" {branches}"], [f" {branches}{end}"]]
    assert draft.plan == branches + end


def test_the_further_beams_of_a_sequence_are_alternatives():
    task = LINEAR[0]
    draft, _ = answer(task, strategy=Constrained(beams=6), scoring=random_scoring(3))
    plans = [draft.plan, *draft.alternatives]
    assert len(plans) == len(set(plans)) == 5
    beams = draft.notes["searches"][0]["beams"]
    assert [", ".join(beam["names"]) for beam in beams[:5]] == plans
    assert [beam["log_probability"] for beam in beams] == sorted(
        (beam["log_probability"] for beam in beams), reverse=True
    )


def test_a_model_that_breaks_the_constraint_is_said_to_have_answered_wrongly():
    with pytest.raises(LanguageModelError, match=r"'Fill the mask'.*does not allow") as error:
        held(strategy=Nonlinear(), request=request("0"), answer=lambda calls: [Completion(text="Fill the mask")])
    assert error.value.failure.kind is FailureKind.WRONG_ANSWER


def test_beams_that_break_the_constraint_are_left_out():
    names = (("Colorization", "Colorization"), ("Image Captioning",), ("Machine Translation",), ("Colorization",))
    beams = tuple(Beam(text=", ".join(one), log_probability=-1.0, names=one) for one in names)
    completion = Completion(text=beams[0].text, beams=beams)
    assert held(strategy=Constrained(), request=request("0"), answer=lambda calls: [completion]).plan == "Colorization"
    with pytest.raises(LanguageModelError, match="does not allow"):
        held(strategy=Constrained(), request=request("0"), answer=lambda calls: [replace(completion, beams=beams[:3])])


def test_a_plan_whose_inputs_meet_twice_cannot_be_taught():
    def step(number, tool, **inputs):
        return Step(id=f"s{number}", tool=tool, inputs=inputs, outputs={"text": f"s{number}.text"})

    apart = Plan(
        steps=(
            step(1, "Visual Question Answering", image="$image", text="$query"),
            step(2, "Visual Question Answering", image="$image", text="$query"),
        ),
        answers=("s2.text",),
    )
    with pytest.raises(NoTreeError, match="s2"):
        as_tree(resources=("image", "query"), plan=apart)
    with pytest.raises(NoTreeError, match="nothing joins"):
        as_tree(
            resources=("image", "query"),
            plan=Plan(steps=(step(1, "Image Captioning", image="$image"),), answers=("s1.text",)),
        )
