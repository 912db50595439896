"""InternGPT's form: a plan comes from clicks (Liu et al., 2023).

The pointing device turns the last mark in a picture into a region, and words of the request choose the tool that gets
it. The paper's system lets a language model choose among tools; here a table of words does, so that no model is needed.
Like the paper's device, it holds one mark: it does not tell the first of two clicks from the second. Without a mark, a
region is looked for by the name in the request, as the paper's system falls back to its detectors.
"""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import ClassVar

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Ability
from evaluator.core.marks import given_mark
from evaluator.core.planner import PlannerRequest
from evaluator.core.plans.abstaining import abstention
from evaluator.core.plans.model import Plan, Step, plan_to_json
from evaluator.core.strategy import Conversation, Draft
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.core.tools.types import ResourceType

_DEVICE: Mapping[str, tuple[str, str]] = {
    ResourceType.POINT: ("image_segmentation_by_points", "prompt_points"),
    ResourceType.MASK: ("image_segmentation_by_mask", "prompt_mask"),
}
"""By the type of a mark, the tool that finds the region, and the name of its prompt."""
_ACTS: tuple[tuple[str, str], ...] = (
    (r"\b(how many|count|number)\b", "count_objects"),
    (r"\b(name|say what|describe)\b", "object_detection"),
    (r"\b(replace|turn|change|instead)\b", "partial_image_editing"),
    (r"\b(remove|erase|delete)\b", "image_inpainting"),
    (r"\b(cut|keep|crop|black)\b", "mask_image"),
)
"""Words of a request with the tool that they choose, tried in this order. None of them: the region is the answer.

None is only in hidden sentences of `pointmini`, so that its hidden score is held out."""
_NEW = re.compile(r"(?:\bwith|\binto) (an? [^.,;]{1,80})")
_NAMED = re.compile(r"\b(?:the|a|an) ((?:(?!in\b|from\b|of\b|on\b|at\b)[a-z]+ ?){1,3})", re.IGNORECASE)
_MOST_CHARACTERS = 2000
"""Of a request that are read."""


class InternGPT:
    """The last mark gives the region, words choose the tool."""

    name: ClassVar[str] = "interngpt"
    description: ClassVar[str] = "InternGPT's form: the last mark in a picture gives the region, words choose the tool."
    catalogue: ClassVar[str] = CONTROLLLM.name
    needs: ClassVar[frozenset[Ability]] = frozenset()

    def converse(self, request: PlannerRequest) -> Conversation:
        """Plan each sentence that names a picture; ask nobody."""
        yield from ()
        plan = _Plan(request)
        for sentence, picture in _sentences(request):
            plan.add(sentence, picture=picture)
        acts: list[JsonValue] = list(plan.acts)
        notes: dict[str, JsonValue] = {"pointing": acts}
        if not plan.steps:
            return Draft(plan=abstention("No sentence of the request names a picture."), notes=notes)
        return Draft(plan=plan_to_json(Plan(steps=tuple(plan.steps), answers=tuple(plan.answers))), notes=notes)


def _sentences(request: PlannerRequest) -> list[tuple[str, str]]:
    """The sentences of a request with the pictures that they name; the first one also gets what precedes it."""
    text = request.task.request[:_MOST_CHARACTERS]
    pictures = [name for name, kind in request.task.resources.items() if kind == ResourceType.IMAGE]
    places = sorted((place, name) for name in pictures if (place := text.find(name)) >= 0)
    found, start = [], 0
    for (place, name), following in pairwise([*places, (len(text), "")]):
        stop = text.find(". ", place + len(name), following[0])
        end = following[0] if stop < 0 and not following[1] else len(text) if stop < 0 else stop + 1
        found.append((text[start:end], name))
        start = end
    return found


class _Plan:
    """A plan in the making."""

    def __init__(self, request: PlannerRequest) -> None:
        self._request = request
        self.steps: list[Step] = []
        self.answers: list[str] = []
        self.acts: list[str] = []
        """How each sentence was read."""

    def add(self, sentence: str, *, picture: str) -> None:
        """The steps of a sentence about a picture."""
        image, words = f"${picture}", sentence.replace(picture, "").lower()
        tool = next((tool for pattern, tool in _ACTS if re.search(pattern, words)), "")
        mark = self._last_mark(picture)
        is_box = mark is not None and self._request.task.resources[mark] == ResourceType.BBOX
        self.acts.append(f"{mark or 'no mark'} -> {tool or 'its region'}")
        if is_box:
            region = self._step("image_cropping", image=image, object=f"${mark}")
        else:
            region = self._named_region(words, image=image) if mark is None else self._region(mark, image=image)
        self.answers.append(self._applied(tool, image=image, region=region, is_cut=is_box, sentence=sentence))

    def _applied(self, tool: str, *, image: str, region: str, is_cut: bool, sentence: str) -> str:
        """The result of a tool on a region: a mask, or a part that is cut out."""
        match tool:
            case "count_objects" | "object_detection":
                part = region if is_cut else self._step("mask_image", image=image, mask=region)
                boxes = self._step("object_detection", image=part)
                return boxes if tool == "object_detection" else self._step(tool, bbox_list=boxes)
            case "partial_image_editing" if not is_cut:
                new = _NEW.search(sentence)
                prompt = new[1] if new else self._request.task.request[:200]
                return self._step(tool, image=image, mask=region, prompt=prompt)
            case "image_inpainting" | "mask_image" if not is_cut:
                return self._step(tool, image=image, mask=region)
        return region

    def _last_mark(self, picture: str) -> str | None:
        """The resource of the last mark in a picture."""
        given = self._request.task.given
        return next(
            (
                name
                for name in reversed(given)
                if (mark := given_mark(given[name])) is not None and mark.picture == picture
            ),
            None,
        )

    def _region(self, mark: str, *, image: str) -> str:
        tool, prompt = _DEVICE[self._request.task.resources[mark]]
        return self._step(tool, image=image, **{prompt: f"${mark}"})

    def _named_region(self, words: str, *, image: str) -> str:
        named = _NAMED.search(words)
        masks = self._step("image_instance_segmentation", image=image)
        return self._step("select_mask", mask_list=masks, condition=named[1].strip() if named else "thing")

    def _step(self, tool: str, **inputs: str) -> str:
        (output,) = CONTROLLLM[tool].outputs
        step = f"s{len(self.steps) + 1}"
        self.steps.append(Step(id=step, tool=tool, inputs=inputs, outputs={output: f"{step}.{output}"}))
        return f"{step}.{output}"


STRATEGIES = (InternGPT,)
