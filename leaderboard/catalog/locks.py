"""Whether an operator vouches for the checkpoints with which plans were executed.

Experts of a profile such as `paper` load checkpoints that others release. Rows of such a profile are ranked only if its
lock file has a signature of a key in `PLANARENA_LOCK_KEYS` (`evaluator.execution.experts.signed_locks`). An accepted
signature is kept by the digest that evaluations have, so that they stay ranked when newer checkpoints are fetched.
"""

from django.db.models import Exists, OuterRef, Q

from leaderboard.catalog.library import NotReadyError, library
from leaderboard.catalog.models import SignedLock

_CHANGED = "this site has other checkpoints now, so that the signature of its lock file says nothing about those"


def vouched_for() -> Q:
    """Condition that an operator vouches for the checkpoints of an evaluation, or that it needs none."""
    accepted = SignedLock.objects.filter(rules_digest=OuterRef("profile_digest"))
    return ~Q(profile__in=library().profiles_of_hubs()) | Q(Exists(accepted))


def problem_of_lock(*, suite: str, profile: str, rules_digest: str) -> str:
    """Why nobody vouches for the checkpoints of an evaluation, as a phrase; empty: somebody does, or need not. Accepts
    a new signature of the lock file.

    Args:
        suite: slug.
        profile: name.
        rules_digest: of the evaluation.
    """
    if profile not in library().profiles_of_hubs() or SignedLock.objects.filter(pk=rules_digest).exists():
        return ""
    if problem := library().lock_problem(profile):
        return problem
    try:
        is_current = library().rules_digest(suite=suite, profile=profile) == rules_digest
    except NotReadyError as error:
        return error.why
    if not is_current:
        return _CHANGED
    SignedLock.objects.get_or_create(rules_digest=rules_digest, defaults={"profile": profile})
    return ""
