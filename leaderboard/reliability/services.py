"""Requesting reliability profiles, and cancelling their runs.

A profile consists of a completed evaluation and of its members: further runs on the same requests, and one on each
perturbed form. The queue treats members like other evaluations; boards and lists leave them out
(`Evaluation.objects`). They belong to the same submission and thus have the same readers.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from django.db import transaction
from django.utils import timezone

from evaluator.core.records import Outcome
from evaluator.core.suites.hidden import HIDDEN
from evaluator.reliability.shared_samples import samples_of_further_runs
from leaderboard.catalog.library import RunConditions, data_digest, library
from leaderboard.evaluations.models import Evaluation, EvaluationReason, EvaluationState
from leaderboard.evaluations.states import CANCELLABLE, advance
from leaderboard.evaluations.visibility import NotPossibleError, in_words
from leaderboard.people.models import User
from leaderboard.planners.kinds import kind_of
from leaderboard.platform.audit import record
from leaderboard.platform.lru_cache import SharedCache
from leaderboard.platform.models import Action
from leaderboard.queue.leasing.evaluation_locks import lock_evaluation
from leaderboard.queue.leasing.leases import cancel_attempts
from leaderboard.queue.models import OwnWorkerRun
from leaderboard.queue.shards import queue_tasks
from leaderboard.queue.workers.own import runs_on_own_worker
from leaderboard.quotas.services import charge
from leaderboard.reliability.models import Condition, ReliabilityProfile, members_with_tasks, reaching

_INSTEAD = "Submit the planner itself, such as an endpoint or an agent, to have its reliability measured."
_WITHOUT_MEMBER = (EvaluationState.FAILED, EvaluationState.CANCELLED)


def request_profile(evaluation: Evaluation, *, by: User, charged: bool = True) -> ReliabilityProfile:
    """Queue the missing members of an evaluation's profile, each charged to `by` and to the submission's team if
    `charged`.

    Before: nothing; concurrent requests are allowed.
    After: every member of a whole profile has ended or is queued, and the profile is to be measured.

    Raises:
        NotPossibleError: it cannot be measured, is being measured or has no gaps; nothing was changed.
        QuotaExceededError: user or team has too few evaluations left today; nothing was changed.
        NotReadyError: this installation cannot evaluate at present.
    """
    if why := why_not(evaluation):
        raise NotPossibleError(why)
    _check_conditions(evaluation)
    changed = _changed_tasks(evaluation)
    with transaction.atomic():
        current = lock_evaluation(evaluation.pk)
        if why := why_not(current):
            raise NotPossibleError(why)
        conditions = members_with_tasks(tasks=_tasks_of(current), changed=changed)
        missing = _missing(evaluation=current, conditions=conditions)
        if not missing:
            raise NotPossibleError("Every run of this profile was measured.")
        members = [_queue(evaluation=current, condition=each, tasks=conditions[each]) for each in missing]
        if charged:
            for member in members:
                charge(user=by, team=current.submission.team, evaluation=member)
        if runs_on_own_worker(current.pk):
            # The members run there as well: the site may have no access to the planner.
            OwnWorkerRun.objects.bulk_create(OwnWorkerRun(evaluation=member) for member in members)
        fields = {
            "requested_by": by,
            "requested_at": timezone.now(),
            "wanted": [list(condition) for condition in conditions],
            "measured_at": None,
        }
        profile, _ = ReliabilityProfile.objects.update_or_create(evaluation=current, defaults=fields)
        details = {"members": [condition.in_words() for condition in missing]}
        record(by=by, action=Action.PROFILE_REQUESTED, target=current, label=current.in_words(), details=details)
    return profile


def missing_members(evaluation: Evaluation) -> list[Condition]:
    """The members that `request_profile` would queue now, in the order of reports.

    Raises:
        NotReadyError: this installation cannot evaluate at present.
    """
    conditions = members_with_tasks(tasks=_tasks_of(evaluation), changed=_changed_tasks(evaluation))
    return _missing(evaluation=evaluation, conditions=conditions)


_changed: SharedCache[tuple[str, str, str], Mapping[str, Sequence[str]]] = SharedCache(maxsize=32)


def _changed_tasks(evaluation: Evaluation) -> Mapping[str, Sequence[str]]:
    suite, profile = evaluation.suite, evaluation.profile
    make = partial(library().perturbed_tasks, suite=suite.slug, profile=profile)
    changed = _changed.get_or_make((suite.slug, suite.digest, profile), make)
    return reaching(changed, kind=kind_of(evaluation.submission.planner))


def _missing(*, evaluation: Evaluation, conditions: Iterable[Condition]) -> list[Condition]:
    members = evaluation.members.exclude(state__in=_WITHOUT_MEMBER)
    present = {Condition(*pair) for pair in members.values_list("perturbation", "repetition")}
    return [condition for condition in conditions if condition not in present]


def why_not(evaluation: Evaluation) -> str:
    """Why the profile of this evaluation cannot be requested now, as a sentence; empty if it can."""
    if not evaluation.is_submitted or evaluation.state != EvaluationState.COMPLETED:
        return "Only a completed evaluation can have a reliability profile."
    kind = kind_of(evaluation.submission.planner)
    if not kind.can_be_asked_again:
        return f"{kind.noun} holds the same plan whatever is asked, and no confidence. {_INSTEAD}"
    if evaluation.split == HIDDEN:
        # Many runs on hidden data would bypass the limit of a planner.
        return "Runs on hidden data are limited: ask for the profile of an evaluation on open data."
    if ReliabilityProfile.objects.filter(evaluation=evaluation, measured_at=None).exists():
        return "The reliability profile is being measured."
    return ""


def cancel_profile(evaluation: Evaluation, *, by: User | None = None) -> int:
    """Cancel the members that have not ended, and return their number. Members that have ended are measured.

    Raises:
        NotPossibleError: all members have ended.
    """
    with transaction.atomic():
        current = lock_evaluation(evaluation.pk)
        running = list(current.members.filter(state__in=CANCELLABLE).order_by("pk").values_list("pk", flat=True))
        if not running:
            raise NotPossibleError("No run of this profile is under way.")
        who = in_words(by=by, submission=current.submission)
        cancelled = 0
        for member in map(lock_evaluation, running):
            if member.state in CANCELLABLE:
                reason = EvaluationReason.CANCELLED_BY_OWNER
                advance(member, target=EvaluationState.CANCELLED, reason=reason, facts={"who": who})
                cancel_attempts(member.pk)
                cancelled += 1
        details = {"members": cancelled}
        record(by=by, action=Action.PROFILE_CANCELLED, target=current, label=current.in_words(), details=details)
    return cancelled


def _check_conditions(evaluation: Evaluation) -> None:
    """Check that members would run under the conditions of the evaluation.

    Raises:
        NotPossibleError: they would not.
    """
    suite = evaluation.suite
    rules = library().rules_digest(suite=suite.slug, profile=evaluation.profile)
    data = data_digest(suite=suite, profile=evaluation.profile, split=evaluation.split)
    if not suite.current or (rules, data) != (evaluation.profile_digest, evaluation.data_digest):
        raise NotPossibleError(
            "Suite, rules or data have changed since this evaluation: run it again, then ask for the profile of the "
            "new evaluation."
        )


def _tasks_of(evaluation: Evaluation) -> list[str]:
    """The tasks that the evaluation ran, in order."""
    ran = evaluation.results.exclude(outcome=Outcome.NOT_RUN)
    return list(ran.order_by("task__position").values_list("task__key", flat=True))


def _queue(*, evaluation: Evaluation, condition: Condition, tasks: Sequence[str]) -> Evaluation:
    conditions = RunConditions.of(evaluation)
    if not evaluation.suite.in_turns and evaluation.suite.conditions["samples"]:
        # Fewer data points are enough if whole plans are executed.
        conditions = conditions._replace(samples=samples_of_further_runs(conditions.samples))
    return queue_tasks(
        submission=evaluation.submission,
        suite=evaluation.suite,
        conditions=conditions,
        keys=tasks,
        tasks_total=len(tasks),
        member_of=evaluation,
        **condition._asdict(),
    )
