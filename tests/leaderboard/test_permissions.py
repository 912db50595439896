"""Who may call what: every address of the site, for every role, on things that are the owner's.

The table below is the whole of it. It has a row for each route and method that some role may use; every other method
must be refused to all, and a route without a row fails the test, but those that nobody here may use. Things are the
owner's: the evaluation that they submitted for the team that `member` is in and `stranger` is invited to.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.conf import settings
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from evaluator.suites.hidden import HIDDEN
from evaluator.values import Artefact, MediaType
from leaderboard.accounts import teams
from leaderboard.accounts.api.permissions import HasScope
from leaderboard.accounts.models import User
from leaderboard.accounts.scopes import Scope
from leaderboard.accounts.services import create_token
from leaderboard.boards.models import Snapshot
from leaderboard.evaluations.models import Evaluation
from leaderboard.notifications.webhooks import add_webhook
from leaderboard.planners.checkpoints import checkpoint_store
from leaderboard.planners.models import Planner
from leaderboard.queue.leasing import leases
from leaderboard.queue.workers.tokens import create_worker_token
from leaderboard.results.objects import server_store
from leaderboard.uploads import services as upload_tickets
from tests.leaderboard.factories import make_evaluation, make_submission, make_suite, make_team, make_user
from tests.leaderboard.site.api.helpers import session_of
from tests.leaderboard.site.api.test_reading import finish

pytestmark = pytest.mark.django_db
ROLES = ("anonymous", "stranger", "member", "owner", "staff", "worker", "attempt")
ALLAUTH = ("account_", "mfa_", "socialaccount_", "github_")
REFUSED = frozenset({401, 403, 404, 405})
METHODS = ("get", "post", "put", "patch", "delete")
PUBLIC_ELSEWHERE = {"ready": "test_health.py", "evaluations:events": "test_live.py"}
"""Public for everyone by tests of their own: they close the connection that this test's changes are undone with."""
TABLE = Path(__file__).with_name("permissions.txt")


@dataclass(frozen=True)
class World:
    """What there is, and how each role shows who it is."""

    arguments: dict[str, object]
    users: dict[str, User]
    tokens: dict[str, str]


@pytest.fixture
def world(settings, tmp_path, launcher):
    settings.STORE_DIR = tmp_path / "store"
    owner, member, stranger, staff = (make_user(name) for name in ("owner", "member", "stranger", "staff"))
    User.objects.filter(pk=staff.pk).update(is_staff=True)
    lab = make_team(owner, member, name="lab")
    suite = make_suite(slug="openagi")
    done = make_submission(user=owner, suite=suite, team=lab).evaluations.get()
    Evaluation.objects.filter(pk=done.pk).update(state="launching")
    finish(done)
    waiting = make_submission(user=owner, suite=suite, team=lab).evaluations.get()
    Evaluation.objects.filter(pk=waiting.pk).update(state="launching")
    lease = leases.lease(worker="w", evaluation_id=waiting.pk)
    checkpoint = hashlib.sha256(b"weights").hexdigest()
    (tmp_path / "weights").write_bytes(b"weights")
    checkpoint_store().take(path=tmp_path / "weights", digest=checkpoint)
    Planner.objects.filter(pk=waiting.submission.planner_id).update(
        kind="checkpoint", bundled_name="", checkpoint_digest=checkpoint, strategy="hugginggpt"
    )
    make_evaluation(user=owner, suite=suite, state="launching")
    teams.invite(team=lab, username="stranger", by=owner)
    arguments = {
        "evaluation_id": waiting.pk, "submission_id": waiting.submission_id, "task_key": "0", "key": "0",
        "slug": "lab", "suite": "openagi", "number": Snapshot.objects.get().number, "attempt_id": lease.attempt.pk,
        "digest": done.results.first().record_digest, "username": "member",
        "token_id": create_worker_token(owner=owner, name="desktop").id,
        "planner_id": waiting.submission.planner_id,
        "webhook_id": add_webhook(owner=owner, url="https://example.org/hook").pk,
        "ticket_id": upload_tickets.ask(owner_id=owner.pk, address="", size=1).row.pk,
        "done": done.pk, "evaluation": done.pk, "extension": "csv",
        "checkpoint": checkpoint, "personal": create_token(user=owner).id, "uidb36": "a", "name": "planner_server.py",
        "hidden": server_store(split=HIDDEN).put(Artefact(data=b"secret", media_type=MediaType.TEXT)),
    }  # fmt: skip
    users = {"stranger": stranger, "member": member, "owner": owner, "staff": User.objects.get(pk=staff.pk)}
    tokens = {role: create_token(user=user, scopes=Scope.values).token for role, user in users.items()}
    return World(arguments, users, {**tokens, "worker": session_of(settings.WORKER_TOKEN), "attempt": lease.token})


def routes():
    """Name and parameters of every address but those of the admin, which are asked for below."""

    def walk(resolver, prefix, path):
        for part in resolver.url_patterns:
            if isinstance(part, URLResolver):
                inside = f"{prefix}{part.namespace}:" if part.namespace else prefix
                yield from walk(part, inside, path + str(part.pattern))
            elif isinstance(part, URLPattern) and not (path + str(part.pattern)).startswith("accounts/social/"):
                yield f"{prefix}{part.name}", part.pattern.converters.keys() or part.pattern.regex.groupindex

    yield from (found for found in walk(get_resolver(), "", "") if not found[0].startswith("admin:"))


def address(name: str, names, world: World) -> str:
    if name == "api:nowhere":
        return "/api/v1/nothing/"
    values = {each: world.arguments[each] for each in names}
    if name == "hidden-object":
        values["digest"] = world.arguments["hidden"]
    if name == "api:attempt-checkpoint":
        values["digest"] = world.arguments["checkpoint"]
    if name in {"api:token", "accounts:revoke"}:
        values["token_id"] = world.arguments["personal"]
    if name in {"api:results", "api:record", "evaluations:task", "api:rerun", "evaluations:rerun"}:
        values["evaluation_id"] = world.arguments["done"]
    if "slug" in values and name.startswith(("api:board", "api:snapshot", "api:suite", "api:tasks")):
        values["slug"] = "openagi"
    if name == "handbook:chapter":
        values["slug"] = "api"
    if "invitation" in name and "username" in values:
        values["username"] = "stranger"
    return reverse(name, kwargs=values)


def ask(role: str, *, name: str, path: str, method: str, world: World) -> int:
    """The status that a role gets; whatever the call changed is undone."""
    client = Client(raise_request_exception=False)
    headers = {}
    if name.startswith("api:") and role in world.tokens:
        enrols = (name, role) == ("api:worker-session", "worker")
        headers = {"Authorization": f"Bearer {settings.WORKER_TOKEN if enrols else world.tokens[role]}"}
    elif role in world.users:
        client.force_login(world.users[role])
    elif role in world.tokens:
        headers = {"Authorization": f"Bearer {world.tokens[role]}"}
    kwargs = {"headers": headers}
    if method != "get" and name.startswith("api:"):
        kwargs["content_type"] = "application/json"
    with transaction.atomic():
        response = getattr(client, method)(path, **kwargs)
        transaction.set_rollback(True)
    return response.status_code


def read_table() -> dict[tuple[str, str], list[int]]:
    rows = {}
    for line in TABLE.read_text().splitlines():
        if line and not line.startswith("#"):
            name, method, *statuses = line.split()
            rows[name, method] = [int(status) for status in statuses]
    return rows


def test_every_role_may_do_what_the_table_says_on_every_address(world):
    expected, differing = read_table(), []
    found_names = set()
    for name, names in routes():
        if name in PUBLIC_ELSEWHERE:
            continue
        found_names.add(name)
        path = address(name, names, world)
        # The pages of allauth take every method for its GET or POST.
        for method in METHODS[:2] if name.startswith(ALLAUTH) else METHODS:
            if ask("owner", name=name, path=path, method=method, world=world) == 405:
                # Who may call at all is asked first: there is no such method.
                assert (name, method) not in expected
                continue
            found = [ask(role, name=name, path=path, method=method, world=world) for role in ROLES]
            wanted = expected.get((name, method))
            if wanted is None and REFUSED.issuperset(found):
                continue
            if found != wanted:
                differing.append(f"{name:40} {method:6} {' '.join(map(str, found))}   wanted: {wanted}")
    assert not differing, "\n" + "\n".join(differing)
    assert {name for name, _ in expected} <= found_names, "there are rows of routes that there are no more"


def test_nobody_but_staff_gets_into_the_admin(world):
    def walk(resolver):
        for part in resolver.url_patterns:
            yield from walk(part) if isinstance(part, URLResolver) else [part]

    (admin,) = [part for part in get_resolver().url_patterns if getattr(part, "namespace", "") == "admin"]
    open_to_all = {"login", "jsi18n", "logout"}
    found = {
        part.name: list(part.pattern.converters or part.pattern.regex.groupindex) for part in walk(admin) if part.name
    }
    assert len(found) > 20
    for name, names in found.items():
        values = {each: "1" if each != "app_label" else "evaluations" for each in names}
        path = reverse(f"admin:{name}", kwargs=values)
        for role in ("anonymous", "stranger", "member", "owner", "worker"):
            if name not in open_to_all:
                status = ask(role, name=f"admin:{name}", path=path, method="get", world=world)
                assert status in {302, 404}, (name, role, status)


def test_every_view_of_the_api_for_people_checks_the_scope_of_tokens():
    import leaderboard.wiring.api_urls as api

    for part in api.urlpatterns:
        if str(part.pattern).startswith("worker/") or part.name in {"nowhere", "schema"}:
            continue
        assert HasScope in part.callback.view_class.permission_classes, part.name
