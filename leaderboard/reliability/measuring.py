"""Computation of profiles from the stored records of an evaluation and its members.

A member without figures leaves a gap with a reason; nothing is computed in its place.
"""

from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from evaluator.core.canonical_json import JsonValue
from evaluator.core.records import Outcome, ResultRecord
from evaluator.core.suites.base import IntervalMethod
from evaluator.reliability.perturbations import PERTURBATIONS, unavailable
from evaluator.reliability.profile import VERSION, profile_of
from evaluator.reliability.shared_samples import Records
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.evaluations.results.run_records import records_of
from leaderboard.evaluations.states import FINAL, Entered
from leaderboard.messages.notices import notify_of_profile
from leaderboard.planners.kinds import kind_of
from leaderboard.platform.celery import send_on_commit
from leaderboard.queue.publishing import publish_again
from leaderboard.reliability.models import Condition, ReliabilityProfile

MEASURE_TASK = "leaderboard.reliability.tasks.measure_profile"
_GOLD = "gold"
"""The bundled planner that answers with gold plans."""
_FIRST = Condition("", 1)
"""The condition of the evaluation itself."""
_ENDED = [state.value for state in FINAL]


class _Gap(NamedTuple):
    """A member without figures."""

    condition: Condition
    why: str

    def as_json(self) -> dict[str, JsonValue]:
        return {**self.condition._asdict(), "why": self.why}


def measure_when_ended(event: Entered) -> None:
    """Request the figures of a profile whose member has ended, after the commit. A lost message only causes a delay."""
    if event.state not in FINAL:
        return
    member = Evaluation.runs.filter(pk=event.evaluation_id, is_further_run=False)
    parent = member.values_list("member_of", flat=True).first()
    if parent is not None:
        send_on_commit(MEASURE_TASK, str(parent))


def unmeasured() -> QuerySet[ReliabilityProfile]:
    """Profiles whose members have all ended, and whose figures are missing or computed by another release."""
    running = Evaluation.runs.filter(member_of=OuterRef("pk"), is_further_run=False).exclude(state__in=_ENDED)
    stale = Q(measured_at=None) | ~Q(figures__version=VERSION)
    return ReliabilityProfile.objects.filter(stale, ~Exists(running)).order_by("requested_at")


def measure(evaluation_id: UUID) -> bool:
    """Compute the figures of a profile whose members have all ended.

    Before: nothing is assumed; another process may have been faster.
    After: figures and gaps are stored, and its board has a snapshot with them (True), or nothing changed (False).
    """
    profile = (
        unmeasured()
        .filter(pk=evaluation_id)
        .select_related("evaluation__suite", "evaluation__submission__planner")
        .first()
    )
    if profile is None:
        return False
    # All runs have ended, so their data cannot change; a new request has another time.
    figures, gaps = _figures(profile)
    unchanged = ReliabilityProfile.objects.filter(
        pk=profile.pk, measured_at=profile.measured_at, requested_at=profile.requested_at
    )
    with transaction.atomic():
        done = unchanged.update(figures=figures, gaps=[gap.as_json() for gap in gaps], measured_at=timezone.now())
        if done:
            # Boards have a column group for it.
            publish_again(profile.evaluation)
            if profile.measured_at is None:
                # No notice if another release had computed it before.
                notify_of_profile(evaluation_id=profile.pk, gaps=len(gaps))
    return bool(done)


def _figures(profile: ReliabilityProfile) -> tuple[dict[str, JsonValue], list[_Gap]]:
    evaluation = profile.evaluation
    # The last member of each condition: only that one may be complete.
    members = {
        Condition(member.perturbation, member.repetition): member
        for member in evaluation.members.select_related("suite")
    }
    conditions = [Condition(*pair) for pair in profile.wanted]
    runs = {condition: _run(condition=condition, member=members.get(condition)) for condition in conditions}
    measured = {condition: run for condition, run in runs.items() if isinstance(run, dict)}
    first, lost = records_of(evaluation)
    figures = profile_of(
        column=evaluation.suite.ranking_column,
        plain_runs=[first, *(run for condition, run in measured.items() if not condition.perturbation)],
        perturbed={condition.perturbation: run for condition, run in measured.items() if condition.perturbation},
        gold=_gold_records(evaluation),
        unavailable=unavailable(
            in_turns=evaluation.suite.in_turns,
            applied={condition.perturbation for condition in conditions},
            lists_tools_itself=kind_of(evaluation.submission.planner).is_agent,
        ),
    ).to_json()
    gaps = [_Gap(_FIRST, f"{_lost(lost)} They are left out.")] if lost else []
    return figures, [*gaps, *(run for run in runs.values() if isinstance(run, _Gap))]


def _run(*, condition: Condition, member: Evaluation | None) -> dict[str, ResultRecord] | _Gap:
    """The records of a member, or the reason why there are none."""
    if member is None:
        return _Gap(condition, "It was not run.")
    if member.state != EvaluationState.COMPLETED:
        return _Gap(condition, member.reason_text)
    if condition.perturbation and condition.perturbation not in PERTURBATIONS:
        return _Gap(condition, "This release does not know the perturbation.")
    records, lost = records_of(member)
    return _Gap(condition, _lost(lost)) if lost else records


def _lost(count: int) -> str:
    return f"The store has lost the records of {count} tasks."


def _gold_records(evaluation: Evaluation) -> Records | None:
    """The records of gold plans under the same conditions, for suites with graded scores; None without any."""
    if evaluation.suite.ranking_column.interval is IntervalMethod.WILSON:
        return None
    alike = Evaluation.objects.filter(
        suite=evaluation.suite_id,
        profile_digest=evaluation.profile_digest,
        split=evaluation.split,
        samples=evaluation.samples,
        data_digest=evaluation.data_digest,
        device_class=evaluation.device_class,
        state=EvaluationState.COMPLETED,
        own_worker_run=None,
        submission__planner__bundled_name=_GOLD,
    )
    newest = alike.order_by("-finished", "pk").first()
    records = {} if newest is None else records_of(newest)[0]
    return records if any(record.outcome is Outcome.SCORED for record in records.values()) else None
