"""The suite `openagi`: 185 requests, 117 linear and 68 nonlinear (OpenAGI, section 3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from evaluator.canonical_json import JsonValue
from evaluator.suites.model import MetricColumn, Suite, Task
from evaluator.suites.openagi.gold import gold_plan, resource_names
from evaluator.suites.openagi.grammar import Base, Request, requests
from evaluator.tools.openagi import OPENAGI
from evaluator.tools.types import ResourceType

VERSION = "1"

COLUMNS = (
    MetricColumn(
        key="overall",
        label="Overall",
        description="Mean score over all tasks that can run, whatever their metric.",
        primary=True,
    ),
    MetricColumn(
        key="ViT",
        label="ViT",
        description="Cosine similarity of ViT CLS embeddings, answer against reference image.",
    ),
    MetricColumn(key="BERT", label="BERT", description="BERTScore F1 of the answer against the reference text."),
    MetricColumn(key="CLIP", label="CLIP", description="CLIP score of the generated image against the text, / 100."),
)


@dataclass(frozen=True, kw_only=True)
class OpenAGITask(Task):
    """A request of OpenAGI with what its text implies about the data."""

    base: Base
    degradations: tuple[str, ...]
    """Degradations of the image, in the order in which the gold plan undoes them."""
    clozed: tuple[str, ...]
    """Names of the resources that have a masked word."""
    language: str | None

    @property
    def attributes(self) -> dict[str, JsonValue]:
        return {
            "base": str(self.base),
            "degradations": [str(degradation) for degradation in self.degradations],
            "clozed": list(self.clozed),
            "language": self.language,
            "gold_steps": len(self.gold.steps) if self.gold is not None else None,
        }


def openagi_suite() -> Suite:
    """Build the suite from its grammar."""
    return Suite(
        slug="openagi",
        version=VERSION,
        title="OpenAGI",
        description="185 requests that need one to seven expert models, on degraded images and masked texts.",
        metrics=COLUMNS,
        catalogue=OPENAGI,
        tasks=tuple(_task(number=number, request=request) for number, request in enumerate(requests())),
    )


def _task(*, number: int, request: Request) -> OpenAGITask:
    names = resource_names(request)
    resources: Mapping[str, ResourceType] = {
        name: phrase.resource for name, phrase in zip(names, request.inputs, strict=True)
    }
    return OpenAGITask(
        key=str(number),
        text=request.text,
        structure="linear" if len(request.inputs) == 1 else "nonlinear",
        metric=_metric(request.base),
        resources=MappingProxyType(resources),
        expects=ResourceType.IMAGE if request.language is None else ResourceType.TEXT,
        gold=gold_plan(request),
        base=request.base,
        degradations=tuple(str(item) for phrase in request.inputs for item in phrase.degradations),
        clozed=tuple(name for name, phrase in zip(names, request.inputs, strict=True) if phrase.clozed),
        language=request.language,
    )


def _metric(base: Base) -> str:
    if base is Base.RESTORATION:
        return "ViT"
    return "CLIP" if base is Base.TEXT_TO_IMAGE else "BERT"
