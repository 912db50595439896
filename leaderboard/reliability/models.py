"""Requests for reliability profiles, their members and figures."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from django.conf import settings
from django.db import models

from evaluator.reliability.perturbations import PERTURBATIONS
from evaluator.reliability.perturbations import Kind as PerturbationKind
from evaluator.reliability.study import RUNS
from leaderboard.evaluations.models import Evaluation
from leaderboard.planners.kinds.base import Kind


class Condition(NamedTuple):
    """The condition of a member, with the names of `Evaluation`'s fields."""

    perturbation: str
    """Empty for unchanged requests."""
    repetition: int

    def in_words(self) -> str:
        """The name of the condition in sentences."""
        return self.perturbation or f"run {self.repetition}"


def members_with_tasks(
    *, tasks: Sequence[str], changed: Mapping[str, Iterable[str]]
) -> Mapping[Condition, Sequence[str]]:
    """The tasks of each member of a whole profile, in the order of reports; members without tasks are left out.

    Args:
        tasks: keys of the tasks that the evaluation ran, in order.
        changed: by perturbation, the tasks whose requests it changes.
    """
    members = {Condition("", repetition): list(tasks) for repetition in range(2, RUNS + 1)}
    for name, keys in changed.items():
        known = frozenset(keys)
        members[Condition(name, 1)] = [task for task in tasks if task in known]
    return {condition: keys for condition, keys in members.items() if keys}


def reaching(changed: Mapping[str, Sequence[str]], *, kind: Kind) -> Mapping[str, Sequence[str]]:
    """The perturbations that have an effect on planners of a kind. Agents receive the suite's own list of tools over
    MCP, so perturbed tools of their requests have none.

    Args:
        changed: by perturbation, the tasks whose requests it changes.
        kind: of the planner.
    """
    if not kind.is_agent:
        return changed
    of_tools = {name for name, known in PERTURBATIONS.items() if known.kind is PerturbationKind.TOOLS}
    return {name: tasks for name, tasks in changed.items() if name not in of_tools}


def name_of(condition: Condition) -> str:
    """The name of a run on pages: `run 3`, or the label of its perturbation."""
    known = PERTURBATIONS.get(condition.perturbation)
    return condition.in_words() if known is None else known.label


class ReliabilityProfile(models.Model):
    """How reliable a planner is on one suite, measured from an evaluation and its members (`Evaluation.member_of`)."""

    evaluation = models.OneToOneField(
        Evaluation, on_delete=models.CASCADE, primary_key=True, related_name="reliability"
    )
    """The first of the runs on unchanged requests."""
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    requested_at = models.DateTimeField()
    """Time of the last request; missing members of a profile with gaps can be requested again."""
    wanted = models.JSONField()
    """`[[perturbation, repetition], ...]`: its members, in the order of reports."""
    measured_at = models.DateTimeField(null=True)
    """When the figures were computed. Null: not since the last request."""
    figures = models.JSONField(null=True)
    """`evaluator.reliability.profile.Profile.to_json()`; null: never computed. Replaced when it is measured again."""
    gaps = models.JSONField(default=list)
    """`[{"perturbation", "repetition", "why"}, ...]`: members without figures, with a sentence each."""

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(measured_at=None) | models.Q(figures__isnull=False),
                name="a_measured_profile_has_figures",
            )
        ]
        indexes = [
            models.Index(fields=["requested_at"], condition=models.Q(measured_at=None), name="profiles_to_be_measured")
        ]

    def __str__(self) -> str:
        return f"reliability of {self.evaluation_id}"
