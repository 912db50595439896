"""The suite `toolworld`: requests about the miniature world, whose plans are executed and judged."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial
from typing import Any, cast

import numpy as np
from PIL import Image as PillowImage

from evaluator.controlllm.toolbench.goals.goal import Goal
from evaluator.controlllm.toolbench.goals.gold import gold_plan
from evaluator.controlllm.toolbench.suite import COLUMNS as JUDGED
from evaluator.controlllm.toolbench.suite import DECIDED_BY, STEP_PROBLEMS, right_plans
from evaluator.controlllm.toolbench.suite import FACETS as TOOL_FACETS
from evaluator.controlllm.toolbench.tasks import ToolTask, tool_task, with_outage
from evaluator.controlllm.toolbench.world import SLUG, materials
from evaluator.controlllm.toolbench.world.contents import Given, Material, Want, Wanted
from evaluator.controlllm.toolbench.world.hidden import hidden_requests
from evaluator.controlllm.toolbench.world.requests import PARAPHRASES, Request, drawn_requests, public_requests
from evaluator.core import canonical_json
from evaluator.core.canonical_json import JsonValue
from evaluator.core.suites.base import Column, Conditions, Panel, Suite, Task
from evaluator.core.suites.facets import Facet
from evaluator.core.suites.hidden import HIDDEN
from evaluator.core.suites.secrets import derived
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.core.tools.types import ResourceType
from evaluator.core.values import Clip, Value
from evaluator.episodes.base import Setting
from evaluator.episodes.beside_gold import RELATIVE
from evaluator.episodes.executed import hidden_seed
from evaluator.miniature import annotations
from evaluator.miniature.seeds import PICTURES_VERSION, WORLD_VERSION, Split, split_secret
from evaluator.miniature.signs import paint_sign
from evaluator.miniature.tableaux.clips import frames_of
from evaluator.scoring.metrics import rule_names

SEVERAL = "several"
"""The metric of requests for several results: the mean of their scores."""


@dataclass(frozen=True, kw_only=True)
class WorldTask(ToolTask):
    """A request whose plans are executed and judged."""

    given: tuple[Given, ...]
    wanted: tuple[Wanted, ...]

    @property
    def answers(self) -> tuple[Task, ...]:
        """See `Task`."""
        if len(self.wanted) == 1:
            return (self,)
        return tuple(
            replace(self, wanted=(result,), metric=result.metric, expects=result.type) for result in self.wanted
        )

    @property
    def attributes(self) -> dict[str, JsonValue]:
        return {**super().attributes, "results": [*dict.fromkeys(str(result.kind) for result in self.wanted)]}

    def file(self, name: str) -> Given:
        """The file with a name."""
        return next(given for given in self.given if given.name == name)


def world_task(request: Request) -> WorldTask:
    """The task of a request.

    Raises:
        ValueError: the derived goal does not have one part for each result.
    """
    task = tool_task(request.raw)
    if task.goal is None or len(task.goal.parts) != len(request.wanted):
        raise ValueError(f"{request.raw.key} wants {len(request.wanted)} results, and its goal has other parts: {task}")
    parts = [replace(part, only=wanted.tool) for part, wanted in zip(task.goal.parts, request.wanted, strict=True)]
    goal = Goal(parts=tuple(parts), request=task.goal.request)
    facts: dict[str, Any] = {field.name: getattr(task, field.name) for field in fields(task)}
    first = request.wanted[0]
    is_several = len(request.wanted) > 1
    facts |= {
        "goal": goal,
        "gold": gold_plan(goal=goal, catalogue=CONTROLLLM),
        "metric": SEVERAL if is_several else first.metric,
        "expects": None if is_several else first.type,
        "resources": {given.name: given.type for given in request.given},
        "files": {given.name: frozenset({given.type}) for given in request.given},
    }
    return WorldTask(**facts, given=request.given, wanted=request.wanted)


SPLITS = ("public", "validation", "hidden")
DATA_VERSION = "2"
"""Increment it whenever files or references change while requests and world do not."""


def world_samples(*, profile: str, split: str, hidden_seed: str | None) -> "WorldSamples":
    """The data under a profile.

    Args:
        profile: only `lilliput` has data.
        split: `public`, `validation`, or `hidden`.
        hidden_seed: the secret of the hidden split; None for the others.

    Raises:
        LookupError: the profile has no data.
        ValueError: the split is unknown, or the seed of the hidden split is missing.
    """
    if split not in SPLITS:
        raise ValueError(f"there is no split {split!r}; there are: {', '.join(SPLITS)}")
    if profile != "lilliput":
        raise LookupError(f"requests about the miniature world have no data under profile {profile}, only lilliput")
    return WorldSamples(split=Split(split), hidden_seed=hidden_seed)


class WorldSamples:
    """Files and reference results of each request. No two requests share a file."""

    def __init__(self, *, split: Split, hidden_seed: str | None) -> None:
        """Raises ValueError if the hidden split comes without a secret, or another split with one."""
        split_secret(split=split, hidden_seed=hidden_seed)
        self._split = split
        self._hidden_seed = hidden_seed
        self.digest = canonical_json.digest(
            {"world": WORLD_VERSION, "pictures": PICTURES_VERSION, "data": DATA_VERSION, "split": split.value}
        )
        """SHA-256 over the versions and the split, without the hidden seed."""

    def missing(self, *, task: Task) -> str | None:  # noqa: ARG002 - the world has data for every request
        """See `SampleSource`."""
        return None

    def inputs(self, *, task: Task, index: int) -> Mapping[str, Value]:
        """See `SampleSource`."""
        own = cast(WorldTask, task)
        source = self._source(task=own, index=index)
        return {given.name: _value(given=given, task=own, source=source) for given in own.given}

    def reference(self, *, task: Task, index: int) -> Value:
        """See `SampleSource`: the reference of the task's first answer."""
        own = cast(WorldTask, task)
        return _reference(wanted=own.wanted[0], task=own, source=self._source(task=own, index=index))

    def inputs_key(self, *, task: Task) -> str:
        """See `SharingSource`: requests share no files."""
        return task.key

    def reference_key(self, *, task: Task) -> str:
        """See `SharingSource`: each result of a request has its own reference."""
        return f"{task.key} {cast(WorldTask, task).wanted[0]}"

    def _source(self, *, task: WorldTask, index: int) -> materials.Source:
        return materials.Source(split=self._split, hidden_seed=self._hidden_seed, key=task.key, sample=index)


@lru_cache(maxsize=512)
def _picture(given: Given, source: materials.Source) -> materials.Picture:
    return materials.picture(given=given, source=source)


def _value(*, given: Given, task: WorldTask, source: materials.Source) -> Value:
    # Needs scipy, which sites do not have: they only use the digest.
    from evaluator.controlllm.toolbench.world import references

    if given.material is Material.CLIP:
        return Clip(frames_of(materials.clip(given=given, source=source)))
    if given.material is Material.SIGN:
        return PillowImage.fromarray(paint_sign(materials.sign(given=given, source=source)))
    if given.masked:
        picture = _picture(task.file(given.masked), source)
        return references.masks_of(picture=picture, demand=given.demands[0])
    picture = _picture(given, source)
    if given.type is ResourceType.IMAGE:
        return PillowImage.fromarray(picture.painting.pixels)
    rng = np.random.default_rng([source.sample, len(given.name)])
    return PillowImage.fromarray(references.map_of(kind=str(given.type), picture=picture, rng=rng))


def _reference(*, wanted: Wanted, task: WorldTask, source: materials.Source) -> Value:
    from evaluator.controlllm.toolbench.world import references

    if wanted.kind is Want.DRAWING:
        assert wanted.sketch is not None
        return wanted.sketch.text
    if wanted.said is not None:
        return references.of_text(wanted=wanted, said=wanted.said)
    given = task.file(wanted.file)
    if given.material is Material.SIGN:
        words = materials.sign(given=given, source=source).words
        return references.of_text(wanted=wanted, said=annotations.of_words(words))
    if given.material is Material.CLIP:
        return references.of_clip(wanted=wanted, clip=materials.clip(given=given, source=source))
    return references.of_picture(wanted=wanted, picture=_picture(given, source))


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
_JUDGED = ("SE", "undecided", "SE_low", "SE_high", *DECIDED_BY.values(), "IR", "NR", "HR", "CR")
"""Columns of the judge. Its other columns compare with one gold plan and belong to suites without execution."""
_DEFAULT = frozenset({"SE", "IR", "NR"})
"""Of these, what boards show beside the score: a request has several right plans, so none is the exact one."""
# Requests share no pictures, so the samples of a request are averaged, and requests are the units of the intervals.
COLUMNS = (
    Column(
        key="score",
        label="Score",
        description="Mean over requests of the scores of their results, each compared with the ground truth.",
        primary=True,
        is_default=True,
    ),
    Column(
        key=RELATIVE,
        label="Relative",
        description="The score as a share of the gold plan's score on the same sample, at most 1, so that a weak "
        "expert does not count against the planner. Samples on which the gold plan scores 0 are omitted.",
        indicator=True,
    ),
    *(replace(column, primary=False, is_default=column.key in _DEFAULT) for column in JUDGED if column.key in _JUDGED),
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
    "Plans are executed on every sample, and each result is compared with the ground truth of the picture or clip. A "
    "request for several results scores their mean. The plans are also judged without execution: ControlLLM's metrics "
    "SE, IR, NR, HR and CR do not affect the score."
)


def _reworded(task: Task, rng: random.Random) -> str | None:
    return cast(WorldTask, task).other_words or PARAPHRASES.reworded(task.text, rng=rng)


def toolworld_suite() -> Suite:
    """The public requests; bundled, so always available."""
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
        public_draws=lambda count: map(world_task, drawn_requests(count=count)),
        hidden_requests=lambda _, seed: tuple(
            map(world_task, hidden_requests(seed=derived("requests", SLUG, seed=seed)))
        ),
        right_plans=partial(right_plans, executed=True),
    )


def samples_of(setting: Setting) -> WorldSamples:
    """The data in a setting."""
    return world_samples(profile=setting.profile, split=setting.split or "public", hidden_seed=hidden_seed(setting))
