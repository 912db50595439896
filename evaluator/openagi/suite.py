"""The suite `openagi`: 185 requests, 117 linear and 68 nonlinear (OpenAGI, section 3)."""

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from evaluator.core.suites.base import CLOSED, EXACT, NEAR, Column, Conditions, IntervalMethod, Panel, Suite, Task
from evaluator.core.suites.facets import MODALITY, STRUCTURE, Facet, Facets
from evaluator.core.suites.hidden import HIDDEN
from evaluator.core.suites.secrets import derived
from evaluator.core.tools.catalogues import OPENAGI
from evaluator.core.tools.types import ResourceType
from evaluator.openagi.grammar import Base, Request, requests
from evaluator.openagi.tasks import OpenAGITask, gold_plan, resource_names
from evaluator.openagi.variants import variant

VERSION = "1"

_column = partial(Column, interval=IntervalMethod.FIXED_TASKS)

COLUMNS = (
    _column(
        key="overall", label="Overall", primary=True, is_default=True,
        description="Mean score over all tasks that can run, whatever their metric. Not the paper's overall, which "
        "weighs the metrics.",
    ),
    _column(
        key="ViT", label="ViT", metric="ViT",
        description="Cosine similarity of ViT CLS embeddings, answer against reference image.",
    ),
    _column(
        key="BERT", label="BERT", metric="BERT", description="BERTScore F1 of the answer against the reference text."
    ),
    _column(
        key="CLIP", label="CLIP", metric="CLIP",
        description="CLIP score of the generated image against the text, / 100.",
    ),
)  # fmt: skip
PAPERS_OVERALL = _column(
    key="papers_overall", label="Paper's overall",
    description="Mean of the columns BERT, ViT and CLIP with weights 10/14, 3/14 and 1/14: the metrics of the 14 "
    "requests that the released notebooks test. No value where one of the three has none.",
    weights={"BERT": 10 / 14, "ViT": 3 / 14, "CLIP": 1 / 14},
)  # fmt: skip
# The value is the same on every scene, so the tasks are the sample.
EXACT_PLAN = Column(
    key=EXACT, label="Exact plan", is_default=True, indicator=True, interval=IntervalMethod.WILSON,
    description="Share of tasks whose plan equals the gold plan up to the names of steps and values and the order of "
    "independent steps. Another order of restorations is another plan. The same on every scene.",
    title="Exact or equivalent plan",
)  # fmt: skip
NEAR_PLAN = Column(
    key=NEAR, label="Near plan", indicator=True, interval=IntervalMethod.BOOTSTRAP,
    description="F1 of the plan's edges against the gold plan's: from tools and inputs to tools and answers. The same "
    "on every scene.",
)  # fmt: skip


def closed_column(tasks: Sequence[Task]) -> Column:
    """The column of closed answers over the tasks of a suite."""
    return _column(
        key=CLOSED, label="Closed answers", is_default=True, indicator=True, title="Closed answers right",
        description="Share of class labels, sentiments and answers to questions that equal the reference, case, "
        "punctuation, white space and articles aside, over the tasks with such answers.",
        tasks=tuple(task.key for task in tasks if any(answer.is_closed for answer in task.answers)),
    )  # fmt: skip


FACETS = Facets(
    filters=(
        Facet(name="base", label="Base task", attribute="base", heading="Group: base task"),
        STRUCTURE,
        Facet(name="degradation", label="Degradation", attribute="degradations"),
        MODALITY,
        Facet(name="language", label="Language", attribute="language", words={"en": "English", "de": "German"}),
        Facet(
            name="steps", label="Gold plan", attribute="gold_steps", heading="Difficulty", unit="step", tells_gold=True
        ),
    ),
    facts=("structure", "base", "degradation", "modality", "language"),
    breakdowns=("structure", "degradation", "modality", "language", "steps", "base"),
    plots=("base", "degradation", "language", "structure"),
    comparisons=("base", "structure", "degradation", "language", "steps"),
)


def openagi_suite() -> Suite:
    """Build the suite from its grammar."""
    tasks = tuple(_task(number=number, request=request) for number, request in enumerate(requests()))
    return Suite(
        slug="openagi", version=VERSION, title="OpenAGI (released list)",
        description="185 requests that need one to seven expert models, on degraded images and masked texts.",
        metrics=(*COLUMNS, PAPERS_OVERALL, EXACT_PLAN, NEAR_PLAN, closed_column(tasks)), catalogue=OPENAGI,
        tasks=tasks, conditions=Conditions(experts=True, samples=True, splits=("public", "validation", HIDDEN)),
        training_splits=("validation",), panels=(Panel.SCORES, Panel.ARTEFACTS), facets=FACETS, reworded=reworded,
        hidden_requests=hidden_requests,
    )  # fmt: skip


def reworded(task: Task, rng: random.Random) -> str | None:
    """See `Suite.reworded`, for the released requests."""
    return _worded(task, slug="openagi", seed=str(rng.getrandbits(64))).text


def hidden_requests(suite: Suite, seed: str) -> tuple[Task, ...]:
    """See `Suite.hidden_requests`: paraphrases of the released requests."""
    return tuple(_worded(task, slug=suite.slug, seed=seed) for task in suite.tasks)


def _worded(task: Task, *, slug: str, seed: str) -> Task:
    if not isinstance(task, OpenAGITask):
        raise TypeError(f"task {task.key} is not OpenAGI's")
    return replace(task, text=variant(task=task, seed=derived("requests", slug, task.key, seed=seed)))


def _task(*, number: int, request: Request) -> OpenAGITask:
    names = resource_names(request)
    inputs = dict(zip(names, request.inputs, strict=True))
    return OpenAGITask(
        key=str(number), text=request.text, structure="linear" if len(names) == 1 else "nonlinear",
        metric={Base.RESTORATION: "ViT", Base.TEXT_TO_IMAGE: "CLIP"}.get(request.base, "BERT"),
        resources=MappingProxyType({name: phrase.resource for name, phrase in inputs.items()}),
        expects=ResourceType.IMAGE if request.language is None else ResourceType.TEXT, gold=gold_plan(request),
        base=request.base, degradations=tuple(str(item) for phrase in request.inputs for item in phrase.degradations),
        clozed=tuple(name for name, phrase in inputs.items() if phrase.clozed), language=request.language,
    )  # fmt: skip
