"""All data of a user, as one JSON document that is generated while it is sent.

    {"format": "planarena-account/1", "username": ..., "exported_at": ..., "account": {...},
     "api_tokens": [...], "worker_tokens": [...], "teams": [...], ..., "audit": [...]}

Lists are read page by page, with a query for each page and without a transaction, so that memory holds a single page.
Rows added during the export may be in one list and not in another. Secrets are not included: tokens, webhooks and
headers have only the fields that the site shows to their owner.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone
from knox.models import AuthToken

from leaderboard.catalog.hidden_data import when_public
from leaderboard.catalog.models import CONDITION_COLUMNS, RELATED_CONDITIONS
from leaderboard.evaluations.models import Evaluation, Submission, TaskResult
from leaderboard.evaluations.visibility import withholds_tasks
from leaderboard.messages.models import Webhook
from leaderboard.people.models import Invitation, Membership, User
from leaderboard.planners.models import CheckpointUpload, FilePlan, Planner, PlansFile
from leaderboard.platform.http.downloads import streamed
from leaderboard.platform.models import AuditEntry
from leaderboard.queue.models import WorkerToken
from leaderboard.quotas.models import QuotaEntry
from leaderboard.votes.models import Vote
from leaderboard.workbench.models import Run

FORMAT = "planarena-account/1"
PAGE = 200
Row = dict[str, Any]
_encode = DjangoJSONEncoder(ensure_ascii=False).encode


def export(user: User) -> Iterator[str]:
    """The JSON document in pieces."""
    head = {"format": FORMAT, "username": user.username, "exported_at": timezone.now(), "account": _account(user)}
    yield _encode(head)[:-1]
    for name, rows in _lists(user).items():
        yield f', "{name}": ['
        separator = ""
        for row in rows:
            yield separator + _encode(row)
            separator = ", "
        yield "]"
    yield "}\n"


def _account(user: User) -> Row:
    fields = (
        "email", "date_joined", "last_login", "display_name", "affiliation", "link", "bio", "mails", "queue_weight",
        "is_staff",
    )  # fmt: skip
    return {
        **{field: getattr(user, field) for field in fields},
        "email_addresses": list(EmailAddress.objects.filter(user=user).values("email", "verified", "primary")),
        "second_factors": list(Authenticator.objects.filter(user=user).values("type", "created_at", "last_used_at")),
        "linked_accounts": list(
            SocialAccount.objects.filter(user=user).values("provider", "uid", "extra_data", "date_joined")
        ),
    }


def _lists(user: User) -> Mapping[str, Iterator[Row]]:
    """Lazy iterators over rows, by name."""
    mine = Q(submission__submitted_by=user)
    return {
        "api_tokens": _rows(AuthToken.objects.filter(user=user).select_related("granted"), _api_token),
        "worker_tokens": _rows(
            WorkerToken.objects.filter(owner=user), _fields("id", "name", "created", "last_used", "revoked_at")
        ),
        "teams": _rows(Membership.objects.filter(user=user).select_related("team"), _membership),
        "invitations": _rows(
            Invitation.objects.filter(user=user).select_related("team"),
            lambda invitation: {"team": invitation.team.slug, "created": invitation.created},
        ),
        "webhooks": _rows(
            Webhook.objects.filter(owner=user), _fields("id", "url", "active", "failures", "failing_since", "created")
        ),
        "planners": _rows(
            Planner.objects.filter(owner=user).select_related("secret").prefetch_related("role_secrets"), _planner
        ),
        "checkpoints": _rows(
            CheckpointUpload.objects.filter(owner=user),
            _fields("digest", "bytes", "architecture", "parameters", "weights_bytes", "created"),
        ),
        "plans_files": _rows(PlansFile.objects.filter(owner=user), _fields("digest", "count", "created")),
        "plans": _rows(FilePlan.objects.filter(file__owner=user).select_related("file"), _plan),
        "submissions": _rows(
            Submission.objects.filter(submitted_by=user).select_related("planner", "team"), _submission
        ),
        "evaluations": _rows(Evaluation.runs.filter(mine).select_related("suite"), _evaluation),
        "results": _rows(
            TaskResult.objects.filter(evaluation__submission__submitted_by=user).select_related(
                "task", f"evaluation__{RELATED_CONDITIONS}"
            ),
            _result,
        ),
        "workbench_runs": _rows(
            Run.objects.filter(owner=user, is_blind=False).select_related("planner"),
            _fields("id", "text", "planner_name", "state", "created"),
        ),
        "votes": _rows(Vote.objects.filter(voter=user), _fields("pair_id", "response", "plan", "created", "changed")),
        "quota": _rows(
            QuotaEntry.objects.filter(user=user),
            _fields("suite", "day", "evaluation_id", "amount", "reason", "created"),
        ),
        "audit": _rows(
            AuditEntry.objects.filter(Q(actor_key=user.pk) | Q(target_kind="user", target=str(user.pk))),
            lambda entry: _audit(entry, user=user),
        ),
    }


def _rows(rows: QuerySet[Any], convert: Callable[[Any], Row]) -> Iterator[Row]:
    """All rows of a query in the order of their keys, with keyset pagination."""
    ordered, last = rows.order_by("pk"), None
    while True:
        page: list[Model] = list((ordered if last is None else ordered.filter(pk__gt=last))[:PAGE])
        yield from map(convert, page)
        if len(page) < PAGE:
            return
        last = page[-1].pk


def _fields(*names: str) -> Callable[[Model], Row]:
    return lambda row: {name: getattr(row, name) for name in names}


def _api_token(token: AuthToken) -> Row:
    granted = getattr(token, "granted", None)
    return {
        "id": token.token_key,
        "name": granted.name if granted else "",
        "scopes": granted.scopes if granted else [],
        "created": token.created,
        "expires": token.expiry,
        "last_used": granted.last_used if granted else None,
    }


def _membership(membership: Membership) -> Row:
    team = membership.team
    return {"team": team.slug, "name": team.name, "role": membership.role, "joined": membership.joined}


def _planner(planner: Planner) -> Row:
    names = [field.name for field in Planner._meta.fields if field.name != "owner"]
    secret = getattr(planner, "secret", None)
    header = {"name": secret.name, "ending": secret.ending, "updated": secret.updated} if secret else None
    of_roles = [
        {"role": one.role, "name": one.name, "ending": one.ending, "updated": one.updated}
        for one in planner.role_secrets.all()
    ]
    return {**{name: getattr(planner, name) for name in names}, "secret_header": header, "role_headers": of_roles}


def _plan(plan: FilePlan) -> Row:
    return {"file": plan.file.digest, "task": plan.task, "plan": plan.plan, "alternatives": plan.alternatives}


def _submission(submission: Submission) -> Row:
    names = (
        "id",
        "version",
        "created",
        "priority",
        "visibility",
        "embargo_until",
        "public_since",
        "deterministic",
        "asked_again",
    )
    return {
        **{name: getattr(submission, name) for name in names},
        "planner": submission.planner.name,
        "team": submission.team.slug if submission.team else None,
        "rerun_of": submission.rerun_of_id,
    }


def _evaluation(evaluation: Evaluation) -> Row:
    names = (
        "id", "verifies_id", "member_of_id", "is_further_run", "perturbation", "repetition",
        "submission_id", *CONDITION_COLUMNS, "state",
        "reason", "reason_text", "priority", "tasks_total", "tasks_not_run", "provenance",
        "summary", "created", "finished",
        "first_ranked", "hidden_at", "hidden_reason",
    )  # fmt: skip
    return {**{name: getattr(evaluation, name) for name in names}, "suite": evaluation.suite.slug}


def _result(result: TaskResult) -> Row:
    """Without sentences, plans and the record, which may have to be withheld (`evaluations/visibility.py`)."""
    if withholds_tasks(reader=None, of=result.evaluation):
        return {"evaluation_id": result.evaluation_id, "withheld": when_public(result.evaluation)}
    names = ("evaluation_id", "outcome", "reason", "score", "seconds", "planning_seconds", "prompt_tokens")
    return {
        "task": result.task.key,
        **{name: getattr(result, name) for name in (*names, "completion_tokens", "cached_tokens", "updated")},
    }


def _audit(entry: AuditEntry, *, user: User) -> Row:
    names = ("at", "action", "target_kind", "target", "label", "details")
    # The names of other actors are other people's data.
    by = user.username if entry.actor_key == user.pk else "somebody else"
    return {"by": by, **{name: getattr(entry, name) for name in names}}


def export_response(*, request: HttpRequest, user: User) -> StreamingHttpResponse:
    """The user's export as a download. The status is 200 before the first row is read."""
    return streamed(
        request=request,
        parts=(piece.encode() for piece in export(user)),
        content_type="application/json",
        filename=f"planarena-account-{timezone.now():%Y-%m-%d}.json",
    )
