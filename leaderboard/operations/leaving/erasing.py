"""Taking the name of a deleted user out of what names them by value: the audit log, boards, sentences, sessions.

Sessions are the web process's part: no other process has the key that reads them.

`Erasure` holds the name until it is nowhere else. Each step looks for what is left and ends when there is nothing, in
batches with a transaction each, so that a killed process costs nothing and no lock is held for long.
"""

import re
from datetime import timedelta

from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import F, Func, QuerySet, Value
from django.db.models.functions import Now

from leaderboard.boards.packing import replace_owner
from leaderboard.evaluations.models import Evaluation
from leaderboard.people.models import Erasure
from leaderboard.planners.checkpoints import remove_unnamed
from leaderboard.platform.audit import pseudonymise
from leaderboard.queue.models import AttemptLog

_BATCH = 500
_LATE = timedelta(minutes=5)
"""For so long a request that began before the deletion may still write the name."""


def erase_all() -> int:
    """Finish every deletion that has begun, and return how many there were."""
    waiting = list(Erasure.objects.select_related("user").order_by("created"))
    for erasure in waiting:
        erase(erasure)
    return len(waiting)


def erase(erasure: Erasure) -> None:
    """Take a deleted user's name out of everything that still has it.

    Before: their row has its new name; several processes may do this at once.
    After: neither log, boards nor sentences name them, and no file is left of what they uploaded. Signatures of boards
    hold for everything but the names. The erasure with the name is gone, unless the deletion was a moment ago: then it
    is done once more.
    """
    user, name = erasure.user, erasure.username
    pseudonymise(key=user.pk, name=name, pseudonym=user.username)
    replace_owner(before=name, after=user.username)
    _replace_in_reasons(before=name, after=user.username)
    _delete_logs(AttemptLog.objects.filter(attempt__user=user, attempt__team=None))
    remove_unnamed()
    Erasure.objects.filter(pk=erasure.pk, created__lt=Now() - _LATE).delete()


def _replace_in_reasons(*, before: str, after: str) -> None:
    """Sentences name members of teams (`evaluations.visibility.in_words`)."""
    words = f"(^|\\s){re.escape(before)} of the team "
    named = Evaluation.runs.filter(reason_text__regex=words)
    named.update(
        reason_text=Func(F("reason_text"), Value(words), Value(f"\\1{after} of the team "), function="regexp_replace")
    )


def _delete_logs(logs: QuerySet[AttemptLog]) -> None:
    while batch := list(logs.values_list("pk", flat=True)[:_BATCH]):
        AttemptLog.objects.filter(pk__in=batch).delete()


def delete_sessions(*, user_id: int) -> None:
    """Delete a user's sessions, in which allauth notes the name or address that they signed in with.

    Before: this is the web process, whose key reads sessions.
    """
    last = ""
    while batch := list(Session.objects.filter(session_key__gt=last).order_by("session_key")[:_BATCH]):
        last = batch[-1].session_key
        mine = [one.pk for one in batch if one.get_decoded().get("_auth_user_id") == str(user_id)]
        with transaction.atomic():
            Session.objects.filter(pk__in=mine).delete()
