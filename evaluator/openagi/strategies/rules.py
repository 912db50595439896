"""Keyword rules on the vocabulary of OpenAGI's released requests, without a language model.

An anchor: its score on paraphrased requests measures the value of memorising the released list.
"""

import re
from collections.abc import Sequence
from typing import ClassVar

from evaluator.core.language_model import Ability
from evaluator.core.planner import PlannerRequest
from evaluator.core.plans.model import Plan, Step, plan_to_json
from evaluator.core.strategy import Conversation, Draft
from evaluator.core.tools.catalogues import OPENAGI
from evaluator.core.tools.types import ResourceType

_REPAIRS = (
    (r"low-resolution", "Image Super Resolution"),
    (r"noisy", "Image Denoising"),
    (r"blurry", "Image Deblurring"),
    (r"gr[ae]y ?scale", "Colorization"),
)
_GOALS = (
    (r"caption", "Image Captioning"),
    (r"class label", "Image Classification"),
    (r"object names", "Object Detection"),
    (r"generate an? image", "Text to Image Generation"),
    (r"summari", "Text Summarization"),
    (r"sentiment", "Sentiment Analysis"),
)


class Rules:
    """Each keyword of the request adds a step to the plan."""

    name: ClassVar[str] = "rules"
    description: ClassVar[str] = "Keyword rules on the vocabulary of OpenAGI's released requests: an anchor."
    catalogue: ClassVar[str] = OPENAGI.name
    needs: ClassVar[frozenset[Ability]] = frozenset()

    def converse(self, request: PlannerRequest) -> Conversation:
        """See `Strategy`. Asks no model."""
        yield from ()
        plan = _plan(request)
        return Draft(plan=plan_to_json(plan), notes={"rules": list(plan.tools())})


def _plan(request: PlannerRequest) -> Plan:
    text, steps = request.task.request.lower(), list[Step]()
    values: list[str] = []
    for name, kind in request.task.resources.items():
        repairs = [tool for word, tool in _REPAIRS if kind == ResourceType.IMAGE and re.search(word, text)]
        if kind == ResourceType.TEXT and re.search(rf"clozed \w+ {name}", text):
            repairs = ["Fill Mask"]
        values.append(f"${name}")
        for tool in repairs:
            values[-1] = _call(tool, [values[-1]], steps)
    goal = next((tool for word, tool in _GOALS if re.search(word, text)), None)
    if "question" in text:
        goal = "Visual Question Answering" if "image" in request.task.resources else "Question Answering"
    if goal is not None:
        values = [_call(goal, values, steps)]
    if "german" in text:
        values = [_call("Machine Translation", values, steps)]
    return Plan(steps=tuple(steps), answers=tuple(values[:1]))


def _call(tool: str, values: Sequence[str], steps: list[Step]) -> str:
    number, arguments = f"s{len(steps) + 1}", OPENAGI[tool].inputs
    outputs = {name: f"{number}.{name}" for name in OPENAGI[tool].outputs}
    steps.append(Step(id=number, tool=tool, inputs=dict(zip(arguments, values, strict=False)), outputs=outputs))
    return next(iter(outputs.values()))
