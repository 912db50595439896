"""Signing what was published without a signature: by a process that has no key, or before the site had one."""

from django.db import transaction
from django.db.models import Q

from leaderboard.boards.models import EvaluationSignature, Snapshot, SnapshotSignature, Withdrawal
from leaderboard.boards.signing.announcements import sign_unsigned_announcements
from leaderboard.boards.signing.keys import first_signed_at, signing_key
from leaderboard.boards.signing.services import sign_when_possible
from leaderboard.evaluations.board_of import lock_board
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.evaluations.submitted import submitted

_EVALUATIONS_AT_ONCE = 100


def sign_unsigned(*, everything: bool = False) -> tuple[int, int]:
    """Sign snapshots and evaluations that have no signature, oldest first. Returns how many of each there were.

    Before: nothing; several processes may do it at once.
    After: what was published since the site first signed anything is signed, if this process has a key.

    Args:
        everything: also what was published before that. Its statements say when they were signed.
    """
    with transaction.atomic():
        # Registers the key of a site that has not published anything since it was given one.
        if signing_key() is None:
            return 0, 0
        sign_unsigned_announcements()
    since = None if everything else first_signed_at()
    _withdrawals()
    snapshots = _snapshots(Q() if since is None else Q(created__gte=since))
    return snapshots, _evaluations(Q() if since is None else Q(finished__gte=since))


def _withdrawals() -> None:
    for slug in sorted(set(Withdrawal.objects.filter(envelope=None).values_list("suite", flat=True))):
        with transaction.atomic():
            lock_board(slug)
            sign_when_possible(withdrawals_from=slug)


def _snapshots(wanted: Q) -> int:
    unsigned = Snapshot.objects.filter(wanted, signature=None)
    signed = 0
    for slug in sorted(set(unsigned.order_by().values_list("suite__slug", flat=True))):
        numbers = unsigned.filter(suite__slug=slug).order_by("number").values_list("pk", flat=True)
        for pk in list(numbers):
            with transaction.atomic():
                lock_board(slug)
                sign_when_possible(
                    snapshot=Snapshot.objects.select_related("suite").defer("stored", "packed").get(pk=pk)
                )
                signed += SnapshotSignature.objects.filter(pk=pk).exists()
    return signed


def _evaluations(wanted: Q) -> int:
    """Those that no snapshot holds: private ones, and worse ones of a planner."""
    completed = Evaluation.objects.filter(wanted, submitted(), state=EvaluationState.COMPLETED, signature=None)
    ids = list(completed.order_by("finished").values_list("pk", flat=True))
    for start in range(0, len(ids), _EVALUATIONS_AT_ONCE):
        sign_when_possible(evaluation_ids=ids[start : start + _EVALUATIONS_AT_ONCE])
    return EvaluationSignature.objects.filter(pk__in=ids).count()
