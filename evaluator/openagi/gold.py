"""Gold plans for OpenAGI's requests.

The release has no ground truth for the 185 requests. These plans follow the convention of its 15 hand-written
pairs: Image Super Resolution, Image Denoising, Image Deblurring, Colorization in this order, as far as needed; Fill
Mask for each masked text; then the base model; then Machine Translation where the answer is to be German. Requests
with two inputs repair both independently, so their plans are graphs.
"""

from evaluator.core.plans.model import Plan, Step
from evaluator.core.tools.catalogues import OPENAGI
from evaluator.core.tools.types import ResourceType
from evaluator.openagi.grammar import Base, Degradation, Phrase, Request

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
    """The plan that repairs every input, calls the base model, and translates if German is asked for."""
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
    """Append a step and return the reference of its output."""
    signature = OPENAGI[tool]
    step_id = f"s{len(steps) + 1}"
    outputs = {output: f"{step_id}.{output}" for output in signature.outputs}
    inputs = dict(zip(signature.inputs, values, strict=True))
    steps.append(Step(id=step_id, tool=tool, inputs=inputs, outputs=outputs))
    return next(iter(outputs.values()))
