"""Floors: what answers score that no plan was needed for.

A constant answer is one text for every scene: of each kind of answer the one, among the references of the scenes, that
scores highest on average over them. It was chosen on the scenes that it is scored on, so that it is an upper bound of
what a planner gets that knows the kind of the answer and nothing of the scene. An untouched image is the request's own
input, handed back.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evaluator.core.suites.base import Suite, Task
from evaluator.core.suites.samples import SampleSource, SharingSource
from evaluator.core.values import Value
from evaluator.scoring.metrics.results.texts import is_right
from evaluator.scoring.metrics.scorers.base import Scorer


@dataclass(frozen=True, slots=True)
class ConstantAnswer:
    """The best constant answer of one kind."""

    kind: str
    tasks: int
    text: str
    score: float
    """Mean BERT score over the scenes."""
    right: float | None
    """Share of scenes whose reference it equals, of the answer with the highest share; None where answers are open."""


@dataclass(frozen=True, slots=True)
class UntouchedImages:
    """Images with so many degradations, handed back as they are."""

    degradations: int
    tasks: int
    score: float
    """Mean image score over tasks and scenes."""


@dataclass(frozen=True, slots=True)
class Floors:
    """All floors of a suite."""

    constants: tuple[ConstantAnswer, ...]
    untouched: tuple[UntouchedImages, ...]

    @property
    def constant_score(self) -> float | None:
        """Mean BERT score of constant answers over the tasks with one text as answer; None without such tasks."""
        tasks = sum(one.tasks for one in self.constants)
        return sum(one.score * one.tasks for one in self.constants) / tasks if tasks else None


def measure_floors(
    *, suite: Suite, tasks: Sequence[str], samples: SampleSource, count: int, scorer: Callable[[str], Scorer]
) -> Floors:
    """Measure what constant answers and untouched images score.

    Args:
        tasks: keys of the tasks; those without data are left out.
        samples: the data.
        count: scenes.
        scorer: makes the scorer of a metric.
    """
    chosen = [task for task in map(suite.task, tasks) if task.gold is not None and len(task.answers) == 1]
    known = [task for task in chosen if not samples.missing(task=task)]
    texts = [task for task in known if task.metric == "BERT"]
    images = [task for task in known if task.metric == "ViT"]
    return Floors(
        constants=_constants(tasks=texts, samples=samples, count=count, scorer=scorer("BERT")) if texts else (),
        untouched=_untouched(tasks=images, samples=samples, count=count, scorer=scorer("ViT")) if images else (),
    )


def _constants(
    *, tasks: Sequence[Task], samples: SampleSource, count: int, scorer: Scorer
) -> tuple[ConstantAnswer, ...]:
    """By kind of answer, in the order of the suite."""
    kinds: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        kinds[_reference_key(task, samples=samples)].append(task)
    return tuple(_constant(tasks=same, samples=samples, count=count, scorer=scorer) for same in kinds.values())


def _constant(*, tasks: Sequence[Task], samples: SampleSource, count: int, scorer: Scorer) -> ConstantAnswer:
    references = [str(samples.reference(task=tasks[0], index=index)) for index in range(count)]
    candidates = list(dict.fromkeys(references))
    pairs = [(candidate, reference) for candidate in candidates for reference in references]
    scores = scorer.score(outputs=[one for one, _ in pairs], references=[reference for _, reference in pairs])
    means = np.reshape(scores, (len(candidates), len(references))).mean(axis=1)
    shares = [
        sum(is_right(answer=candidate, reference=reference) for reference in references) / count
        for candidate in candidates
    ]
    best = int(means.argmax())
    return ConstantAnswer(
        kind=tasks[0].kind,
        tasks=len(tasks),
        text=candidates[best],
        score=float(means[best]),
        right=max(shares) if tasks[0].is_closed else None,
    )


def _untouched(
    *, tasks: Sequence[Task], samples: SampleSource, count: int, scorer: Scorer
) -> tuple[UntouchedImages, ...]:
    """By the number of degradations, each of which the gold plan undoes by one step."""
    found: dict[int, list[float]] = defaultdict(list)
    known: dict[str, float] = {}
    for task in tasks:
        gold, key = task.gold, _inputs_key(task, samples=samples)
        if gold is None or not gold.steps:
            continue
        if key not in known:
            name = next(iter(gold.steps[0].inputs.values())).removeprefix("$")
            given: list[Value] = [samples.inputs(task=task, index=index)[name] for index in range(count)]
            right = [samples.reference(task=task, index=index) for index in range(count)]
            known[key] = float(np.mean(scorer.score(outputs=given, references=right)))
        found[len(gold.steps)].append(known[key])
    return tuple(
        UntouchedImages(degradations=number, tasks=len(scores), score=float(np.mean(scores)))
        for number, scores in sorted(found.items())
    )


def _reference_key(task: Task, *, samples: SampleSource) -> str:
    return samples.reference_key(task=task) if isinstance(samples, SharingSource) else task.key


def _inputs_key(task: Task, *, samples: SampleSource) -> str:
    return samples.inputs_key(task=task) if isinstance(samples, SharingSource) else task.key
