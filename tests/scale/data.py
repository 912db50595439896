"""A large installation, made up: users, planners, evaluations and the results of their tasks. Needs Django set up.

Every number is drawn from one seed and is none that anything measured; the database is thrown away with the test.
"""

import random
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.models import Model
from django.utils import timezone
from psycopg.types.json import Jsonb

from evaluator.core.records import Outcome, Reason, ResultRecord
from evaluator.core.values import Artefact, MediaType
from evaluator.execution.engine.store import LocalStore
from leaderboard.boards.contents import content_of
from leaderboard.boards.eligible import published
from leaderboard.boards.models import Snapshot
from leaderboard.boards.services import publish
from leaderboard.catalog.library import conditions_of
from leaderboard.catalog.models import Season, Suite, Task
from leaderboard.evaluations.models import Attempt, Evaluation, EvaluationState, Shard, Submission
from leaderboard.messages.models import OutboxMessage, Webhook
from leaderboard.messages.webhooks import MOST_WEBHOOKS
from leaderboard.people.models import Membership, Role, Team, User
from leaderboard.people.services import create_token
from leaderboard.planners.models import Planner
from leaderboard.platform.models import AuditEntry
from leaderboard.queue.jobs import accept
from leaderboard.queue.workers.tokens import create_worker_token
from leaderboard.quotas.models import QuotaEntry
from leaderboard.reliability.models import ReliabilityProfile
from leaderboard.rewards.services import REWARDS
from leaderboard.submissions.endpoint_tests import ENDPOINT_TEST
from leaderboard.submissions.pending import SUBMISSION
from tests.leaderboard.factories import make_regraded
from tests.leaderboard.reliability.factories import make_profile
from tests.scale.wide_suite import SLUG as WIDE

FEWEST = 12
"""Evaluations of a suite, with which its first user has one that runs and two that everybody sees."""
_REASONS = {
    Outcome.PLANNER_FAULT: (Reason.INVALID_PLAN, "The plan calls a tool that there is not."),
    Outcome.INFRA_FAULT: (Reason.WORKER_LOST, "The worker was lost."),
}
_RESULT_COLUMNS = (
    "evaluation_id", "task_id", "outcome", "reason", "reason_text", "score", "indicators", "seconds", "plan_summary",
    "record_digest", "accepted", "updated",
)  # fmt: skip


_TEAMS, _MEMBERS, _MESSAGES = 5, 20, 500
_FURNISH = """
INSERT INTO evaluations_shard (evaluation_id, number, task_keys, state, tries, available_at)
SELECT e.id, number, '["0", "1", "2", "3", "4", "5", "6", "7"]', 'done', 1, now()
  FROM evaluations_evaluation e, generate_series(0, (e.tasks_total - 1) / 100) number;
INSERT INTO evaluations_attempt
       (id, shard_id, user_id, number, state, worker, token_hash, leased_at, expires_at, ended_at, reason)
SELECT gen_random_uuid(), s.id, u.submitted_by_id, 1, 'completed', 'worker-1', md5(s.id::text), now(), now(), now(), ''
  FROM evaluations_shard s JOIN evaluations_evaluation e ON e.id = s.evaluation_id
  JOIN evaluations_submission u ON u.id = e.submission_id;
INSERT INTO queue_attemptlog (attempt_id, next_line, size, cut)
SELECT id, 10, 500, false FROM evaluations_attempt;
INSERT INTO queue_logchunk (log_id, first, lines)
SELECT id, first, '[[1700000000, "INFO", "asking the planner for 8 plans"], [1700000001, "INFO", "8 plans executed"]]'
  FROM evaluations_attempt, generate_series(0, 8, 2) first;
INSERT INTO quotas_quotaentry (user_id, suite, day, evaluation_id, amount, reason, created)
SELECT u.submitted_by_id, s.slug, current_date - (random() * 300)::int, e.id, 1, 'submitted', now()
  FROM evaluations_evaluation e JOIN evaluations_submission u ON u.id = e.submission_id
  JOIN catalog_suite s ON s.id = e.suite_id;
INSERT INTO quotas_quotabalance (user_id, suite, day, used, charged)
SELECT user_id, suite, day, count(*), count(*) FROM quotas_quotaentry GROUP BY user_id, suite, day;
INSERT INTO platform_auditentry (at, actor_key, actor, action, target_kind, target, label, details)
SELECT now() - interval '1 minute' * number, u.submitted_by_id, p.username, 'submitted', 'evaluation', e.id::text,
       'a planner', '{}'
  FROM evaluations_evaluation e JOIN evaluations_submission u ON u.id = e.submission_id
  JOIN people_user p ON p.id = u.submitted_by_id, generate_series(1, 5) number;
INSERT INTO outbox_outboxmessage
       (id, kind, payload, dedup_key, created, available_at, tries, sent_at, given_up_at, last_error)
SELECT gen_random_uuid(), 'mail', '{}', '', now(), now(), 1, now(), NULL, ''
  FROM evaluations_evaluation, generate_series(1, 6);
"""


class TooFewError(ValueError):
    """So few evaluations that some suite would lack what its pages need; the message says how many are needed."""


@dataclass(frozen=True, slots=True)
class Share:
    """How many of the evaluations are of a suite."""

    suite: Suite
    evaluations: int


def populate(*, evaluations: int, results: int, users: int, seed: int = 0) -> dict[str, int]:
    """Fill the database and publish every board. Returns how many rows of each kind there are."""
    rng = random.Random(seed)
    call_command("migrate", verbosity=0)
    call_command("register_suites", verbosity=0)
    shares = _shares(evaluations=evaluations, results=results)
    people = _users(users)
    total = 0
    for share in shares:
        made = _evaluations(share=share, people=people, rng=rng)
        total += _results(share=share, evaluations=made, rng=rng)
        publish(made[-1])
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return {"evaluations": evaluations, "results": total, "users": users}


def spread(*, evaluations: int, results: int, sizes: Sequence[int]) -> list[int]:
    """How many evaluations each suite gets: so many of the last and widest one as bring the results to the wanted
    number, as far as that is possible, and the others in equal parts. Each gets at least `FEWEST`.

    Args:
        evaluations: of all suites together.
        results: wanted of all suites together.
        sizes: tasks of each suite.

    Raises:
        TooFewError: that many evaluations do not give each suite its fewest.
    """
    *others, widest = sizes
    least = FEWEST * len(sizes)
    if evaluations < least:
        raise TooFewError(f"{evaluations} evaluations are too few: {len(sizes)} suites need {least}, {FEWEST} each")
    size = sum(others) / len(others)
    wanted = round((results - evaluations * size) / (widest - size))
    wide = max(FEWEST, min(evaluations - FEWEST * len(others), wanted))
    each, rest = divmod(evaluations - wide, len(others))
    return [*(each + (number < rest) for number in range(len(others))), wide]


def planners_of(evaluations: int) -> int:
    """Planners of a suite. Evaluation `number` is of planner `number % planners`, which makes up to four of each."""
    return (evaluations + 3) // 4


def under_way(evaluations: int) -> range:
    """Numbers of the evaluations of a suite that are under way, one in a hundred: the first of every 25th planner, so
    that its further ones are completed."""
    return range(0, planners_of(evaluations), 25)


def is_private(number: int) -> bool:
    """One in twenty, so that every condition on who sees an evaluation has something to leave out."""
    return number % 20 == 11


def _shares(*, evaluations: int, results: int) -> list[Share]:
    others = list(Suite.objects.filter(current=True).exclude(slug=WIDE).order_by("slug"))
    suites = [*others, Suite.objects.get(slug=WIDE, current=True)]
    counts = spread(evaluations=evaluations, results=results, sizes=[suite.tasks.count() for suite in suites])
    return [Share(suite, count) for suite, count in zip(suites, counts, strict=True)]


def _users(count: int) -> list[User]:
    return User.objects.bulk_create(User(username=f"person{number:04}") for number in range(count))


def _evaluations(*, share: Share, people: Sequence[User], rng: random.Random) -> list[Evaluation]:
    """Planners with up to four submissions each; one evaluation in a hundred is under way."""
    now = timezone.now()
    planners = Planner.objects.bulk_create(
        Planner(
            owner=people[number % len(people)], name=f"{share.suite.slug} planner {number}", kind="bundled",
            bundled_name="gold",
        )
        for number in range(planners_of(share.evaluations))
    )  # fmt: skip
    submissions = Submission.objects.bulk_create(
        Submission(
            planner=planner, submitted_by=planner.owner, visibility="private" if is_private(number) else "public"
        )
        for number in range(share.evaluations)
        for planner in [planners[number % len(planners)]]
    )
    conditions = conditions_of(share.suite)._asdict()
    tasks = Task.objects.filter(suite=share.suite).count()
    running = under_way(share.evaluations)
    made = []
    for number, submission in enumerate(submissions):
        state = "running" if number in running else "completed"
        ended = now - timedelta(minutes=share.evaluations - number)
        made.append(
            Evaluation(
                submission=submission, suite=share.suite, **conditions, state=state, state_since=ended,
                state_deadline=None if state == "completed" else now + timedelta(hours=6), reason="published",
                reason_text="Published.", tasks_total=tasks, finished=ended if state == "completed" else None,
                provenance={"suite_digest": share.suite.digest, "workers": []},
                summary=_summary(suite=share.suite, tasks=tasks, rng=rng) if state == "completed" else None,
            )
        )  # fmt: skip
    return Evaluation.runs.bulk_create(made, batch_size=500)


def _summary(*, suite: Suite, tasks: int, rng: random.Random) -> dict[str, Any]:
    metrics = {}
    for metric in suite.metrics:
        mean = rng.random() * 0.9
        metrics[metric["key"]] = {"mean": mean, "low": mean - 0.03, "high": mean + 0.03, "tasks": tasks}
    usage = {
        "seconds": {"mean": rng.random() * 20, "tasks": tasks},
        "prompt_tokens": {"mean": 500 + rng.random() * 4000, "tasks": tasks},
        "completion_tokens": {"mean": 20 + rng.random() * 300, "tasks": tasks},
    }
    return {"metrics": metrics, "outcomes": {"scored": tasks}, "usage": usage}


def _results(*, share: Share, evaluations: Sequence[Evaluation], rng: random.Random) -> int:
    tasks = list(Task.objects.filter(suite=share.suite).order_by("position"))
    digests = _records(suite=share.suite, tasks=tasks)
    now = timezone.now()
    columns = ", ".join(_RESULT_COLUMNS)
    count = 0
    with connection.cursor() as cursor, cursor.copy(f"COPY evaluations_taskresult ({columns}) FROM STDIN") as copy:
        for evaluation in evaluations:
            share_done = 1.0 if evaluation.state == EvaluationState.COMPLETED else 0.5
            for row in _rows(evaluation=evaluation, tasks=tasks[: int(len(tasks) * share_done)], now=now, rng=rng):
                copy.write_row((*row[:9], digests[row[1]], *row[9:]))
                count += 1
    return count


def _rows(
    *, evaluation: Evaluation, tasks: Sequence[Task], now: datetime, rng: random.Random
) -> Iterator[tuple[Any, ...]]:
    judged = not evaluation.suite.runs_experts
    keys = [metric["key"] for metric in evaluation.suite.metrics] if judged else []
    for task in tasks:
        fault = rng.random() < 0.1
        outcome = Outcome.PLANNER_FAULT if fault else Outcome.SCORED
        reason, text = _REASONS.get(outcome, ("", ""))
        score = 0.0 if fault else rng.random()
        indicators = {key: float(rng.random() < 0.7) for key in keys}
        # What the judge leaves undecided counts 0.
        indicators |= {
            column.key: 0.0 for column in evaluation.suite.columns if indicators.get(column.undecided or "", 0.0)
        }
        yield (
            evaluation.pk, task.pk, str(outcome), str(reason), text, score, Jsonb(indicators), rng.random(),
            "Image Denoising → Image Deblurring → Image Captioning", False, now,
        )  # fmt: skip


def _records(*, suite: Suite, tasks: Sequence[Task]) -> dict[int, str]:
    """A record for each task, which all evaluations share: the store is as slow with one as with many."""
    store = LocalStore(settings.STORE_DIR / "public")
    found = {}
    for task in tasks:
        record = ResultRecord(
            suite=suite.slug, task=task.key, request=task.text, metric=task.metric, outcome=Outcome.SCORED, score=0.5,
            plan_received=task.gold, plan=task.gold,
        )  # fmt: skip
        data = record.model_dump_json().encode()
        found[task.pk] = store.put(Artefact(data=data, media_type=MediaType.TEXT))
    return found


def furnish() -> dict[str, int]:
    """What the queue, the ledger, the log and the outbox hold of so many evaluations, and the belongings of one user.

    Returns how many rows of each kind there are.
    """
    with connection.cursor() as cursor:
        cursor.execute(_FURNISH)
    owner = User.objects.order_by("pk")[0]
    people = list(User.objects.exclude(pk=owner.pk).order_by("pk")[:_MEMBERS])
    for number in range(_TEAMS):
        team = Team.objects.create(slug=f"lab{number}", name=f"Lab {number}")
        Membership.objects.create(team=team, user=owner, role=Role.OWNER)
        Membership.objects.bulk_create(Membership(team=team, user=user) for user in people)
    User.objects.get_or_create(username="operator", defaults={"is_staff": True})
    for number in range(MOST_WEBHOOKS):
        webhook = Webhook.objects.create(owner=owner, url=f"https://example.org/{number}", secret="made up")
        payload = {"webhook": str(webhook.pk), "event": "evaluation.completed"}
        OutboxMessage.objects.bulk_create(
            OutboxMessage(kind="webhook", payload=payload, sent_at=timezone.now()) for _ in range(_MESSAGES)
        )
        create_token(user=owner)
        create_worker_token(owner=owner, name=f"machine {number}")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return {"shards": Shard.objects.count(), "attempts": Attempt.objects.count(), "messages": _count(OutboxMessage),
            "audit": _count(AuditEntry), "ledger": _count(QuotaEntry)}  # fmt: skip


def _count(model: type[Model]) -> int:
    return model._default_manager.count()


def _profiled(evaluation: Evaluation) -> UUID:
    """Primary key of the evaluation, which has a reliability profile then."""
    if not ReliabilityProfile.objects.filter(evaluation=evaluation).exists():
        make_profile(evaluation)
    return evaluation.pk


def examples() -> Iterator[dict[str, Any]]:
    """For `tests.routes`: the things of one user, with an evaluation that ended and one that runs, of each suite."""
    owner = User.objects.order_by("pk")[0]
    store = LocalStore(settings.STORE_DIR / "hidden")
    hidden = store.put(Artefact(data=b"made up", media_type=MediaType.TEXT))
    kinds = {"job": ENDPOINT_TEST, "rewards_job": REWARDS, "pending_job": SUBMISSION}
    jobs = {name: accept(kind=kind, owner=owner, request=None).pk for name, kind in kinds.items()}
    newest = Evaluation.runs.filter(verifies=None).order_by("-created", "-id")
    far = newest.values_list("created", flat=True)[newest.count() * 9 // 10]
    for suite in Suite.objects.filter(current=True).order_by("slug"):
        of_suite = Evaluation.runs.filter(suite=suite).order_by("created", "pk")
        own = list(published().filter(suite=suite, submission__submitted_by=owner).order_by("created", "pk")[:2])
        number = Snapshot.objects.filter(suite=suite).latest("number").number
        task = Task.objects.filter(suite=suite).order_by("position")[3]
        running = of_suite.filter(state=EvaluationState.RUNNING)[0]
        things = {
            "suite": suite.slug,
            "number": number,
            "task": task.key,
            "metric": task.metric,
            "compared": content_of(Snapshot.objects.get(suite=suite, number=number)).rows[0]["evaluation"],
            "other": own[1].pk,
            "profiled": _profiled(own[0]),
            "regraded": make_regraded(own[0]).pk,
            "team": "lab0",
            "username": owner.username,
            "planner_id": own[0].submission.planner_id,
            "chapter": "api",
            "season": Season.objects.get_or_create(name="season", defaults={"opens": timezone.now()})[0].name,
            "digest": own[0].results.exclude(record_digest="")[0].record_digest,
            "hidden_digest": hidden,
            **jobs,
            "cursor": b64encode(urlencode({"p": str(far)}).encode()).decode(),
        }
        for evaluation in (own[0], running):
            yield {**things, "evaluation": evaluation.pk, "submission": evaluation.submission_id}
