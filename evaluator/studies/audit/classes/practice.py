"""Do the figures of earlier evaluations on the same requests tell which plans are right?"""

import random
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from evaluator.core.planner import PlannerRequest
from evaluator.core.suites.hidden import LEAST_SHOWN
from evaluator.planners.attacks.base import Attack, Figures, Flaw, PlansOf, Target, on_whole_plans
from evaluator.planners.attacks.public_plans import MostFrequent
from evaluator.studies.audit.classes.scoring_gaps import Guesses

_CANDIDATES = 5
"""Likely plans of which one is chosen for each request."""
_OF_ONE_PLANNER = 5
"""Evaluations of a planner in a season by default; the last one counts."""
_RIDGE = 0.02
"""Variance of what a mean over a group leaves open, against 1 for each unknown score."""


class Practised:
    """Submits several guesses for each request, solves the means that it is shown for the scores of single plans, and
    gives each request the guess that then looks best.

    It knows the groups of each request, so that real attackers learn less.
    """

    def __init__(self, target: Target, *, evaluations: int) -> None:
        self._most_frequent = MostFrequent(target.public.tasks)
        self._guesses = Guesses(target, count=_CANDIDATES)
        rounds = [self._round(target, number=number) for number in range(evaluations)]
        self._chosen = _best(rounds)

    def _round(self, target: Target, *, number: int) -> "tuple[dict[str, int], Figures]":
        """One evaluation: which guess each request got, by its id, and the figures."""
        given: dict[str, int] = {}

        def plan(request: PlannerRequest) -> object:
            plans = self._plans(request)
            draw = random.Random(f"{number}/{request.task.id}")  # noqa: S311 - not for secrets
            # The first evaluations try one guess for all requests each, later ones mix them.
            place = number if number < _CANDIDATES else draw.randrange(_CANDIDATES)
            given[request.task.id] = place % len(plans)
            return plans[place % len(plans)]

        figures = target.practised(PlansOf(f"practice-{number}", plan))
        return given, figures

    def _plans(self, request: PlannerRequest) -> Sequence[Mapping[str, Any]]:
        return [self._most_frequent(request), *self._guesses.plans(request)][:_CANDIDATES]

    def __call__(self, request: PlannerRequest) -> object:
        plans = self._plans(request)
        return plans[self._chosen.get(request.task.id, 0) % len(plans)]


def _best(rounds: "Sequence[tuple[Mapping[str, int], Figures]]") -> dict[str, int]:
    """For each request the guess with the largest estimated score, by ridge regression of the means on the scores of
    all pairs of a request and a guess that were tried."""
    import numpy as np

    pairs = sorted({pair for given, _ in rounds for pair in given.items()})
    columns = {pair: number for number, pair in enumerate(pairs)}
    rows, means = [], []
    for given, figures in rounds:
        for figure in figures:
            row = np.zeros(len(pairs))
            for task in figure.tasks & given.keys():
                row[columns[task, given[task]]] = 1.0 / len(figure.tasks)
            rows.append(row)
            means.append(figure.mean)
    if not rows:
        return {}
    matrix = np.array(rows)
    tried = {guess: [number for pair, number in columns.items() if pair[1] == guess] for _, guess in pairs}
    prior = np.zeros(len(pairs))
    for guess, own in tried.items():
        alone = [figures[0].mean for given, figures in rounds if figures and set(given.values()) == {guess}]
        prior[own] = alone[0] if alone else float(np.mean(means))
    spread = matrix @ matrix.T + _RIDGE / LEAST_SHOWN * np.eye(len(rows))
    estimate = prior + matrix.T @ np.linalg.solve(spread, np.array(means) - matrix @ prior)
    chosen: dict[str, int] = {}
    for (task, guess), value in sorted(zip(pairs, estimate, strict=True), key=lambda item: (item[1], -item[0][1])):
        del value
        chosen[task] = guess
    return chosen


def _practised(target: Target, *, evaluations: int) -> PlansOf:
    return PlansOf("practised", Practised(target, evaluations=evaluations))


def _applies(target: Target, *, evaluations: int) -> bool:
    return on_whole_plans(target) and not (target.executes and evaluations > _OF_ONE_PLANNER)


def _inherent(target: Target, *, evaluations: int) -> str:
    if not target.is_hidden:
        return "The requests are a published list, and anyone can score plans for them."
    if evaluations >= _OF_ONE_PLANNER:
        return (
            "Each mean says a little about the requests. A planner has five evaluations in a season; more of them need "
            "other planners at other addresses."
        )
    return ""


FLAW = Flaw(
    name="practice",
    title="Practice on the requests that count",
    description="Do the figures of earlier evaluations on the same requests tell which plans are right?",
    attacks=tuple(
        Attack(
            name=f"figures of {evaluations} evaluations",
            description=f"Submits guesses {evaluations} times, solves the means of all groups of {LEAST_SHOWN} or more "
            "tasks for the scores of single plans, and then gives each request the guess that seems best.",
            make=partial(_practised, evaluations=evaluations),
            applies=partial(_applies, evaluations=evaluations),
            inherent=partial(_inherent, evaluations=evaluations),
            is_slow=evaluations >= _OF_ONE_PLANNER,
        )
        for evaluations in (_OF_ONE_PLANNER - 1, 24)
    ),
)
