"""OpenAGI's tasks and their gold plans.

The release has no ground truth for the 185 requests. The gold plans follow the convention of its 15 hand-written pairs:
Image Super Resolution, Image Denoising, Image Deblurring, Colorization in this order, as needed; Fill Mask for each
masked text; then the base model; then Machine Translation for German answers. Plans for two inputs repair each
independently, so they are graphs.
"""

from dataclasses import dataclass

from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.model import Plan, Step
from evaluator.core.suites.base import Task
from evaluator.core.tools.catalogues import OPENAGI
from evaluator.core.tools.types import ResourceType
from evaluator.openagi.grammar import CLOSED_BASES, Base, Degradation, Phrase, Request


@dataclass(frozen=True, kw_only=True)
class OpenAGITask(Task):
    """A request of OpenAGI with its properties."""

    base: Base
    degradations: tuple[str, ...]
    """Degradations of the image, in the order of their repair in the gold plan."""
    clozed: tuple[str, ...]
    """Names of the resources with a masked word."""
    language: str | None

    @property
    def kind(self) -> str:
        return answer_kind(base=self.base, language=self.language)

    @property
    def is_closed(self) -> bool:
        return self.base in CLOSED_BASES

    @property
    def attributes(self) -> dict[str, JsonValue]:
        return {
            "base": str(self.base),
            "degradations": [str(degradation) for degradation in self.degradations],
            "clozed": list(self.clozed),
            "language": self.language,
            "gold_steps": len(self.gold.steps) if self.gold is not None else None,
        }


def answer_kind(*, base: Base, language: str | None) -> str:
    """The domain task and the language of an answer, in words."""
    words = base.value.replace("_", " ")
    return words if language is None else f"{words} in {'German' if language == 'de' else 'English'}"


RESTORERS = {
    Degradation.LOW_RESOLUTION: "Image Super Resolution",
    Degradation.NOISE: "Image Denoising",
    Degradation.BLUR: "Image Deblurring",
    Degradation.GRAYSCALE: "Colorization",
}
BASE_TOOLS = {
    Base.CAPTIONING: "Image Captioning",
    Base.CLASSIFICATION: "Image Classification",
    Base.DETECTION: "Object Detection",
    Base.TEXT_TO_IMAGE: "Text to Image Generation",
    Base.SUMMARIZATION: "Text Summarization",
    Base.SENTIMENT: "Sentiment Analysis",
    Base.VQA: "Visual Question Answering",
    Base.QA: "Question Answering",
}


def resource_names(request: Request) -> tuple[str, ...]:
    """The name of each input: `image`, `text`, `query` or `document`, the noun of its phrase."""
    return tuple(phrase.words.rsplit(" ", 1)[-1] for phrase in request.inputs)


def gold_plan(request: Request) -> Plan:
    """The plan that repairs every input, calls the base model, and translates if the answer is German."""
    steps: list[Step] = []
    repaired = [
        _repair(phrase=phrase, name=name, steps=steps)
        for phrase, name in zip(request.inputs, resource_names(request), strict=True)
    ]
    answer = repaired[0]
    if request.base in BASE_TOOLS:
        answer = call(tool=BASE_TOOLS[request.base], values=repaired, steps=steps)
    if request.language == "de":
        answer = call(tool="Machine Translation", values=[answer], steps=steps)
    return Plan(steps=tuple(steps), answers=(answer,))


def _repair(*, phrase: Phrase, name: str, steps: list[Step]) -> str:
    value = f"${name}"
    for degradation in phrase.degradations:
        value = call(tool=RESTORERS[degradation], values=[value], steps=steps)
    if phrase.resource is ResourceType.TEXT and phrase.clozed:
        value = call(tool="Fill Mask", values=[value], steps=steps)
    return value


def call(*, tool: str, values: list[str], steps: list[Step]) -> str:
    """Append a step and return the reference to its output."""
    signature = OPENAGI[tool]
    step_id = f"s{len(steps) + 1}"
    outputs = {output: f"{step_id}.{output}" for output in signature.outputs}
    inputs = dict(zip(signature.inputs, values, strict=True))
    steps.append(Step(id=step_id, tool=tool, inputs=inputs, outputs=outputs))
    return next(iter(outputs.values()))
