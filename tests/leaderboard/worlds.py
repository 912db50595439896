"""A site with something on every page, in a chosen size: no page must cost more queries the more there is.

Rows are written past the services, so that a large site takes a second. Nothing in it was measured.
"""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.db import connection
from django.utils import timezone

from evaluator.core.records import Outcome, ResultRecord
from evaluator.core.suites.hidden import HIDDEN
from evaluator.core.values import Artefact, MediaType
from leaderboard.boards.services import publish
from leaderboard.catalog.library import NO_PROFILE
from leaderboard.catalog.models import Season, Suite, Task
from leaderboard.evaluations.models import Attempt, Evaluation, Shard, Submission, TaskResult
from leaderboard.evaluations.results.objects import server_store
from leaderboard.messages.models import Kind, OutboxMessage, Webhook
from leaderboard.people.models import Invitation, Membership, Role, Team, User
from leaderboard.people.services import create_token
from leaderboard.planners.models import Planner
from leaderboard.platform.models import Action, AuditEntry
from leaderboard.queue.models import AttemptLog, Job, LogChunk, OwnWorkerRun, Verification, WorkerToken
from leaderboard.quotas.models import QuotaBalance, QuotaEntry
from tests.leaderboard.factories import make_regraded
from tests.leaderboard.reliability.factories import make_profile
from tests.leaderboard.suites import EXECUTED, JUDGED, column, indicator
from tests.leaderboard.votes.factories import bundled, make_pair, make_vote
from tests.leaderboard.workbench.factories import make_run

_numbers = count(1)
_FAR_CURSOR = b64encode(urlencode({"p": "2100-01-01 00:00:00+00:00"}).encode()).decode()
_FIVE = ("SE", "IR", "NR", "HR", "CR")


@dataclass(frozen=True, slots=True)
class World:
    """Who reads, and what there is to read."""

    owner: User
    staff: User
    member: User
    """Of the team that the owner submitted most for."""
    things: tuple[dict[str, Any], ...]
    """For `tests.routes`: of a suite that executes and of one that judges, of what runs and of what is verified."""
    rows: dict[str, Any]
    """Primary keys for the operators' pages, by the model's name: rows that have others below them."""


def make_world(size: int) -> World:
    """Each list on each page has `size` rows or a multiple of it."""
    mark = next(_numbers)
    owner = User.objects.create(username=f"owner{mark}")
    staff = User.objects.create(username=f"staff{mark}", is_staff=True)
    others = [User.objects.create(username=f"person{mark}-{number}") for number in range(size)]
    teams = [_team(owner=owner, others=others, slug=f"lab{mark}-{number}") for number in range(size)]
    _belongings(owner=owner, size=size)
    kinds = {"job": "endpoint_test", "rewards_job": "rewards", "pending_job": "submission"}
    jobs = {
        name: Job.objects.create(owner=owner, kind=kind, request="", deadline=timezone.now() + timedelta(days=1)).pk
        for name, kind in kinds.items()
    }
    worlds = []
    for kind in ("execution", "planning"):
        boards = [
            _board(kind=kind, slug=f"{kind}{mark}-{number}", owner=owner, team=teams[0], size=size)
            for number in range(size)
        ]
        worlds += [{**things, **jobs} for things in boards[0]]
    with connection.cursor() as cursor:
        # PostgreSQL's own analysis does not see the rows of this transaction, and would take the tables for empty.
        cursor.execute("ANALYZE")
    shared = {
        "team": teams[0].slug,
        "hidden_digest": server_store(split=HIDDEN).put(Artefact(data=b"hidden", media_type=MediaType.TEXT)),
        "cursor": _FAR_CURSOR,
        "season": Season.objects.get_or_create(name="season", defaults={"opens": timezone.now()})[0].name,
        "username": owner.username,
        "chapter": "api",
    }
    running = Evaluation.runs.filter(submission__submitted_by=owner, state="running")[0]
    shard = running.shards.get(number=0)
    rows = {
        "Team": teams[0].pk, "User": owner.pk, "Evaluation": running.pk, "Submission": running.submission_id,
        "Shard": shard.pk, "Attempt": shard.attempts.get(number=0).pk,
    }  # fmt: skip
    return World(owner, staff, others[0], tuple({**shared, **one} for one in worlds), rows)


def _pairs(*, owner: User, suite: str, size: int) -> UUID:
    """A pair without a vote, beside others with one."""
    a, b = bundled("controlllm/adaptive"), bundled("controlllm/greedy")
    for number in range(size):
        make_vote(make_pair(owner, a=a, b=b, suite=suite, request=str(number)))
    return make_pair(owner, a=a, b=b, suite=suite).pk


def _team(*, owner: User, others: Sequence[User], slug: str) -> Team:
    team = Team.objects.create(slug=slug, name=slug)
    Membership.objects.create(team=team, user=owner, role=Role.OWNER)
    Membership.objects.bulk_create(Membership(team=team, user=user) for user in others)
    invited = [User.objects.create(username=f"invited-{slug}-{user.username}") for user in others]
    Invitation.objects.bulk_create(Invitation(team=team, user=user) for user in invited)
    today = timezone.now().date()
    QuotaBalance.objects.create(team=team, suite="", day=today, used=1, charged=1)
    return team


def _belongings(*, owner: User, size: int) -> None:
    today = timezone.now().date()
    for number in range(size):
        create_token(user=owner)
        WorkerToken.objects.create(owner=owner, name=f"machine {number}", token_hash=f"{owner.pk}-{number}")
        webhook = Webhook.objects.create(owner=owner, url=f"https://example.org/{number}", secret="secret")
        payload = {"webhook": str(webhook.pk), "event": "evaluation.completed"}
        for _ in range(2 * size):
            OutboxMessage.objects.create(kind=Kind.WEBHOOK, payload=payload, sent_at=timezone.now())
        AuditEntry.objects.create(actor_key=owner.pk, actor=owner.username, action=Action.SUBMITTED, target_kind="user")
        QuotaBalance.objects.create(user=owner, suite=f"suite{number}", day=today, used=1, charged=1)


def _board(*, kind: str, slug: str, owner: User, team: Team, size: int) -> list[dict[str, Any]]:
    """A suite with its planners, and things to ask for: an evaluation that ended, one that runs, and a verified one."""
    suite = _suite(kind=kind, slug=slug, size=size)
    done = []
    for number in range(2 * size):
        planner = Planner.objects.create(
            owner=owner, name=f"{slug} {number}", kind="bundled", bundled_name="controlllm/adaptive"
        )
        done.append(_completed(planner=planner, suite=suite, team=None if number % 2 else team, score=number / 100))
        snapshot = publish(done[-1])
    first = done[0]
    make_profile(first)
    running = [_running(planner=first.submission.planner, suite=suite, size=size, team=team) for _ in range(size)]
    waiting = [_waiting(of=first, suite=suite, size=size, team=team) for _ in range(size)]
    verified = _verified(planner=first.submission.planner, suite=suite, size=size, team=team)
    things = {
        "suite": slug,
        "planner_id": first.submission.planner_id,
        "number": snapshot.number,
        "task": "0",
        "metric": "vit",
        "digest": first.results.exclude(record_digest="")[0].record_digest,
        "compared": first.pk,
        "profiled": first.pk,
        "regraded": make_regraded(first).pk,
        "other": done[1].pk,
        "run": make_run(owner, size=size).pk,
        "pair": _pairs(owner=owner, suite=slug, size=size),
    }
    asked = (first, running[0], verified, waiting[0])
    return [{**things, "evaluation": one.pk, "submission": one.submission_id} for one in asked]


def _suite(*, kind: str, slug: str, size: int) -> Suite:
    keys = ("overall", "second") if kind == "execution" else _FIVE
    made = column if kind == "execution" else indicator
    metrics = [made(key, primary=key == keys[0]) for key in keys]
    suite = Suite.objects.create(
        slug=slug, version="1", digest=slug.rjust(64, "0"), title=slug, description="Made up.",
        metrics=metrics, **(EXECUTED if kind == "execution" else JUDGED),
    )  # fmt: skip
    gold = {"steps": [], "answers": ["$image"]}
    Task.objects.bulk_create(
        Task(
            suite=suite, key=str(number), position=number, text=f"Request {number}", structure="linear", metric="vit",
            attributes=_attributes(kind=kind, number=number), gold=gold,
        )
        for number in range(30 * size)
    )  # fmt: skip
    return suite


def _attributes(*, kind: str, number: int) -> dict[str, Any]:
    if kind == "planning":
        return {"group": f"group {number % 7}", "level": ("easy", "medium", "hard")[number % 3], "active": True}
    return {
        "base": "restoration" if number % 2 else "image_classification",
        "degradations": ["noise", "blur"][: number % 3],
    }


def _evaluation(*, submission: Submission, suite: Suite, state: str, **fields: Any) -> Evaluation:
    judged = not suite.runs_experts
    now = timezone.now()
    values = {
        "profile": NO_PROFILE if judged else "lilliput",
        "profile_digest": "ab" * 32,
        "split": "all" if judged else "public",
        "samples": 1 if judged else 8,
        "state_since": now,
        "tasks_total": Task.objects.filter(suite=suite).count(),
    }
    made = Evaluation.runs.create(submission=submission, suite=suite, state=state, **values | fields)
    if made.verifies_id is None:
        QuotaEntry.objects.create(
            user=submission.submitted_by,
            suite=suite.slug,
            day=now.date(),
            evaluation=made,
            amount=1,
            reason="submitted",
        )
    return made


def _completed(*, planner: Planner, suite: Suite, score: float, team: Team | None = None, **fields: Any) -> Evaluation:
    submission = Submission.objects.create(planner=planner, submitted_by=planner.owner, team=team)
    interval = {"mean": score, "low": score - 0.1, "high": score + 0.1, "tasks": 30}
    summary = {
        "metrics": {metric["key"]: interval for metric in suite.metrics},
        "outcomes": {"scored": 20, "planner_fault": 10},
        "usage": {name: {"mean": 2.5, "tasks": 30} for name in ("seconds", "prompt_tokens", "completion_tokens")},
    }
    values: dict[str, Any] = {"state": "completed", "summary": summary, "finished": timezone.now()}
    evaluation = _evaluation(submission=submission, suite=suite, **values | fields)
    _results(evaluation)
    return evaluation


def _results(evaluation: Evaluation, *, upto: int | None = None) -> None:
    record = ResultRecord(
        suite=evaluation.suite.slug, task="0", request="Request 0", metric="vit", outcome=Outcome.SCORED, score=0.5
    )
    digest = server_store(split="public").put(
        Artefact(data=record.model_dump_json().encode(), media_type=MediaType.TEXT)
    )
    judged = not evaluation.suite.runs_experts
    tasks = Task.objects.filter(suite=evaluation.suite).order_by("position")
    TaskResult.objects.bulk_create(
        TaskResult(
            evaluation=evaluation, task=task, outcome="planner_fault" if number % 3 == 0 else "scored",
            reason="invalid_plan" if number % 3 == 0 else "", score=0.0 if number % 3 == 0 else number % 10 / 10,
            indicators=dict.fromkeys(_FIVE, 1.0) if judged else {}, record_digest=digest, seconds=0.1,
        )
        for number, task in enumerate(tasks[:upto])
    )  # fmt: skip


def _running(*, planner: Planner, suite: Suite, size: int, team: Team) -> Evaluation:
    """One whose shards have been tried, each attempt with a log."""
    submission = Submission.objects.create(planner=planner, submitted_by=planner.owner, team=team)
    deadline = timezone.now() + timedelta(hours=1)
    evaluation = _evaluation(submission=submission, suite=suite, state="running", state_deadline=deadline)
    _results(evaluation)
    line = [timezone.now().timestamp(), "INFO", "asking the planner"]
    for number in range(size):
        shard = Shard.objects.create(
            evaluation=evaluation, number=number, task_keys=[str(number)], state="done", available_at=timezone.now()
        )
        for attempt in range(size):
            tried = Attempt.objects.create(
                shard=shard, user=planner.owner, number=attempt, state="failed", worker="w", leased_at=timezone.now(),
                expires_at=timezone.now(), token_hash=f"{shard.pk}-{attempt}",
            )  # fmt: skip
            log = AttemptLog.objects.create(attempt=tried, next_line=size)
            LogChunk.objects.bulk_create(LogChunk(log=log, first=first, lines=[line]) for first in range(size))
    return evaluation


def _waiting(*, of: Evaluation, suite: Suite, size: int, team: Team) -> Evaluation:
    """One that runs another again, and has a place in the queue."""
    planner = of.submission.planner
    submission = Submission.objects.create(planner=planner, submitted_by=planner.owner, team=team, rerun_of=of)
    deadline = timezone.now() + timedelta(hours=1)
    evaluation = _evaluation(submission=submission, suite=suite, state="queued", state_deadline=deadline)
    Shard.objects.bulk_create(
        Shard(evaluation=evaluation, number=number, task_keys=[str(number)], available_at=timezone.now())
        for number in range(size)
    )
    _results(evaluation, upto=1)
    return evaluation


def _verified(*, planner: Planner, suite: Suite, size: int, team: Team) -> Evaluation:
    """One that its owner ran, with a verification for each of `size`."""
    evaluation = _completed(planner=planner, suite=suite, score=0.5, team=team)
    run = OwnWorkerRun.objects.create(evaluation=evaluation)
    keys = [str(number) for number in range(3 * size)]
    compared = {
        "task": "0", "finding": "same", "contradicts": False, "own_outcome": "scored", "own_score": 0.5,
        "outcome": "scored", "score": 0.5, "samples": 8, "differing": 1, "exact": 0, "exact_differing": 0,
        "step": {
            "sample": 2, "step": "s1", "tool": "Image Denoising", "expert": "lilliput/denoising", "difference": 0.0312,
            "tolerance": 0.02,
        },
    }  # fmt: skip
    rule = {
        "one_class": False, "own": ["NVIDIA H100 80GB HBM3, driver 570.86.15, CUDA 12.8"],
        "again": ["CPU (GenuineIntel)"],
    }  # fmt: skip
    for _ in range(size):
        again = _completed(planner=planner, suite=suite, score=0.5, verifies=evaluation)
        for number in range(size):
            Shard.objects.create(
                evaluation=again, number=number, task_keys=keys[number::size], state="done", available_at=timezone.now()
            )
        verification = Verification.objects.create(
            evaluation=again, tasks=keys, verdict="agrees", detail="They agree.", settled_at=timezone.now(),
            comparison={"tasks": [{**compared, "task": key} for key in keys], "p_value": 1.0, "rule": rule},
        )  # fmt: skip
    run.verified_by = verification
    run.save()
    return evaluation
