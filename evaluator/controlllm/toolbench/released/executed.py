"""The suites `tool100-executed` and `tool2k-executed`: the released requests, executed on files of PlanArena's own pack
or of an operator.

No right results were published. The results of a plan are compared with those of the gold plan for the same files and
experts, so the gold plan scores 1 by construction.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from evaluator.controlllm.toolbench.suite import COLUMNS as JUDGED
from evaluator.controlllm.toolbench.suite import (
    DECIDED_BY,
    STEP_PROBLEMS,
    right_plans,
    tool2k_suite,
    tool100_suite,
)
from evaluator.controlllm.toolbench.suite import FACETS as TOOL_FACETS
from evaluator.controlllm.toolbench.tasks import ToolTask
from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.model import Plan
from evaluator.core.suites.base import Column, Conditions, Panel, Suite, Task
from evaluator.core.suites.facets import Facet
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.core.tools.types import Catalogue, ResourceType
from evaluator.scoring.metrics import rule_names

REFERENCES_VERSION = "1"
"""Part of the digest of the data. Increment it whenever references change."""
VIT, BERT = "ViT", "BERT"
_BY_TYPE: Mapping[ResourceType, str] = MappingProxyType(
    {
        ResourceType.TEXT: BERT,
        ResourceType.IMAGE: VIT,
        ResourceType.CATEGORY: rule_names.LABELS,
        ResourceType.BBOX: rule_names.BOXES,
        ResourceType.MASK: rule_names.MASKS,
        ResourceType.SEGMENTATION: rule_names.SEGMENTS,
        ResourceType.DEPTH: rule_names.DEPTH,
        ResourceType.NORMAL: rule_names.NORMALS,
        ResourceType.HTML: rule_names.PAGE,
        **dict.fromkeys((ResourceType.WEATHER, ResourceType.TIME), rule_names.ANSWER),
        **dict.fromkeys(
            # Poses are compared as strokes: their colours are not those of the miniature world.
            (ResourceType.EDGE, ResourceType.LINE, ResourceType.HED, ResourceType.SCRIBBLE, ResourceType.POSE),
            rule_names.OUTLINES,
        ),
    }
)
_COUNTING = frozenset({"count_objects", "count_masks", "count_categories"})
_EDITING = frozenset({"highlight_object_on_image", "mask_image", "image_inpainting"})
"""Tools that change a part of a picture and keep its size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One result of a gold plan."""

    metric: str
    """Name of the score that compares another plan's result with it."""
    type: ResourceType
    before: str = ""
    """For edits: the file before the edit. The score is the share of the change that was made."""


def results_of(*, gold: Plan, catalogue: Catalogue, files: Mapping[str, object]) -> tuple[Result, ...]:
    """The results of a gold plan, in the order of its answers.

    Raises:
        ValueError: no step makes an answer, or no score compares its type.
    """
    makers = {reference: (step, name) for step in gold.steps for name, reference in step.outputs.items()}
    results = []
    for answer in gold.answers:
        if answer not in makers:
            raise ValueError(f"no step of the gold plan makes its answer {answer}")
        step, output = makers[answer]
        kind = catalogue[step.tool].outputs[output]
        if kind not in _BY_TYPE:
            raise ValueError(f"there is no score for a result of type {kind}, which {step.tool} gives")
        source = step.inputs.get("image", "").removeprefix("$")
        if step.tool in _EDITING and source in files:
            results.append(Result(metric=rule_names.EDIT, type=kind, before=source))
        else:
            metric = rule_names.ANSWER if step.tool in _COUNTING else _BY_TYPE[kind]
            results.append(Result(metric=metric, type=kind))
    return tuple(results)


TOOL100, TOOL2K = "tool100-executed", "tool2k-executed"
VERSION = "2"
SEVERAL = "several"
"""The metric of requests for several results: the mean of their scores."""
_METRICS = {
    rule_names.ANSWER: ("Counts", "Share of counts, and of weather and times, that are the gold plan's."),
    BERT: ("BERT", "Answers and descriptions: mean BERT score with the gold plan's."),
    rule_names.LABELS: ("Labels", "Classes and actions: F1 of the names."),
    rule_names.BOXES: ("Boxes", "F1 of the boxes with the same name and an overlap of at least 0.5."),
    rule_names.MASKS: ("Masks", "Intersection over union of the masks with the same name."),
    rule_names.SEGMENTS: ("Segment maps", "Intersection over union of the segments of a map."),
    rule_names.OUTLINES: ("Line maps", "F1 of edges, lines, scribbles, soft edges and skeletons within two pixels."),
    rule_names.DEPTH: ("Depth maps", "Correlation of nearness."),
    rule_names.NORMALS: ("Normal maps", "Correlation of surface normals."),
    rule_names.EDIT: ("Edits", "How much of the gold plan's change of a picture was made, and nothing else."),
    rule_names.PAGE: ("Pages", "Web pages: F1 of their elements and those of the gold plan's page."),
    VIT: ("ViT", "Other pictures: mean ViT score with the gold plan's."),
    SEVERAL: ("Several", "Requests for several results: the mean of their scores."),
}
_JUDGED = ("SE", "undecided", "SE_low", "SE_high", *DECIDED_BY.values(), "IR", "NR", "HR", "CR")
_DEFAULT = frozenset({"SE", "IR", "NR"})
"""Of these, what boards show beside the score: a request has several right plans, so none is the exact one."""
COLUMNS = (
    Column(
        key="score",
        label="Agreement",
        description="Mean over requests of the similarity of the plan's results to those of the gold plan, which has "
        "1.",
        primary=True,
        is_default=True,
    ),
    *(replace(column, primary=False, is_default=column.key in _DEFAULT) for column in JUDGED if column.key in _JUDGED),
    *(
        Column(key=metric, label=label, description=description, metric=metric)
        for metric, (label, description) in _METRICS.items()
    ),
)
FACETS = replace(
    TOOL_FACETS,
    filters=(*TOOL_FACETS.filters, Facet(name="result", label="Result", attribute="results")),
    breakdowns=(*TOOL_FACETS.breakdowns, "result"),
)
SCORING = (
    "The authors released no files: plans are executed on PlanArena's own, drawn from its miniature world to fit the "
    "requests, or on those of an operator's folder, and the two are never compared. No right results were released "
    "either: each result is compared with that of the gold plan for the same files and experts, so the gold plan "
    "scores 1 by construction. A score measures the similarity to the gold plan's results, not their quality. Plans "
    "are also judged without execution: SE, IR, NR, HR and CR do not affect the score."
)


@dataclass(frozen=True, kw_only=True)
class ExecutedTask(ToolTask):
    """A request whose plans are executed and judged."""

    results: tuple[Result, ...]
    """Of the gold plan; empty if there is none, or no score compares one of its results."""

    @property
    def answers(self) -> tuple[Task, ...]:
        """See `Task`."""
        if len(self.results) <= 1:
            return (self,)
        return tuple(
            replace(self, results=(result,), metric=result.metric, expects=result.type) for result in self.results
        )

    @property
    def attributes(self) -> dict[str, JsonValue]:
        return {**super().attributes, "results": [*dict.fromkeys(result.metric for result in self.results)]}


def tool100_executed() -> Suite:
    """Tool100 with execution.

    Raises:
        LookupError: the requests were not fetched.
    """
    return _executed(tool100_suite(), slug=TOOL100)


def tool2k_executed() -> Suite:
    """Tool2K with execution.

    Raises:
        LookupError: the requests were not fetched.
    """
    return _executed(tool2k_suite(), slug=TOOL2K)


def _executed(suite: Suite, *, slug: str) -> Suite:
    return Suite(
        slug=slug,
        version=VERSION,
        title=f"{suite.title} executed",
        description=f"The requests of {suite.title}, executed on PlanArena's own files or an operator's.",
        metrics=COLUMNS,
        catalogue=CONTROLLLM,
        tasks=tuple(_task(task) for task in suite.tasks if isinstance(task, ToolTask)),
        conditions=Conditions(experts=True, samples=True, splits=("all",)),
        panels=(Panel.SCORES, Panel.ARTEFACTS, Panel.GOAL, Panel.INDICATORS),
        scoring=SCORING,
        facets=FACETS,
        defects=suite.defects,
        step_problems=STEP_PROBLEMS,
        right_plans=partial(right_plans, executed=True),
    )


def _task(task: ToolTask) -> ExecutedTask:
    facts: dict[str, Any] = {field.name: getattr(task, field.name) for field in fields(task)}
    results: tuple[Result, ...] = ()
    if task.gold is not None:
        try:
            results = results_of(gold=task.gold, catalogue=CONTROLLLM, files=task.files)
        except ValueError as error:
            facts |= {"gold": None, "goal": None, "uncovered": str(error)}
    if len(results) == 1:
        facts |= {"metric": results[0].metric, "expects": results[0].type}
    elif results:
        facts |= {"metric": SEVERAL, "expects": None}
    return ExecutedTask(**facts, results=results)
