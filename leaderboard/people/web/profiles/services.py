"""Visibility of users, teams and planners, which follows from the evaluations that a reader can see."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from django.db.models import Count, DateTimeField, Exists, IntegerField, Max, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from evaluator.scoring.metrics.undecided import ranged
from leaderboard.boards.contents import contents_of
from leaderboard.boards.services import latest_snapshots
from leaderboard.catalog.models import Suite, current_suites
from leaderboard.catalog.services import primary_metric
from leaderboard.evaluations.models import Submission
from leaderboard.evaluations.visibility import Reader, visible_evaluations, visible_to
from leaderboard.people.models import Membership, Team, User
from leaderboard.planners.models import Planner
from leaderboard.platform.operators import is_operator


class BoardResult(NamedTuple):
    """A row of a board: the best published evaluation of a planner."""

    planner: str
    owner: str
    team: str
    suite: Suite
    evaluation: str
    rank: int | None
    planners: int
    """Number of planners on the board."""
    metric: str
    """Label of the board's primary metric."""
    value: Mapping[str, Any] | None
    """From `undecided.ranged`."""


def people(username: str) -> QuerySet[User]:
    """The user with this name, if any. PostgreSQL rejects NUL characters, which no name contains."""
    return User.objects.none() if "\x00" in username else User.objects.filter(username=username)


def planners_seen_by(reader: Reader) -> QuerySet[Planner]:
    """The reader's own planners, and those with an evaluation that the reader can see, annotated with their number as
    `evaluations` and the time of the latest submission as `latest`."""
    seen = visible_evaluations(reader).filter(submission__planner=OuterRef("pk")).order_by()
    grouped = seen.values("submission__planner")
    annotated = Planner.objects.annotate(
        evaluations=Coalesce(
            Subquery(grouped.annotate(count=Count("pk")).values("count"), output_field=IntegerField()), Value(0)
        ),
        latest=Subquery(grouped.annotate(last=Max("created")).values("last"), output_field=DateTimeField()),
    )
    own = Q() if is_operator(reader) else Q(owner=reader.pk) if reader.pk else Q(pk__in=[])
    return annotated.filter(Exists(seen) | own).select_related("owner")


def teams_seen_by(reader: Reader) -> QuerySet[Team]:
    """The reader's teams, teams that show their members, and teams with a submission that the reader can see."""
    submitted = Submission.objects.filter(visible_to(reader), team__isnull=False).values("team")
    if is_operator(reader):
        return Team.objects.all()
    mine = Membership.objects.filter(user=reader.pk).values("team") if reader.pk else []
    return Team.objects.filter(Q(shows_members=True) | Q(pk__in=submitted) | Q(pk__in=mine))


def shown_teams_of(user: User, *, reader: Reader) -> QuerySet[Team]:
    """The teams on a user's profile: those that show their members, or that the reader is also in."""
    own = Q(pk__in=Membership.objects.filter(user=reader.pk).values("team")) if reader.pk else Q(pk__in=[])
    return Team.objects.filter(own | Q(shows_members=True), memberships__user=user).order_by("name")


def board_results(predicate: Callable[[Mapping[str, Any]], bool]) -> list[BoardResult]:
    """The rows of the newest boards that satisfy a predicate, in the order of the suites, in two queries and one for
    contents that are not cached."""
    suites = current_suites()
    snapshots = latest_snapshots(suites=suites)
    contents = contents_of(snapshots.values())
    return [
        _result(suite=suite, row=row, planners=contents[snapshots[suite.pk].pk].ranked)
        for suite in suites
        if suite.pk in snapshots
        for row in contents[snapshots[suite.pk].pk].rows
        if predicate(row)
    ]


def _result(*, suite: Suite, row: Mapping[str, Any], planners: int) -> BoardResult:
    metric = primary_metric(suite)
    return BoardResult(
        planner=row["planner"],
        owner=row["owner"],
        team=row.get("team", ""),
        suite=suite,
        evaluation=row["evaluation"],
        rank=row["rank"],
        planners=planners,
        metric=metric["label"],
        value=ranged(metrics=row["metrics"], column=suite.ranking_column),
    )
