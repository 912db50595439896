"""The suite `pointmini`: requests that point at things in pictures of the miniature world, whose plans are executed."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import cast

import numpy as np

import evaluator
from evaluator.controlllm.pointmini import SLUG
from evaluator.controlllm.pointmini.pictures import PointedPicture, draw_counted, draw_picture
from evaluator.controlllm.pointmini.requests import (
    RESULTS,
    Part,
    Request,
    drawn_requests,
    hidden_requests,
    public_requests,
)
from evaluator.core import canonical_json
from evaluator.core.canonical_json import JsonValue
from evaluator.core.marks import Mark, MarkKind
from evaluator.core.suites.base import EXACT, Column, Conditions, IntervalMethod, Panel, Suite, Task
from evaluator.core.suites.facets import STRUCTURE, Facet, Facets
from evaluator.core.suites.hidden import HIDDEN
from evaluator.core.suites.secrets import derived
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.core.values import Box, Boxes, Clip, Mask, Masks, Value
from evaluator.episodes.base import Setting
from evaluator.episodes.beside_gold import RELATIVE
from evaluator.episodes.executed import hidden_seed
from evaluator.miniature.pictures.regions import Pixels, cropped, kept
from evaluator.miniature.scenes import SIZE
from evaluator.miniature.seeds import PICTURES_VERSION, WORLD_VERSION, Split, generator, split_secret
from evaluator.scoring.metrics import rule_names

VERSION = "1"
DATA_VERSION = "1"
"""Increment it whenever pictures or references change while requests and world do not."""
SEVERAL = "several"
"""The metric of requests for several results: the mean of their scores."""
SPLITS = ("public", "validation", HIDDEN)
PROFILE = "lilliput"
"""The profile that has data."""
_SIZE = (SIZE, SIZE)
_SCORED_BY = ("scoring/metrics/pointing.py", "scoring/metrics/results", "core/naming.py")
"""Code that scores results without a model, relative to the package."""


@dataclass(frozen=True, kw_only=True)
class PointingTask(Task):
    """A request of the suite."""

    group: str
    parts: tuple[Part, ...]
    marks: Mapping[str, Mark]
    """What is marked in the pictures, by the names of the resources."""
    other_words: str

    @property
    def answers(self) -> tuple[Task, ...]:
        """See `Task`."""
        if len(self.parts) == 1:
            return (self,)
        return tuple(
            replace(self, parts=(part,), metric=RESULTS[part.want][0], expects=RESULTS[part.want][1])
            for part in self.parts
        )

    @property
    def attributes(self) -> dict[str, JsonValue]:
        marks: list[JsonValue] = list(dict.fromkeys(mark.kind.value for mark in self.marks.values()))
        return {"group": self.group, "results": [part.want for part in self.parts], "marks": marks}

    @property
    def values_given(self) -> Mapping[str, JsonValue]:
        """See `Task`: where the marks are."""
        return {name: mark.given(size=_SIZE) for name, mark in self.marks.items()}

    @property
    def relevant_tools(self) -> frozenset[str]:
        """See `Task`."""
        return frozenset() if self.gold is None else frozenset(self.gold.tools())

    def to_json(self) -> dict[str, JsonValue]:
        """See `Task`: with the places of the marks."""
        return {**super().to_json(), "given": dict(self.values_given)}


def pointing_task(request: Request) -> PointingTask:
    """The task of a request."""
    wanted = [RESULTS[part.want] for part in request.parts]
    is_several = len(wanted) > 1
    return PointingTask(
        key=request.key, text=request.text, structure="nonlinear" if is_several else "linear",
        metric=SEVERAL if is_several else wanted[0][0], resources=request.resources,
        expects=None if is_several else wanted[0][1], gold=request.gold, group=request.group, parts=request.parts,
        marks=request.marks, other_words=request.other_words,
    )  # fmt: skip


@cache
def scores_digest() -> str:
    """Digest of the code in `_SCORED_BY`."""
    package = Path(evaluator.__file__).parent
    files = [file for name in _SCORED_BY for file in sorted((package / name).rglob("*.py")) or [package / name]]
    return canonical_json.digest(
        {file.relative_to(package).as_posix(): file.read_text(encoding="utf-8") for file in files}
    )


class PointingSamples:
    """Pictures and reference results of each request. No two requests share a picture; marks are the same in all."""

    def __init__(self, *, split: Split, hidden_seed: str | None) -> None:
        """Raises ValueError if the hidden split comes without a secret, or another split with one."""
        split_secret(split=split, hidden_seed=hidden_seed)
        self._split, self._hidden_seed = split, hidden_seed
        self.digest = canonical_json.digest(
            {
                "pointing": DATA_VERSION,
                "world": WORLD_VERSION,
                "pictures": PICTURES_VERSION,
                "split": split.value,
            }
        )
        """SHA-256 over the versions and the split, without the hidden seed."""

    def missing(self, *, task: Task) -> str | None:  # noqa: ARG002 - the world has data for every request
        """See `SampleSource`."""
        return None

    def inputs(self, *, task: Task, index: int) -> Mapping[str, Value]:
        """See `SampleSource`."""
        values: dict[str, Value] = {}
        for part in cast(PointingTask, task).parts:
            values[part.image] = self.picture(task=task, part=part, index=index).image
            values |= {name: mark.value(size=_SIZE) for name, mark in part.marks.items()}
        return values

    def reference(self, *, task: Task, index: int) -> Value:
        """See `SampleSource`: the reference of the task's first answer."""
        part = cast(PointingTask, task).parts[0]
        return _REFERENCES[part.want](part, self.picture(task=task, part=part, index=index))

    def inputs_key(self, *, task: Task) -> str:
        """See `SharingSource`: requests share no pictures."""
        return task.key

    def reference_key(self, *, task: Task) -> str:
        """See `SharingSource`: each result of a request has its own reference."""
        return f"{task.key} {cast(PointingTask, task).parts[0].kind}"

    def picture(self, *, task: Task, part: Part, index: int) -> PointedPicture:
        """The picture of a part in a sample."""
        rng = generator(
            split=self._split, index=index, purpose=f"pointing {task.key} {part.image}", hidden_seed=self._hidden_seed
        )
        if part.want == "count":
            return draw_counted(rng=rng, corners=_box(part))
        return draw_picture(
            rng=rng, spots=part.spots, cast=part.cast, shape=part.shape if part.has_shape else None,
            keep_apart=part.colour if part.want == "replacement" else None,
        )  # fmt: skip


def _region(part: Part, picture: PointedPicture) -> Masks:
    return Masks(_SIZE, (Mask("", picture.painting.mask(picture.number(part.target))),))


def _from_black(after: Pixels) -> Clip:
    """An edit that begins with black, so that only what is kept scores, and no black picture does."""
    return Clip(np.stack([np.zeros_like(after), after]))


def _changed(picture: PointedPicture, after: PointedPicture) -> Clip:
    return Clip(np.stack([picture.painting.pixels, after.painting.pixels]))


def _box(part: Part) -> tuple[float, float, float, float]:
    """The corners of the box of a part."""
    (boxes,) = (mark.value(size=_SIZE) for mark in part.marks.values() if mark.kind is MarkKind.BOX)
    return cast(Boxes, boxes).items[0].corners


def _named(part: Part, picture: PointedPicture) -> Boxes:
    number = picture.number(part.target)
    return Boxes(_SIZE, (Box(picture.things[part.target].name, *picture.painting.box(number)),))


_REFERENCES: Mapping[str, Callable[[Part, PointedPicture], Value]] = {
    "region": _region,
    "cut out": lambda part, picture: _from_black(kept(picture.painting.pixels, region=_region(part, picture).union())),
    "removal": lambda part, picture: _changed(picture, picture.without(part.target)),
    "replacement": lambda part, picture: _changed(picture, picture.recoloured(part.target, colour=part.colour)),
    "crop": lambda part, picture: _from_black(cropped(picture.painting.pixels, boxes=[_box(part)])),
    "name": _named,
    "count": lambda _, picture: str(len(picture.things)),
}
"""The right result of each kind."""

_METRICS = {
    rule_names.HIT: ("Hits", "Masks: share that overlap the thing pointed at by at least 0.5 (IoU), and no other."),
    rule_names.EDIT: ("Edits", "Pictures: share of the required change that was made to the thing pointed at."),
    rule_names.REPLACED: ("Replaced", "Things in a new colour: share of their pixels, less what changed elsewhere."),
    rule_names.NAMED: ("Names", "Boxes: share that are the box of the thing pointed at with its name, and no other."),
    rule_names.ANSWER: ("Counts", "Numbers of things in a box: share that is right."),
    SEVERAL: ("Several", "Requests for several results: the mean of their scores."),
}
COLUMNS = (
    Column(
        key="score", label="Score", primary=True, is_default=True,
        description="Mean over requests of the scores of their results, each compared with the ground truth.",
    ),
    Column(
        key=RELATIVE, label="Relative", indicator=True,
        description="The score as a share of the gold plan's score on the same sample, at most 1, so that a weak "
        "expert does not count against the planner. Samples on which the gold plan scores 0 are omitted.",
    ),
    Column(
        key=EXACT, label="Exact plan", is_default=True, indicator=True, interval=IntervalMethod.WILSON,
        description="Share of tasks whose plan equals the gold plan up to the names of steps and values and the order "
        "of independent steps.",
        title="Exact plan",
    ),
    *(
        Column(key=metric, label=label, description=description, metric=metric)
        for metric, (label, description) in _METRICS.items()
    ),
)  # fmt: skip
_GROUP, _RESULT, _MARK = (
    Facet(name="group", label="Group", attribute="group"),
    Facet(name="result", label="Result", attribute="results"),
    Facet(name="mark", label="Mark", attribute="marks"),
)
FACETS = Facets(
    filters=(_GROUP, _RESULT, _MARK, STRUCTURE),
    facts=("group", "result", "mark", "structure"),
    breakdowns=("group", "mark", "result", "structure"),
    plots=("group", "mark"),
    comparisons=("group", "mark"),
)
SCORING = (
    "Plans are executed on every sample, and each result is compared with the ground truth about the one thing that is "
    "pointed at. Each picture has things that words do not tell apart from it. A request for several results scores "
    "their mean."
)


def _reworded(task: Task, rng: random.Random) -> str | None:  # noqa: ARG001 - there is one other wording
    return cast(PointingTask, task).other_words


def pointmini_suite() -> Suite:
    """The public requests; bundled, so always available."""
    return Suite(
        slug=SLUG,
        version=VERSION,
        title=SLUG,
        description="60 requests that point at one of several like things in a picture, with execution.",
        metrics=COLUMNS,
        catalogue=CONTROLLLM,
        tasks=tuple(map(pointing_task, public_requests())),
        conditions=Conditions(experts=True, samples=True, splits=SPLITS),
        panels=(Panel.SCORES, Panel.ARTEFACTS),
        scoring=SCORING,
        facets=FACETS,
        training_splits=("validation",),
        reworded=_reworded,
        public_draws=lambda count: map(pointing_task, drawn_requests(count=count)),
        hidden_requests=lambda _, seed: tuple(
            map(pointing_task, hidden_requests(seed=derived("requests", SLUG, seed=seed)))
        ),
    )


def pointing_samples(*, profile: str, split: str, hidden_seed: str | None) -> PointingSamples:
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
    if profile != PROFILE:
        raise LookupError(f"requests that point have no data under profile {profile}, only {PROFILE}")
    return PointingSamples(split=Split(split), hidden_seed=hidden_seed)


def samples_of(setting: Setting) -> PointingSamples:
    """The data in a setting."""
    return pointing_samples(profile=setting.profile, split=setting.split or "public", hidden_seed=hidden_seed(setting))
