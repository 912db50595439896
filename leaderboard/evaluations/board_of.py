"""The board that an evaluation belongs to, and the lock for publishing on it."""

from typing import NamedTuple

from django.db.models import QuerySet, Subquery

from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation


class Conditions(NamedTuple):
    """What two evaluations must share to stand on one board of a suite."""

    profile_digest: str
    split: str
    samples: int
    data_digest: str


def conditions_of_board(evaluation: Evaluation) -> Conditions:
    """Which of its suite's boards an evaluation stands on."""
    return Conditions(evaluation.profile_digest, evaluation.split, evaluation.samples, evaluation.data_digest)


def lock_board(slug: str) -> None:
    """Lock a suite as `publish` does until the end of the transaction, and wait for that. Who locks several takes them
    in the order of their slugs."""
    _first_version(slug).select_for_update(no_key=True).get()


def lock_for_publishing(slug: str) -> bool:
    """Lock a suite as `publish` does until the end of the transaction, unless somebody else publishes: then False."""
    return _first_version(slug).select_for_update(no_key=True, skip_locked=True).first() is not None


def _first_version(slug: str) -> QuerySet[Suite]:
    """The suite's version that stands for all of them where it is locked.

    Snapshots are numbered through over a suite's versions, so that /boards/<suite>/snapshots/<n>/ names one snapshot
    for ever. Submissions, which only refer to a suite, need not wait for this lock.
    """
    return Suite.objects.filter(pk=Subquery(Suite.objects.filter(slug=slug).order_by("pk").values("pk")[:1]))
