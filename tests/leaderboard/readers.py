"""Who reads the site in tests that walk its addresses, what they get, and evaluations for them to read."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from uuid import UUID

from django.db import transaction
from django.test import Client

from evaluator.core.records import ResultRecord
from leaderboard.boards.models import Snapshot
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.results.objects import server_store
from leaderboard.people.models import Scope, Team, User
from leaderboard.people.services import create_token
from leaderboard.queue.leasing import leases
from leaderboard.queue.reconcile import sweep
from leaderboard.queue.workers.finishing import deliver
from tests.leaderboard.factories import make_lease, make_team, make_user
from tests.routes import Address, Things, site_addresses

EVERYBODY = ("anonymous", "stranger", "member", "owner")
LEAST_AND_MOST = ("anonymous", "owner")
"""Who sees least and who sees most of those who are not staff."""


def make_readers() -> tuple[User, Team]:
    """Owner, member of the owner's team, stranger and staff, each by this name; returns the owner and the team."""
    owner, member, _, staff = (make_user(name) for name in ("owner", "member", "stranger", "staff"))
    User.objects.filter(pk=staff.pk).update(is_staff=True)
    return owner, make_team(owner, member, name="lab")


def clients(name: str) -> list[Client]:
    """A reader's session and token."""
    if name == "anonymous":
        return [Client(raise_request_exception=False)]
    user = User.objects.get(username=name)
    session = Client(raise_request_exception=False)
    session.force_login(user)
    token = create_token(user=user, scopes=Scope.values).token
    return [session, Client(raise_request_exception=False, headers={"Authorization": f"Bearer {token}"})]


def asking(name: str, addresses: Iterable[Address], *, full: bool) -> Iterator[tuple[Address, Client]]:
    """Addresses with the clients that ask them: in a full run each, else tokens in the API and sessions on pages."""
    found = clients(name)
    for address in addresses:
        of_api = address.route.startswith("api:")
        yield from ((address, client) for client in (found if full else [found[-1] if of_api else found[0]]))


_REQUEST_ID = re.compile(r'"request_id":"\w+"|(?<=id="request-id">)\w+')


def answer(client: Client, path: str, method: str = "get") -> tuple[Any, str]:
    """A response and its body without the request's id; whatever the call changed is undone."""
    with transaction.atomic():
        response = getattr(client, method)(path)
        transaction.set_rollback(True)
    assert response.status_code not in {429, 500}, f"{method} {path}: such an answer holds nothing"
    body = b"".join(response) if response.streaming else response.content
    return response, _REQUEST_ID.sub("", body.decode(errors="replace"))


def deliver_some(evaluation: Evaluation, *, record: Callable[[str], ResultRecord]) -> leases.Lease:
    """Results of the first shard; `record` makes that of a task."""
    Evaluation.objects.filter(pk=evaluation.pk).update(state="launching")
    evaluation.refresh_from_db()
    lease = make_lease(evaluation)
    store = server_store(split=evaluation.split)
    deliver(attempt_id=lease.attempt.pk, records=list(map(record, lease.tasks)), store=store)
    return lease


def complete(evaluation: Evaluation, *, record: Callable[[str], ResultRecord]) -> None:
    """Run an evaluation of one shard to its end."""
    leases.complete(deliver_some(evaluation, record=record).attempt.pk)
    sweep()
    evaluation.refresh_from_db()
    assert evaluation.state == "completed"


def record_of(evaluation: Evaluation) -> str:
    """The digest of one of its records."""
    digest: str = evaluation.results.exclude(record_digest="")[0].record_digest
    return digest


def things_of(evaluation: Evaluation, **others: Any) -> dict[str, Any]:
    """What addresses about an evaluation are made of, and `others`."""
    suite = evaluation.suite.slug
    snapshot = Snapshot.objects.filter(suite__slug=suite).order_by("-number").first()
    return {
        **dict.fromkeys(("job", "rewards_job", "pending_job", "run", "pair"), UUID(int=1)),
        "team": "lab", "username": "owner", "season": "1", "chapter": "api", "task": "0", "metric": "vit", "cursor": "",
        "suite": suite, "number": snapshot.number if snapshot else 1, "evaluation": evaluation.pk,
        "submission": evaluation.submission_id, "planner_id": evaluation.submission.planner_id, **others,
    }  # fmt: skip


def addresses_of(things: Iterable[Things]) -> Iterator[tuple[Address, Things]]:
    """Every address of the site that these things fill, once, with what filled it."""
    seen: set[str] = set()
    for one in things:
        for address in site_addresses(one):
            if address.path not in seen:
                seen.add(address.path)
                yield address, one
