"""Who sees a submission and everything that came of it. Every page, list and call that shows any of it asks here.

What is not public now is seen by who may act on it (`acting.py`) and by staff. For everybody else it does not exist:
its addresses answer 404, as those of things that never were, and no list, board, feed or count holds it.

An embargo ends by itself: with its date it is public for every query below, whether or not a process has noticed.
`releasing.py` then publishes it on the boards.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from leaderboard.evaluations.acting import acted_on_by, may_act
from leaderboard.evaluations.models import Evaluation, Submission, Visibility
from leaderboard.people.models import User
from leaderboard.platform.clock import database_now
from leaderboard.platform.operators import is_operator

OF_EVALUATION = "submission__"
"""What leads from an evaluation to its submission."""
LONGEST_EMBARGO = timedelta(days=366)
Reader = User | AnonymousUser


def public_now(*, prefix: str = "") -> Q:
    """Condition on submissions, or on what leads to them by `prefix`: everybody sees them."""
    over = Q(**{f"{prefix}visibility": Visibility.EMBARGO, f"{prefix}embargo_until__lte": Now()})
    return Q(**{f"{prefix}visibility": Visibility.PUBLIC}) | over


def visible_to(reader: Reader, *, prefix: str = "") -> Q:
    """Condition on submissions, or on what leads to them by `prefix`: this reader sees them."""
    if is_operator(reader):
        return Q()
    public = public_now(prefix=prefix)
    return public if reader.pk is None else public | acted_on_by(reader, prefix=prefix)


def visible_evaluations(reader: Reader) -> QuerySet[Evaluation]:
    """The evaluations that this reader sees."""
    return Evaluation.objects.filter(visible_to(reader, prefix=OF_EVALUATION))


def on_boards() -> Q:
    """Condition on evaluations: boards, feeds, plots and comparisons with others may hold them."""
    return public_now(prefix=OF_EVALUATION) & Q(hidden_at=None)


def is_public(submission: Submission) -> bool:
    """Whether everybody sees it now."""
    if submission.visibility != Visibility.EMBARGO:
        return submission.visibility == Visibility.PUBLIC
    return submission.embargo_until is not None and submission.embargo_until <= database_now()


def words_of(submission: Submission) -> str:
    """How it is marked for those who see it: `private`, `embargo until ...`, or nothing where everybody does."""
    if submission.visibility == Visibility.PRIVATE:
        return "private"
    until = submission.embargo_until
    if submission.visibility != Visibility.EMBARGO or until is None or until <= timezone.now():
        return ""
    return f"embargo until {until:%Y-%m-%d %H:%M} UTC"


def may_see(*, reader: Reader, submission: Submission) -> bool:
    """`visible_to` for a submission that was read already."""
    return is_operator(reader) or is_public(submission) or may_act(user=reader, submission=submission)


def check(*, visibility: str, embargo_until: datetime | None) -> Mapping[str, list[str]]:
    """What is wrong with a choice, by field; empty if nothing is."""
    if visibility not in Visibility.values:
        return {"visibility": [f"Choose one of {', '.join(Visibility.values)}."]}
    if visibility != Visibility.EMBARGO:
        told = "Only an embargo has an end: leave this empty, or choose an embargo."
        return {} if embargo_until is None else {"embargo_until": [told]}
    now = timezone.now()
    if embargo_until is None:
        return {"embargo_until": ["Enter the end of the embargo."]}
    if embargo_until <= now:
        return {"embargo_until": ["The embargo must end in the future."]}
    if embargo_until > now + LONGEST_EMBARGO:
        latest = (now + LONGEST_EMBARGO).strftime("%Y-%m-%d")
        return {"embargo_until": [f"An embargo lasts at most a year: choose a day until {latest}."]}
    return {}
