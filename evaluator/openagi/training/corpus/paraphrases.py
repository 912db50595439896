"""Pretraining data: requests in many other words than the suite's, with plans of imaginary annotators.

What the planner can learn here: which tools have to do with which words, the forms in which the strategies of
`evaluator.openagi.strategies` ask and are answered, and that plans shown before a request tell how to write
its own. What it cannot: see `annotators`. None of OpenAGI's 185 requests is ever drawn, and none of their gold plans is
looked at.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluator.core.language_model import Message
from evaluator.core.planner import Expected, PlannerRequest, RequestedTask, offered_tools
from evaluator.core.tools.catalogues import OPENAGI
from evaluator.openagi.strategies.demonstrations import Demonstration
from evaluator.openagi.strategies.plan_building import comma_text, tree_text
from evaluator.openagi.strategies.prompts import branch_prompt, few_shot_prompt, sequence_prompt, zero_shot_prompt
from evaluator.openagi.training.corpus.annotators import Annotator, WrittenPlan, annotate, draw_annotator
from evaluator.openagi.training.corpus.sampled_requests import SampledRequest, draw_request, sentence


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a planner reads and what it is to write."""

    messages: tuple[Message, ...]
    answer: str


@dataclass(frozen=True, slots=True)
class Paraphrase:
    """A request with the plan of an annotator."""

    request: str
    sampled: SampledRequest
    plan: WrittenPlan


def draw_paraphrase(*, annotator: Annotator, rng: np.random.Generator) -> Paraphrase:
    """A request, and a plan for it."""
    sampled = draw_request(rng)
    return Paraphrase(
        request=sentence(sampled=sampled, rng=rng),
        sampled=sampled,
        plan=annotate(sampled=sampled, annotator=annotator, rng=rng),
    )


def constrained_lesson(rng: np.random.Generator) -> Lesson:
    """One of the calls by which `openagi/nonlinear` finds a plan, of a random annotator's."""
    found = draw_paraphrase(annotator=draw_annotator(rng), rng=rng)
    lessons = constrained_lessons(found)
    return lessons[int(rng.integers(len(lessons)))]


def constrained_lessons(found: Paraphrase) -> tuple[Lesson, ...]:
    """All calls by which `openagi/nonlinear` finds a plan."""
    request, branches, names = found.request, found.plan.branches, found.plan.names
    if len(branches) == 1:
        return (Lesson(sequence_prompt(request=request), comma_text(branches[0])),)
    lessons = [
        Lesson(branch_prompt(request=request, resource=resource), comma_text(branch))
        for resource, branch in zip(found.sampled.resources, branches, strict=True)
    ]
    joining = sequence_prompt(request=request, so_far=tree_text(branches=branches))
    ending = sequence_prompt(request=request, so_far=tree_text(branches=branches, names=names))
    return (*lessons, Lesson(joining, comma_text(names)), Lesson(ending, ""))


def zero_shot_lesson(*, rng: np.random.Generator, names_tools: bool) -> Lesson:
    """A bare request, answered in steps."""
    found = draw_paraphrase(annotator=draw_annotator(rng), rng=rng)
    messages = zero_shot_prompt(request=_asked(found), names_tools=names_tools)
    return Lesson(messages, _numbered(step_lines(found)))


def few_shot_lesson(*, rng: np.random.Generator, shown: int) -> Lesson:
    """A request behind others with the plans of the same annotator, answered in steps."""
    annotator = draw_annotator(rng)
    demonstrations = []
    for _ in range(shown):
        one = draw_paraphrase(annotator=annotator, rng=rng)
        demonstrations.append(Demonstration(one.request, step_lines(one)))
    found = draw_paraphrase(annotator=annotator, rng=rng)
    messages = few_shot_prompt(request=_asked(found), demonstrations=demonstrations)
    return Lesson(messages, _numbered(step_lines(found)))


def step_lines(found: Paraphrase) -> tuple[str, ...]:
    """A plan as lines that each name a tool and, where there are two texts, say on which of them it works."""
    pairs = list(zip(found.sampled.resources, found.plan.branches, strict=True))
    several_texts = found.sampled.kind == "ask text"
    if found.plan.texts_first:
        pairs = pairs[::-1]
    repairs = [f"{name} on the {resource}" if several_texts else name for resource, branch in pairs for name in branch]
    return (*repairs, *found.plan.names)


def _numbered(lines: Sequence[str]) -> str:
    return "\n".join(f"Step {number}: {line}" for number, line in enumerate(lines, start=1))


def _asked(found: Paraphrase) -> PlannerRequest:
    resources = {name: "image" if name == "image" else "text" for name in found.sampled.resources}
    return PlannerRequest(
        suite=OPENAGI.name,
        task=RequestedTask(id="paraphrase", request=found.request, resources=resources),
        expects=Expected(type=found.sampled.makes),
        tools=list(offered_tools(OPENAGI)),
    )
