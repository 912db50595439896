"""Floors: the scores of answers that need no plan.

A constant answer is one text for every scene: for each kind of answer, the reference of a scene that scores highest on
average over all scenes. It is selected on the scenes it is scored on, and so an upper bound for a planner that knows
the kind of answer and nothing about the scene. An untouched image is the input of the request, returned unchanged.
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
    """Highest share of scenes whose reference equals one answer; None for open answers."""


@dataclass(frozen=True, slots=True)
class UntouchedImages:
    """Images with a number of degradations, returned unchanged."""

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
        tasks = sum(constant.tasks for constant in self.constants)
        return sum(constant.score * constant.tasks for constant in self.constants) / tasks if tasks else None


def measure_floors(
    *, suite: Suite, tasks: Sequence[str], samples: SampleSource, count: int, scorer: Callable[[str], Scorer]
) -> Floors:
    """Score constant answers and untouched images.

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
        key = samples.reference_key(task=task) if isinstance(samples, SharingSource) else task.key
        kinds[key].append(task)
    constants = []
    for first, *others in kinds.values():
        references = [str(samples.reference(task=first, index=index)) for index in range(count)]
        candidates = list(dict.fromkeys(references))
        pairs = [(candidate, reference) for candidate in candidates for reference in references]
        outputs, expected = [output for output, _ in pairs], [reference for _, reference in pairs]
        scores = scorer.score(outputs=outputs, references=expected)
        means = np.reshape(scores, (len(candidates), len(references))).mean(axis=1)
        shares = [
            sum(is_right(answer=candidate, reference=reference) for reference in references) / count
            for candidate in candidates
        ]
        best = int(means.argmax())
        constants.append(
            ConstantAnswer(
                kind=first.kind,
                tasks=1 + len(others),
                text=candidates[best],
                score=float(means[best]),
                right=max(shares) if first.is_closed else None,
            )
        )
    return tuple(constants)


def _untouched(
    *, tasks: Sequence[Task], samples: SampleSource, count: int, scorer: Scorer
) -> tuple[UntouchedImages, ...]:
    """By the number of degradations, each of which the gold plan undoes in one step."""
    by_number: dict[int, list[float]] = defaultdict(list)
    cache: dict[str, float] = {}
    for task in tasks:
        gold = task.gold
        if gold is None or not gold.steps:
            continue
        key = samples.inputs_key(task=task) if isinstance(samples, SharingSource) else task.key
        if key not in cache:
            name = next(iter(gold.steps[0].inputs.values())).removeprefix("$")
            inputs: list[Value] = [samples.inputs(task=task, index=index)[name] for index in range(count)]
            references = [samples.reference(task=task, index=index) for index in range(count)]
            cache[key] = float(np.mean(scorer.score(outputs=inputs, references=references)))
        by_number[len(gold.steps)].append(cache[key])
    return tuple(
        UntouchedImages(degradations=number, tasks=len(scores), score=float(np.mean(scores)))
        for number, scores in sorted(by_number.items())
    )
