"""The suite `openagi`: 185 requests, 117 linear and 68 nonlinear (OpenAGI, section 3)."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from evaluator.suites.base import Column, Conditions, IntervalMethod, Panel, Suite, Task
from evaluator.suites.facets import MODALITY, STRUCTURE, Facet, Facets
from evaluator.suites.hidden import HIDDEN, derived
from evaluator.suites.openagi.gold import gold_plan, resource_names
from evaluator.suites.openagi.grammar import Base, Request, requests
from evaluator.suites.openagi.tasks import OpenAGITask
from evaluator.suites.openagi.variants import variant
from evaluator.tools.openagi import OPENAGI
from evaluator.tools.types import ResourceType

VERSION = "1"

_column = partial(Column, interval=IntervalMethod.FIXED_TASKS)

COLUMNS = (
    _column(
        key="overall",
        label="Overall",
        description="Mean score over all tasks that can run, whatever their metric.",
        primary=True,
    ),
    _column(
        key="ViT",
        label="ViT",
        metric="ViT",
        description="Cosine similarity of ViT CLS embeddings, answer against reference image.",
    ),
    _column(
        key="BERT", label="BERT", metric="BERT", description="BERTScore F1 of the answer against the reference text."
    ),
    _column(
        key="CLIP",
        label="CLIP",
        metric="CLIP",
        description="CLIP score of the generated image against the text, / 100.",
    ),
)

FACETS = Facets(
    filters=(
        Facet(name="base", label="Base task", attribute="base", heading="Group: base task"),
        STRUCTURE,
        Facet(name="degradation", label="Degradation", attribute="degradations"),
        MODALITY,
        Facet(name="language", label="Language", attribute="language", words={"en": "English", "de": "German"}),
        Facet(
            name="steps",
            label="Gold plan",
            attribute="gold_steps",
            heading="Difficulty",
            unit="step",
            tells_gold=True,
        ),
    ),
    facts=("structure", "base", "degradation", "modality", "language"),
    breakdowns=("structure", "degradation", "modality", "language", "steps", "base"),
    plots=("base", "degradation", "language", "structure"),
    comparisons=("base", "structure", "degradation", "language", "steps"),
)


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
        conditions=Conditions(experts=True, samples=True, splits=("public", "validation", HIDDEN)),
        panels=(Panel.SCORES, Panel.ARTEFACTS),
        facets=FACETS,
        hidden_requests=_hidden_requests,
    )


def _hidden_requests(suite: Suite, seed: str) -> tuple[Task, ...]:
    return tuple(_worded(task, seed=seed) for task in suite.tasks)


def _worded(task: Task, *, seed: str) -> Task:
    if not isinstance(task, OpenAGITask):
        raise TypeError(f"task {task.key} is not OpenAGI's")
    return replace(task, text=variant(task=task, seed=derived(seed=seed, about=f"openagi {task.key}")))


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
