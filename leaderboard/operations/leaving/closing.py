"""Closing an account, which an operator can undo, and deleting it, which nobody can.

Both are done in one short transaction. What may take long follows after it and is repeated by a task until it is done:
evaluations are cancelled (`cancel_running`), and a deleted user's name is erased where it is stored by value (`erase`):
in the audit log, boards, reasons and logs. `Erasure` holds the name until it is nowhere else. Each step of an erasure
searches for what is left, in batches with a transaction each, so that a killed process costs nothing and no lock is
held for long. Sessions are deleted by the web process, which alone has the key that reads them.
"""

import re
import secrets
from datetime import timedelta

from allauth.account.adapter import get_adapter
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F, Func, Q, QuerySet, Value
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils import timezone

from leaderboard.boards.packing import replace_owner
from leaderboard.evaluations.models import Evaluation, IdempotencyKey
from leaderboard.evaluations.states import CANCELLABLE
from leaderboard.evaluations.visibility import NotPossibleError
from leaderboard.messages.models import Kind, OutboxMessage, Webhook
from leaderboard.messages.outbox import enqueue
from leaderboard.people import teams
from leaderboard.people.credentials import end_all
from leaderboard.people.models import Erasure, Invitation, Mails, User, lock_owner
from leaderboard.planners.checkpoints import remove_unnamed
from leaderboard.planners.models import CheckpointUpload, EndpointSecret, Planner, PlansFile
from leaderboard.platform.audit import pseudonymise, record
from leaderboard.platform.models import Action
from leaderboard.queue.models import AttemptLog, WorkerToken
from leaderboard.submissions import services as evaluations

NAME_BEFORE = "deleted user "
"""Begins the name of a deleted user, which nobody can choose: names have no spaces."""
NO_ADDRESS = "https://deleted.invalid/"
"""Stands for the endpoints of a deleted user; the domain never exists (RFC 2606)."""
_WRONG = "That is not the password of this account."
_BATCH = 500
_LATE = timedelta(minutes=5)
"""For so long a request that began before the deletion may still write the name."""


def close_account(*, user: User, by: User | None) -> bool:
    """End every way into an account. False if it is closed or deleted already.

    Before: nothing. `by` is None for a command on the operator's own machine.
    After: nobody signs in, no token of the user is good, their evaluations that are for no team are being cancelled,
    and teams of theirs with other members belong to one of those. What was published stays under their name.
    """
    with transaction.atomic():
        lock_owner(user)
        if not User.objects.filter(pk=user.pk, is_active=True).update(is_active=False, closed_at=timezone.now()):
            return False
        end_all(user=user, because="account closed")
        teams.hand_over_all(user=user)
        record(by=by, action=Action.ACCOUNT_CLOSED, target=user)
        _say_goodbye(user=user, subject="Your account is closed", text=_CLOSED)
        # Not a partial: Django 5.2 cannot log the error of one, and raises instead.
        transaction.on_commit(lambda: cancel_running(user_id=user.pk), robust=True)
    return True


def reopen_account(*, user: User, by: User | None) -> bool:
    """Let the owner of a closed account sign in again, with the password as it was. False if it is not closed.

    Tokens and what was handed over stay gone.
    """
    with transaction.atomic():
        closed = User.objects.filter(pk=user.pk, closed_at__isnull=False, deleted_at=None)
        if not closed.update(is_active=True, closed_at=None):
            return False
        record(by=by, action=Action.ACCOUNT_REOPENED, target=user)
    return True


def delete_account(*, user: User, by: User | None) -> bool:
    """Erase what is known of a person. False if they were deleted already.

    Before: nothing. `by` is None for a command on the operator's own machine.
    After: the row of the user has another name that says nothing and no personal data; all that lets in is gone, as
    are webhooks, secret headers, endpoint addresses, uploads and memberships. Submissions and what they came to stay.
    Everything under way is being cancelled, and an `Erasure` waits for the log and the boards (`erasing.erase`).
    """
    with transaction.atomic():
        lock_owner(user)
        before = User.objects.get(pk=user.pk)
        if before.deleted_at is not None:
            return False
        Erasure.objects.create(user=before, username=before.username)
        end_all(user=before, because="account deleted")
        teams.leave_all(user=before)
        _forget_rows(before)
        _forget_what_planners_need(before)
        _forget_person(before)
        _say_goodbye(user=before, subject="Your account is deleted", text=_DELETED)
        after = User.objects.get(pk=user.pk)
        deleted_by_themselves = by is not None and by.pk == user.pk
        record(by=after if deleted_by_themselves else by, action=Action.ACCOUNT_DELETED, target=after)
        transaction.on_commit(lambda: delete_sessions(user_id=user.pk), robust=True)
        transaction.on_commit(lambda: cancel_running(user_id=user.pk), robust=True)
    return True


def cancel_running(*, user_id: int) -> int:
    """Cancel what a closed account has under way, and return how many evaluations there were.

    Those for a team go on when an account is closed, since its other members may act on them. They end when it is
    deleted: the addresses and secrets that they need are gone.
    """
    user = User.objects.get(pk=user_id)
    for_team = Q() if user.deleted_at else Q(submission__team=None)
    mine = Evaluation.runs.filter(for_team, submission__submitted_by=user, verifies=None, state__in=CANCELLABLE)
    count = 0
    for evaluation in mine.order_by("pk"):
        try:
            evaluations.cancel(evaluation, by=user)
        except NotPossibleError:
            continue  # it has ended meanwhile
        count += 1
    return count


def cancel_for_closed_accounts() -> int:
    """The same for all closed accounts: what a killed process or a submission at the last moment left."""
    left = Q(submission__team=None) | Q(submission__submitted_by__deleted_at__isnull=False)
    running = Evaluation.runs.filter(
        left, submission__submitted_by__closed_at__isnull=False, verifies=None, state__in=CANCELLABLE
    )
    users = set(running.values_list("submission__submitted_by", flat=True))
    return sum(cancel_running(user_id=user_id) for user_id in sorted(users))


def _forget_rows(user: User) -> None:
    """Delete what belongs to the person and to nothing that was published."""
    webhooks = [str(pk) for pk in Webhook.objects.filter(owner=user).values_list("pk", flat=True)]
    OutboxMessage.objects.filter(kind=Kind.WEBHOOK, payload__webhook__in=webhooks).delete()
    OutboxMessage.objects.filter(kind=Kind.MAIL, payload__to=user.email).delete()
    Webhook.objects.filter(owner=user).delete()
    Invitation.objects.filter(user=user).delete()
    IdempotencyKey.objects.filter(user=user).delete()
    Authenticator.objects.filter(user=user).delete()
    SocialAccount.objects.filter(user=user).delete()
    EmailAddress.objects.filter(user=user).delete()
    LogEntry.objects.filter(user=user).delete()
    # Attempts refer to the tokens that they were leased with.
    WorkerToken.objects.filter(owner=user).update(name="deleted")


def _forget_what_planners_need(user: User) -> None:
    EndpointSecret.objects.filter(planner__owner=user).delete()
    Planner.objects.filter(owner=user).exclude(endpoint_url="").update(endpoint_url=NO_ADDRESS)
    Planner.objects.filter(owner=user).update(description="")
    PlansFile.objects.filter(owner=user).delete()
    CheckpointUpload.objects.filter(owner=user).delete()


def _forget_person(user: User) -> None:
    now = timezone.now()
    user.groups.clear()
    user.user_permissions.clear()
    user.set_unusable_password()
    User.objects.filter(pk=user.pk).update(
        username=f"{NAME_BEFORE}{secrets.token_hex(4)}",
        password=user.password,
        email="", first_name="", last_name="", display_name="", affiliation="", link="", bio="",
        mails=Mails.NONE, is_active=False, is_staff=False, is_superuser=False, queue_weight=1,
        last_login=None, date_joined=now, closed_at=now, deleted_at=now,
    )  # fmt: skip


_CLOSED = """Your account {username} is closed: signing in is disabled, and all its tokens are revoked.

Published results stay under your name. An operator can reopen or delete the account on request."""
_DELETED = """Your account {username} and its personal data are deleted. This cannot be undone.

Submissions that others could see remain, attributed to a deleted user."""


def _say_goodbye(*, user: User, subject: str, text: str) -> None:
    if user.email and not settings.DEMO:
        payload = {"to": user.email, "subject": subject, "text": text.format(username=user.username) + "\n"}
        enqueue(kind=Kind.MAIL, payload=payload)


def problem_with(*, request: HttpRequest, user: User, entered: str) -> str:
    """Why what was entered does not confirm that it is the user; nothing if it does.

    Args:
        request: of the browser or program.
        user: who is signed in.
        entered: the password, or the user name for an account without one, which signs in with GitHub only.
    """
    if not user.has_usable_password():
        return "" if entered == user.username else f"Enter your user name, {user.username}, to confirm."
    try:
        # The adapter, not `check_password`: it slows down who guesses.
        found = get_adapter().authenticate(request, username=user.username, password=entered)
    except ValidationError as error:
        return " ".join(error.messages)
    return "" if found is not None and found.pk == user.pk else _WRONG


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
