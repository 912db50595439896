"""How many tokens, webhooks and teams somebody may have holds also for requests that come at one moment."""

from collections.abc import Callable

import pytest

from leaderboard.accounts import services as accounts
from leaderboard.accounts import teams
from leaderboard.accounts.models import Membership, User
from leaderboard.audit.models import Action, AuditEntry
from leaderboard.notifications import webhooks
from leaderboard.queue.workers import tokens
from leaderboard.site.field_errors import FieldErrors
from tests.leaderboard.factories import make_user
from tests.leaderboard.threads import in_threads


def a_webhook(owner: User, number: int) -> None:
    webhooks.add_webhook(owner=owner, url=f"http://127.0.0.1/{number}")


LIMITED: list[tuple[Callable[[User, int], object], int, Callable[[User], int]]] = [
    (
        lambda owner, number: accounts.create_token(user=owner, days=number),
        accounts.MOST_TOKENS,
        lambda owner: accounts.tokens_of(owner).count(),
    ),
    (
        lambda owner, number: tokens.create_worker_token(owner=owner, name=str(number)),
        tokens.MOST_TOKENS,
        lambda owner: tokens.worker_tokens_of(owner).count(),
    ),
    (a_webhook, webhooks.MOST_WEBHOOKS, lambda owner: webhooks.webhooks_of(owner).count()),
    (
        lambda owner, number: teams.create_team(owner=owner, slug=f"team-{number}", name=f"Team {number}"),
        teams.MOST_OWNED,
        lambda owner: Membership.objects.filter(user=owner).count(),
    ),
]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("make", "most", "count"), LIMITED)
def test_there_is_never_one_too_many(make, most, count, settings):
    settings.DEMO = True
    owner = make_user()
    for number in range(1, most):
        make(owner, number)
    numbers = iter(range(most, most + 6))
    refused = in_threads(lambda: make(owner, next(numbers)), count=6)
    assert count(owner) == most
    assert [type(error) for error in refused] == [FieldErrors] * 5


@pytest.mark.django_db(transaction=True)
def test_an_address_is_a_webhook_once(settings):
    settings.DEMO = True
    owner = make_user()
    refused = in_threads(lambda: a_webhook(owner, 1), count=4)
    assert len(refused) == 3
    assert webhooks.webhooks_of(owner).count() == 1


@pytest.mark.django_db
def test_the_audit_log_which_is_never_cleaned_knows_no_more_of_a_webhook_than_its_host(settings):
    settings.DEMO = True
    owner = make_user()
    made = webhooks.add_webhook(owner=owner, url="http://127.0.0.1:9/services/T0/secret-of-a-chat?token=abc")
    assert webhooks.remove_webhook(owner=owner, webhook_id=made.pk)
    entries = AuditEntry.objects.filter(action__in=[Action.WEBHOOK_ADDED, Action.WEBHOOK_REMOVED])
    assert [entry.label for entry in entries] == ["http://127.0.0.1"] * 2
