"""Closing accounts, which operators can undo, and deleting them, which is final.

Both take one short transaction. Longer work follows and is retried by a task until it is done: evaluations are
cancelled (`cancel_running`), and a deleted user's name is erased from the audit log, boards, reasons and logs, which
store it by value (`erase`). `Erasure` has the name until it is erased everywhere else. Each step of an erasure is
idempotent and works in batches with a transaction each, so that no lock is held for long. The web process deletes
sessions, because only it has the key to read them.
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
from django.db.models import F, Func, Q, Value
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
from leaderboard.planners.models import CheckpointUpload, EndpointSecret, Planner, PlansFile, RoleSecret
from leaderboard.platform.audit import pseudonymise, record
from leaderboard.platform.models import Action
from leaderboard.queue.models import AttemptLog, WorkerToken
from leaderboard.submissions import services as evaluations
from leaderboard.votes.services import delete_votes_of
from leaderboard.workbench.models import Run

NAME_BEFORE = "deleted user "
"""Prefix of the names of deleted users. Users cannot choose it, because names have no spaces."""
NO_ADDRESS = "https://deleted.invalid/"
"""Replaces the endpoints of a deleted user; the domain never exists (RFC 2606)."""
_WRONG = "That is not the password of this account."
_BATCH = 500
_LATE = timedelta(minutes=5)
"""How long a request that began before the deletion may still write the name."""


def close_account(*, user: User, by: User | None) -> bool:
    """Disable all access to an account. False if it is already closed or deleted.

    Before: nothing. `by` is None for a management command.
    After: the user cannot sign in, their tokens are revoked, their votes are deleted, their evaluations without a team
    are being cancelled, and another member owns each of their teams that has one. Published results keep their name.
    """
    with transaction.atomic():
        lock_owner(user)
        if not User.objects.filter(pk=user.pk, is_active=True).update(is_active=False, closed_at=timezone.now()):
            return False
        end_all(user=user, because="account closed")
        teams.hand_over_all(user=user)
        delete_votes_of(user)
        record(by=by, action=Action.ACCOUNT_CLOSED, target=user)
        _say_goodbye(user=user, subject="Your account is closed", text=_CLOSED)
        # Not a partial: Django 5.2 cannot log the error of one, and raises instead.
        transaction.on_commit(lambda: cancel_running(user_id=user.pk), robust=True)
    return True


def reopen_account(*, user: User, by: User | None) -> bool:
    """Let the owner of a closed account sign in again with the old password. False if it is not closed.

    Revoked tokens and transferred teams are not restored.
    """
    with transaction.atomic():
        closed = User.objects.filter(pk=user.pk, closed_at__isnull=False, deleted_at=None)
        if not closed.update(is_active=True, closed_at=None):
            return False
        record(by=by, action=Action.ACCOUNT_REOPENED, target=user)
    return True


def delete_account(*, user: User, by: User | None) -> bool:
    """Erase the personal data of a user. False if they were already deleted.

    Before: nothing. `by` is None for a management command. After: the user's row has a pseudonym and no personal data;
    credentials, webhooks, secret headers, endpoint addresses, uploads and memberships are deleted. Submissions and
    their results remain. Unfinished evaluations are being cancelled, and an `Erasure` is pending for the audit log and
    the boards (`erase`).
    """
    with transaction.atomic():
        lock_owner(user)
        before = User.objects.get(pk=user.pk)
        if before.deleted_at is not None:
            return False
        Erasure.objects.create(user=before, username=before.username)
        end_all(user=before, because="account deleted")
        teams.leave_all(user=before)
        _delete_rows(before)
        _anonymise(before)
        _say_goodbye(user=before, subject="Your account is deleted", text=_DELETED)
        after = User.objects.get(pk=user.pk)
        is_own = by is not None and by.pk == user.pk
        record(by=after if is_own else by, action=Action.ACCOUNT_DELETED, target=after)
        transaction.on_commit(lambda: delete_sessions(user_id=user.pk), robust=True)
        transaction.on_commit(lambda: cancel_running(user_id=user.pk), robust=True)
    return True


def cancel_running(*, user_id: int) -> int:
    """Cancel the unfinished evaluations of a closed account, and return their number.

    Evaluations for a team continue when an account is closed, since other members may act on them, but not when it is
    deleted with the addresses and secrets that they need.
    """
    user = User.objects.get(pk=user_id)
    for_team = Q() if user.deleted_at else Q(submission__team=None)
    mine = Evaluation.runs.filter(for_team, submission__submitted_by=user, verifies=None, state__in=CANCELLABLE)
    count = 0
    for evaluation in mine.order_by("pk"):
        try:
            evaluations.cancel(evaluation, by=user)
        except NotPossibleError:
            continue  # it has ended
        count += 1
    return count


def cancel_for_closed_accounts() -> int:
    """The same for all closed accounts, after killed processes and late submissions."""
    left = Q(submission__team=None) | Q(submission__submitted_by__deleted_at__isnull=False)
    running = Evaluation.runs.filter(
        left, submission__submitted_by__closed_at__isnull=False, verifies=None, state__in=CANCELLABLE
    )
    users = set(running.values_list("submission__submitted_by", flat=True))
    return sum(cancel_running(user_id=user_id) for user_id in sorted(users))


def _delete_rows(user: User) -> None:
    """Delete personal rows that published results do not need."""
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
    # Attempts refer to their tokens.
    WorkerToken.objects.filter(owner=user).update(name="deleted")
    EndpointSecret.objects.filter(planner__owner=user).delete()
    RoleSecret.objects.filter(planner__owner=user).delete()
    Planner.objects.filter(owner=user).exclude(endpoint_url="").update(endpoint_url=NO_ADDRESS)
    for planner in Planner.objects.filter(owner=user).exclude(roles={}):
        for model in planner.roles.values():
            if model.get("endpoint_url"):
                model["endpoint_url"] = NO_ADDRESS
        planner.save(update_fields=["roles"])
    Planner.objects.filter(owner=user).update(description="")
    PlansFile.objects.filter(owner=user).delete()
    CheckpointUpload.objects.filter(owner=user).delete()
    delete_votes_of(user)
    Run.objects.filter(owner=user).delete()


def _anonymise(user: User) -> None:
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
    """Why the input does not confirm the user's identity; empty if it does.

    Args:
        request: of the browser or program.
        user: who is signed in.
        entered: the password, or the username for an account without one, which signs in only with GitHub.
    """
    if not user.has_usable_password():
        return "" if entered == user.username else f"Enter your user name, {user.username}, to confirm."
    try:
        # The adapter limits the rate of attempts, unlike `check_password`.
        authenticated = get_adapter().authenticate(request, username=user.username, password=entered)
    except ValidationError as error:
        return " ".join(error.messages)
    return "" if authenticated is not None and authenticated.pk == user.pk else _WRONG


def erase_all() -> int:
    """Continue all pending erasures, and return their number."""
    waiting = list(Erasure.objects.select_related("user").order_by("created"))
    for erasure in waiting:
        erase(erasure)
    return len(waiting)


def erase(erasure: Erasure) -> None:
    """Replace a deleted user's name everywhere.

    Before: their row has its pseudonym; concurrent erasures are allowed.
    After: the audit log, boards and reasons have the pseudonym, and uploaded files and logs are deleted. Signatures of
    boards remain valid except for the names. The `Erasure` is deleted, unless the account was deleted within the last
    minutes: then the task repeats it.
    """
    user, name = erasure.user, erasure.username
    pseudonymise(key=user.pk, name=name, pseudonym=user.username)
    replace_owner(before=name, after=user.username)
    # Reasons name members of teams (`evaluations.visibility.in_words`).
    pattern = f"(^|\\s){re.escape(name)} of the team "
    replacement = Value(f"\\1{user.username} of the team ")
    Evaluation.runs.filter(reason_text__regex=pattern).update(
        reason_text=Func(F("reason_text"), Value(pattern), replacement, function="regexp_replace")
    )
    logs = AttemptLog.objects.filter(attempt__user=user, attempt__team=None)
    while batch := list(logs.values_list("pk", flat=True)[:_BATCH]):
        AttemptLog.objects.filter(pk__in=batch).delete()
    remove_unnamed()
    Erasure.objects.filter(pk=erasure.pk, created__lt=Now() - _LATE).delete()


def delete_sessions(*, user_id: int) -> None:
    """Delete a user's sessions, in which allauth stores the name or address used to sign in.

    Before: runs in the web process, which has the key to read sessions.
    """
    last = ""
    while batch := list(Session.objects.filter(session_key__gt=last).order_by("session_key")[:_BATCH]):
        last = batch[-1].session_key
        mine = [session.pk for session in batch if session.get_decoded().get("_auth_user_id") == str(user_id)]
        with transaction.atomic():
            Session.objects.filter(pk__in=mine).delete()
