"""The suite `toolworld`: requests about the miniature world for ControlLLM's tools, executed and judged."""

import random
from dataclasses import replace
from functools import partial

from evaluator.controlllm.toolbench.outage import with_outage
from evaluator.controlllm.toolbench.suite import COLUMNS as JUDGED
from evaluator.controlllm.toolbench.suite import FACETS as TOOL_FACETS
from evaluator.controlllm.toolbench.suite import STEP_PROBLEMS, right_plans
from evaluator.controlllm.toolbench.world import SLUG
from evaluator.controlllm.toolbench.world.data import WorldSamples, world_samples
from evaluator.controlllm.toolbench.world.paraphrases import PARAPHRASES
from evaluator.controlllm.toolbench.world.requests import hidden_requests, public_requests
from evaluator.controlllm.toolbench.world.task import SEVERAL, world_task
from evaluator.core.suites.base import Column, Conditions, Panel, Suite, Task
from evaluator.core.suites.facets import Facet
from evaluator.core.suites.hidden import HIDDEN, derived
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.episodes.base import Setting
from evaluator.episodes.beside_gold import RELATIVE
from evaluator.episodes.executed import hidden_seed
from evaluator.scoring.metrics import rule_names

VERSION = "1"
_METRICS = {
    rule_names.ANSWER: ("Answers", "Counts, answers, titles, places and moods: share that is right."),
    rule_names.LABELS: ("Labels", "Classes, motions, tags and names in texts: F1 of the names."),
    rule_names.BOXES: ("Boxes", "F1 of the boxes with the right name and an overlap of at least 0.5."),
    rule_names.MASKS: ("Masks", "Intersection over union of the masks with the right name."),
    rule_names.SEGMENTS: ("Segment maps", "Intersection over union of the segments of a map."),
    rule_names.OUTLINES: ("Line maps", "F1 of edges, lines, scribbles and soft edges within two pixels."),
    rule_names.DEPTH: ("Depth maps", "Correlation of nearness."),
    rule_names.NORMALS: ("Normal maps", "Correlation of surface normals."),
    rule_names.POSE: ("Poses", "Share of the joints of a figure that are in their place."),
    rule_names.EDIT: ("Edits", "How much of the wanted change of a picture was made, and nothing else."),
    rule_names.READING: ("Reading", "Writing: 1 - edit distance over length."),
    "ViT": ("ViT", "Pictures with one right result: mean ViT score."),
    rule_names.VARIATION: ("Variations", "Pictures like another one: mean ViT score, 0 for a copy."),
    "CLIP": ("CLIP", "Pictures drawn from words alone: mean CLIP score."),
    "BERT": ("BERT", "Captions and summaries: mean BERT score."),
    SEVERAL: ("Several", "Requests for several results: the mean of their scores."),
}
_JUDGED = ("SE", "undecided", "SE_low", "SE_high", "IR", "NR", "HR", "CR")
"""Columns of the judge; those beside them compare with one gold plan and are left to the suites without execution."""
# Samples of one request share no picture with those of another: they are averaged, and requests are what is sampled.
COLUMNS = (
    Column(
        key="score",
        label="Score",
        description="Mean over requests of the scores of their results, each compared with the truth of the picture.",
        primary=True,
    ),
    Column(
        key=RELATIVE,
        label="Relative",
        description="The score as a share of what the gold plan reaches on the same sample, at most 1, so that a weak "
        "expert does not count against the planner. Samples on which the gold plan scores 0 are left out.",
        indicator=True,
    ),
    *(replace(column, primary=False) for column in JUDGED if column.key in _JUDGED),
    *(
        Column(key=metric, label=label, description=description, metric=metric)
        for metric, (label, description) in _METRICS.items()
    ),
)
FACETS = replace(
    TOOL_FACETS,
    filters=(
        *(facet for facet in TOOL_FACETS.filters if facet.name not in {"flag", "active"}),
        Facet(name="result", label="Result", attribute="results"),
    ),
    facts=("level", "group", "result", "structure"),
    breakdowns=("structure", "modality", "level", "group", "result"),
    plots=("group", "level", "structure"),
    comparisons=("group", "level", "result"),
)
SCORING = (
    "Plans are executed on every sample, and each result is compared with the truth of the picture or clip. A request "
    "for several results scores their mean. The same plans are judged besides: SE, IR, NR, HR and CR are ControlLLM's "
    "figures and change no score."
)


def toolworld_suite() -> Suite:
    """The public requests; always there."""
    return Suite(
        slug=SLUG,
        version=VERSION,
        title=SLUG,
        description="180 requests about pictures, clips and texts of the miniature world, with execution.",
        metrics=COLUMNS,
        catalogue=CONTROLLLM,
        tasks=tuple(map(world_task, public_requests())),
        conditions=Conditions(experts=True, samples=True, splits=("public", "validation", HIDDEN)),
        panels=(Panel.SCORES, Panel.ARTEFACTS, Panel.GOAL, Panel.INDICATORS),
        scoring=SCORING,
        facets=FACETS,
        step_problems=STEP_PROBLEMS,
        training_splits=("validation",),
        reworded=_reworded,
        with_outage=with_outage,
        hidden_requests=_hidden,
        right_plans=partial(right_plans, executed=True),
    )


def _reworded(task: Task, rng: random.Random) -> str | None:
    return PARAPHRASES.reworded(task.text, rng=rng)


def _hidden(_: Suite, seed: str) -> tuple[Task, ...]:
    return tuple(map(world_task, hidden_requests(seed=derived("requests", SLUG, seed=seed))))


def samples_of(setting: Setting) -> WorldSamples:
    """The data in a setting."""
    return world_samples(profile=setting.profile, split=setting.split or "public", hidden_seed=hidden_seed(setting))
