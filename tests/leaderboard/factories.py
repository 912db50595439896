"""Rows for tests. Every function makes what it needs; arguments name only what the test is about."""

import hashlib
import itertools
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.utils import timezone

from evaluator.core.records import Outcome, Reason, ResultRecord
from leaderboard.catalog import seasons
from leaderboard.catalog.models import Season, Suite, Task
from leaderboard.evaluations.models import Evaluation, EvaluationState, Submission, TaskResult
from leaderboard.people import teams
from leaderboard.people.models import Team, User
from leaderboard.planners.data import PlannerData
from leaderboard.queue.leasing import leases
from leaderboard.queue.workers.tokens import CredentialRefusedError, Holder, enrolled
from leaderboard.submissions import services
from tests.leaderboard.suites import EXECUTED, column

_numbers = itertools.count(1)
PASSWORD = "correct horse battery staple"


def make_user(name: str = "") -> User:
    """A person with an account and the password `PASSWORD`."""
    name = name or f"person{next(_numbers)}"
    return User.objects.create_user(username=name, email=f"{name}@example.org", password=PASSWORD)


def make_team(*members: User, name: str = "") -> Team:
    """A team of these people, the first of whom owns it."""
    name = name or f"team{next(_numbers)}"
    owner, *others = members or (make_user(),)
    team = teams.create_team(owner=owner, slug=name.lower().replace(" ", "-"), name=name)
    for member in others:
        teams.invite(team=team, username=member.username, by=owner)
        assert teams.accept_invitation(team=team, user=member)
    return team


def make_suite(*, slug: str = "", runnable: int = 4, not_run: int = 0) -> Suite:
    """A suite with tasks `0`, `1`, ... that can run and `x0`, `x1`, ... that cannot."""
    slug = slug or f"suite{next(_numbers)}"
    suite = Suite.objects.create(
        slug=slug, version="1", digest=hashlib.sha256(slug.encode()).hexdigest(), title=slug,
        metrics=[column("overall", primary=True)], **EXECUTED,
    )  # fmt: skip
    keys = [str(number) for number in range(runnable)] + [f"x{number}" for number in range(not_run)]
    Task.objects.bulk_create(
        Task(suite=suite, key=key, position=position, text=f"Request {key}", structure="linear", metric="vit")
        for position, key in enumerate(keys)
    )
    return suite


def make_season(name: str = "1", **when: Any) -> Season:
    """An open season with a commitment for each suite that there is now."""
    return seasons.announce(name=name, **when)


def closed_season() -> Season:
    """A season whose single tasks are shown."""
    now = timezone.now()
    return Season.objects.get_or_create(name="closed", defaults={"opens": now, "closed": now})[0]


def planner_data(**changes: Any) -> PlannerData:
    """A bundled planner, as a user enters it."""
    return PlannerData.of(**{"name": f"planner {next(_numbers)}", "kind": "bundled", "bundled_name": "gold", **changes})


def make_submission(
    *,
    user: User | None = None,
    suite: Suite | None = None,
    team: Team | None = None,
    seen: Mapping[str, Any] | None = None,
    **planner: Any,
) -> Submission:
    """A submission to one suite; `seen` says by whom, as `visibility` and `embargo_until`."""
    data = services.SubmissionData(
        planner=planner_data(**planner),
        suites=[(suite or make_suite()).slug],
        team=team.slug if team else "",
        **(seen or {}),
    )
    return services.submit(services.validate(user=user or make_user(), data=data))


def ranked(submission: Submission) -> Submission:
    """The submission, of a planner that boards rank: the usual one is an anchor."""
    submission.planner.bundled_name = "controlllm/adaptive"
    submission.planner.save()
    return submission


def make_evaluation(
    *, state: EvaluationState = EvaluationState.QUEUED, user: User | None = None, suite: Suite | None = None
) -> Evaluation:
    """An evaluation that is queued or launching, by the functions that do it in the site."""
    evaluation = make_submission(user=user, suite=suite).evaluations.get()
    if state != EvaluationState.QUEUED:
        evaluation.state = state
        evaluation.save(update_fields=["state"])
    return evaluation


def make_regraded(original: Evaluation) -> Evaluation:
    """A completed regrade of an evaluation, under another judge that doubts every third task. Written past the
    services."""
    first = original.submission
    submission = Submission.objects.create(
        planner=first.planner, submitted_by=first.submitted_by, team=first.team, rerun_of=original, is_regrade=True,
        visibility=first.visibility, embargo_until=first.embargo_until,
    )  # fmt: skip
    copied = ("suite", "profile", "split", "samples", "season", "summary", "tasks_total", "state", "reason")
    again = Evaluation.objects.create(
        submission=submission, profile_digest="cd" * 32, state_since=timezone.now(), finished=timezone.now(),
        **{name: getattr(original, name) for name in copied},
    )  # fmt: skip
    rows = list(original.results.order_by("task__position"))
    for number, row in enumerate(rows):
        row.pk, row.evaluation, row.attempt = None, again, None
        row.score = 0.0 if row.score is not None and number % 3 == 0 else row.score
    TaskResult.objects.bulk_create(rows)
    return again


def make_lease(evaluation: Evaluation, *, worker: str = "somebody's worker") -> leases.Lease:
    """A lease of the evaluation's next shard."""
    lease = leases.lease(worker=worker, evaluation_id=evaluation.pk)
    assert lease is not None, "no shard is due"
    return lease


def make_record(task: str, *, suite: str, score: float | None = 0.5, outcome: Outcome = Outcome.SCORED) -> ResultRecord:
    """A record of one task without artefacts."""
    reasons = {Outcome.PLANNER_FAULT: Reason.INVALID_PLAN, Outcome.INFRA_FAULT: Reason.ENDPOINT_UNAVAILABLE}
    return ResultRecord(
        suite=suite,
        task=task,
        request=f"Request {task}",
        metric="vit",
        outcome=outcome,
        reason=reasons.get(outcome),
        reason_text="" if outcome is Outcome.SCORED else "A sentence.",
        score=None if outcome is Outcome.INFRA_FAULT else score,
        plan={"steps": [{"id": "s1", "tool": "Image Denoising"}], "answers": ["s1.image"], "subgoals": None},
    )


def rows(evaluation: Evaluation) -> dict[str, tuple[str, float | None]]:
    """Outcome and score by task."""
    found = TaskResult.objects.filter(evaluation=evaluation).values_list("task__key", "outcome", "score")
    return {key: (outcome, score) for key, outcome, score in found}


def expire(lease: leases.Lease) -> None:
    """Let the lease's time pass."""
    lease.attempt.expires_at = timezone.now() - timedelta(seconds=1)
    lease.attempt.save(update_fields=["expires_at"])


def let_time_pass(evaluation: Evaluation) -> None:
    """Let the present state of the evaluation have lasted too long, where it has a deadline."""
    Evaluation.runs.filter(pk=evaluation.pk, state_deadline__isnull=False).update(
        state_deadline=timezone.now() - timedelta(seconds=1)
    )


def holder(token: str) -> Holder | None:
    """The worker of an enrolment token; None if it opens no session."""
    try:
        return enrolled(token)
    except CredentialRefusedError:
        return None
