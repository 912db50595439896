"""What the load test does to the database, and what it reads from it. Imported when Django is set up."""

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import connection, models, transaction
from django.db.models import Count, Max, Min, Q, QuerySet, Window
from django.db.models.functions import Lag
from django.utils import timezone

from leaderboard.boards.services import publish
from leaderboard.evaluations import states
from leaderboard.evaluations.models import (
    Attempt,
    AttemptState,
    Evaluation,
    EvaluationState,
    Shard,
    ShardState,
    Submission,
    TaskResult,
)
from leaderboard.people.models import User
from leaderboard.planners.data import PlannerData
from leaderboard.submissions import services
from tests.leaderboard.factories import make_suite

_ENDED = [state.value for state in states.FINAL]
_LEASED_SOON = [EvaluationState.QUEUED, *states.LEASABLE]
VERSION = "before the test"
"""Version of the planners of such evaluations, and their worker, by which the report leaves them out."""
MEASURED = ~Q(submission__version=VERSION)
"""A condition on evaluations: they are of the test itself."""

_COPY = """
CREATE TEMPORARY TABLE copied ON COMMIT DROP AS
SELECT e.id AS of_evaluation, e.submission_id AS of_submission, number,
       gen_random_uuid() AS evaluation, gen_random_uuid() AS submission
  FROM evaluations_evaluation e JOIN evaluations_submission s ON s.id = e.submission_id,
       generate_series(2, %(each)s) number
 WHERE s.version = %(version)s;
INSERT INTO evaluations_submission (id, {of_submission})
SELECT c.submission, {of_submission} FROM copied c JOIN evaluations_submission o ON o.id = c.of_submission;
INSERT INTO evaluations_evaluation (id, submission_id, {of_evaluation})
SELECT c.evaluation, c.submission, {of_evaluation}
  FROM copied c JOIN evaluations_evaluation o ON o.id = c.of_evaluation;
CREATE TEMPORARY TABLE ended ON COMMIT DROP AS
SELECT e.id, e.suite_id, s.submitted_by_id, random() AS score, now() - random() * interval '30 days' AS at
  FROM evaluations_evaluation e JOIN evaluations_submission s ON s.id = e.submission_id WHERE s.version = %(version)s;
UPDATE evaluations_evaluation e SET state = 'completed', reason = 'published', state_deadline = NULL,
       state_since = at, created = at, finished = at, summary = jsonb_build_object(
           'metrics', jsonb_build_object('overall', jsonb_build_object('mean', score, 'tasks', tasks_total)),
           'outcomes', jsonb_build_object('scored', tasks_total))
  FROM ended WHERE ended.id = e.id;
DELETE FROM evaluations_shard WHERE evaluation_id IN (SELECT id FROM ended);
INSERT INTO evaluations_shard (evaluation_id, number, task_keys, state, tries, available_at)
SELECT ended.id, position, jsonb_build_array(key), 'done', 1, at FROM ended JOIN catalog_task USING (suite_id);
INSERT INTO evaluations_attempt
       (id, shard_id, user_id, number, state, worker, token_hash, leased_at, expires_at, ended_at, reason)
SELECT gen_random_uuid(), s.id, submitted_by_id, 1, 'completed', %(version)s, md5(s.id::text), at, at, at, ''
  FROM evaluations_shard s JOIN ended ON ended.id = s.evaluation_id;
INSERT INTO evaluations_taskresult
       (evaluation_id, task_id, outcome, reason, reason_text, score, indicators, causes, seconds, plan_summary,
        record_digest, attempt_id, accepted, updated)
SELECT ended.id, task.id, 'scored', '', '', score, '{{}}', '[]', 1, '', '', attempt.id, false, at
  FROM ended JOIN catalog_task task USING (suite_id)
  JOIN evaluations_shard shard ON shard.evaluation_id = ended.id AND shard.number = task.position
  JOIN evaluations_attempt attempt ON attempt.shard_id = shard.id;
"""


def prepare(*, tasks: int) -> str:
    """Make the tables and a suite of so many tasks, and return the suite's name."""
    call_command("migrate", verbosity=0)
    return make_suite(slug="trivial", runnable=tasks).slug


def add_history(*, suite: str, users: int, total: int) -> None:
    """Add evaluations that had ended before the test, the same number for each user: copies, in SQL, of one evaluation
    of each. Nothing measured their scores."""
    submit_all(suite=suite, counts=[1] * users, version=VERSION)
    sql = _COPY.format(
        of_submission=_columns(Submission, without=["id"]),
        of_evaluation=_columns(Evaluation, without=["id", "submission_id"]),
    )
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql % {"each": max(1, total // users), "version": f"'{VERSION}'"})
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    publish(Evaluation.objects.filter(~MEASURED).select_related("suite").earliest("finished"))


def unequal(*, total: int, users: int) -> list[int]:
    """How many evaluations each user has: in even steps from the first to the last, who has three times as many."""
    weights = [1 + 2 * number / max(1, users - 1) for number in range(users)]
    bounds = [round(total * sum(weights[:number]) / sum(weights)) for number in range(users + 1)]
    return [after - before for before, after in pairwise(bounds)]


def submit_all(*, suite: str, counts: Sequence[int], version: str = "") -> None:
    """Submit so many evaluations for each user, in turns, each with the user's one planner. None is `gold`, whose
    scores change what is known of all others."""
    users = [User.objects.get_or_create(username=f"user{number:02}")[0] for number in range(len(counts))]
    for turn in range(max(counts)):
        for user, count in zip(users, counts, strict=True):
            if turn < count:
                planner = PlannerData.of(
                    name=f"planner of {user.username}", kind="bundled", bundled_name="random-valid"
                )
                data = services.SubmissionData(planner=planner, suites=[suite], version=version)
                services.submit(services.validate(user=user, data=data))


def states() -> dict[str, int]:
    """How many evaluations there are in each state."""
    found = Evaluation.objects.filter(MEASURED).order_by().values_list("state").annotate(count=Count("pk"))
    return {str(state): count for state, count in found}


def ages() -> dict[str, tuple[float, float]]:
    """Of each state that is not final: seconds of the oldest, and the most of its deadline that anyone has used up."""
    now = timezone.now()
    found: dict[str, tuple[float, float]] = {}
    rows = Evaluation.objects.exclude(state__in=_ENDED).values_list("state", "state_since", "state_deadline")
    for state, since, deadline in rows:
        age = (now - since).total_seconds()
        # Whoever waits for a worker has no deadline.
        used = age / (deadline - since).total_seconds() if deadline is not None else 0.0
        oldest, most = found.get(state, (0.0, 0.0))
        found[state] = (max(oldest, age), max(most, used))
    return found


def waiting_shards() -> int:
    """How many shards a worker can take now, or once their evaluations are launched."""
    return Shard.objects.filter(state=ShardState.PENDING, evaluation__state__in=_LEASED_SOON).count()


def doubled_leases() -> dict[str, int]:
    """What must not be: shards that were completed twice, leases of a shard that another worker still held, and results
    of an attempt that did not complete its shard."""
    completed = Attempt.objects.order_by().filter(state=AttemptState.COMPLETED)
    before = Window(Lag("ended_at"), partition_by="shard", order_by="number")
    history = Attempt.objects.annotate(before=before).order_by("shard", "number")
    rows = list(history.values_list("number", "leased_at", "before"))
    return {
        "completed_twice": completed.values("shard").annotate(count=Count("pk")).filter(count__gt=1).count(),
        "held_by_two": sum(number > 1 and (end is None or leased < end) for number, leased, end in rows),
        "results_of_others": TaskResult.objects.exclude(attempt__state=AttemptState.COMPLETED).count(),
    }


def owners_of_leases() -> list[str]:
    """Whose shard each lease was of, in order."""
    user = "shard__evaluation__submission__submitted_by__username"
    return list(_attempts().order_by("leased_at").values_list(user, flat=True))


def shards_by_user() -> dict[str, int]:
    """How many shards each user has."""
    user = "evaluation__submission__submitted_by__username"
    shards = Shard.objects.filter(evaluation__in=Evaluation.objects.filter(MEASURED))
    return dict(shards.order_by().values_list(user).annotate(count=Count("pk")))


def attempts() -> list[tuple[str, float, float]]:
    """Worker, when it leased and when it ended, of each attempt that was completed."""
    rows = _attempts().filter(state=AttemptState.COMPLETED).values_list("worker", "leased_at", "ended_at")
    return [(worker, leased.timestamp(), ended.timestamp()) for worker, leased, ended in rows]


def attempt_states() -> dict[str, int]:
    """How many attempts there are in each state."""
    return dict(_attempts().order_by().values_list("state").annotate(count=Count("pk")))


def _attempts() -> QuerySet[Attempt]:
    return Attempt.objects.exclude(worker=VERSION)


def waits_for_publication() -> list[float]:
    """Of each evaluation that has ended: seconds between its last attempt's end and its own."""
    last = Evaluation.objects.filter(MEASURED, state__in=_ENDED).annotate(last=Max("shards__attempts__ended_at"))
    rows: Any = last.values_list("last", "finished")
    return [(finished - done).total_seconds() for done, finished in rows if done is not None]


def span() -> tuple[datetime, datetime, datetime]:
    """The first lease, the end of the last attempt, and the end of the last evaluation."""
    leased = _attempts().aggregate(first=Min("leased_at"), last=Max("ended_at"))
    finished = Evaluation.objects.aggregate(last=Max("finished"))["last"]
    return leased["first"], leased["last"], finished


def server_pid() -> int:
    """Process id of the PostgreSQL server."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW data_directory")
        folder = Path(cursor.fetchone()[0])
    return int((folder / "postmaster.pid").read_text().splitlines()[0])


def _columns(model: type[models.Model], *, without: Sequence[str]) -> str:
    return ", ".join(f"{field.column}" for field in model._meta.concrete_fields if field.column not in without)
