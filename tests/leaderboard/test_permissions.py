"""Who may call what: every address of the site, for every role, on things that are the owner's.

The table of routes (`tests/routes.toml`) is the whole of it. It has a line for each route and method that some role may
use; every other method must be refused to all. Things are the owner's: the evaluation that they submitted for the team
that `member` is in and `stranger` is invited to.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http.cookies import SimpleCookie
from pathlib import Path

import pytest
from django.conf import settings
from django.db import transaction
from django.test import Client, override_settings
from django.urls import reverse

from evaluator.core.suites.hidden import HIDDEN
from evaluator.core.values import Artefact, MediaType
from leaderboard.boards.models import Snapshot
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.evaluations.results.objects import server_store
from leaderboard.messages.webhooks import add_webhook
from leaderboard.people import teams
from leaderboard.people.authentication import HasScope
from leaderboard.people.models import Scope, User
from leaderboard.people.services import create_token
from leaderboard.planners.checkpoints import checkpoint_store
from leaderboard.planners.models import Planner
from leaderboard.platform.uploads import services as upload_tickets
from leaderboard.queue.jobs import accept
from leaderboard.queue.leasing import leases
from leaderboard.queue.workers.tokens import create_worker_token
from leaderboard.rewards.services import REWARDS
from leaderboard.submissions.endpoint_tests import ENDPOINT_TEST
from leaderboard.submissions.pending import SUBMISSION
from tests.fakes.launcher import reset_launcher
from tests.leaderboard.factories import make_evaluation, make_regraded, make_season, make_submission, make_suite, ranked
from tests.leaderboard.platform.api.helpers import session_of
from tests.leaderboard.platform.api.test_reading import finish
from tests.leaderboard.readers import make_readers
from tests.leaderboard.reliability.factories import make_profile
from tests.leaderboard.votes.factories import bundled, make_pair
from tests.leaderboard.workbench.factories import make_run
from tests.routes import ALLAUTH, METHODS, ROLES, Route, named_routes, table

pytestmark = pytest.mark.django_db
REFUSED = frozenset({401, 403, 404, 405})
UNREADABLE = frozenset({401, 403, 405})


@dataclass(frozen=True)
class World:
    """What there is, and how each role shows who it is."""

    things: dict[str, object]
    users: dict[str, User]
    tokens: dict[str, str]
    sessions: dict[str, SimpleCookie]


@pytest.fixture(scope="module")
def made(module_rows, tmp_path_factory) -> Iterator[tuple[Path, World]]:
    """A store, and a world in it."""
    folder = tmp_path_factory.mktemp("world")
    reset_launcher()
    with override_settings(STORE_DIR=folder / "store"):
        yield folder / "store", make_world(folder)


@pytest.fixture
def world(made, settings) -> World:
    settings.STORE_DIR, found = made
    return found


def make_world(tmp_path: Path) -> World:
    owner, lab = make_readers()
    suite = make_suite(slug="openagi")
    done = ranked(make_submission(user=owner, suite=suite, team=lab)).evaluations.get()
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
    result = done.results.first()
    TaskResult.objects.create(
        evaluation=waiting, task=result.task, outcome=result.outcome, score=result.score,
        record_digest=result.record_digest, seconds=result.seconds,
    )  # fmt: skip
    things = {
        "evaluation": waiting.pk, "submission": waiting.submission_id, "task": "0", "key": "0",
        "team": "lab", "suite": "openagi", "number": Snapshot.objects.get().number, "attempt": lease.attempt.pk,
        "digest": result.record_digest, "username": "member", "member": "member", "invited": "stranger",
        "token_id": "1", "worker_token": create_worker_token(owner=owner, name="desktop").id,
        "planner_id": waiting.submission.planner_id, "chapter": "api",
        "webhook": add_webhook(owner=owner, url="https://example.org/hook").pk,
        "job": accept(kind=ENDPOINT_TEST, owner=owner, request=None).pk,
        "pending_job": accept(kind=SUBMISSION, owner=owner, request=None).pk,
        "run": make_run(owner).pk, "pair": make_pair(owner, a=bundled("a"), b=bundled("b"), suite="openagi").pk,
        "rewards_job": accept(kind=REWARDS, owner=owner, request=None).pk,
        "ticket": upload_tickets.ask(owner_id=owner.pk, address="", size=1).row.pk,
        "ended": done.pk, "compared": done.pk, "extension": "csv", "profiled": make_profile(done).pk,
        "regraded": make_regraded(done).pk,
        "checkpoint": checkpoint, "personal_token": create_token(user=owner).id, "uidb36": "a",
        "name": "planner_server.py", "season": make_season().name,
        "hidden_digest": server_store(split=HIDDEN).put(Artefact(data=b"secret", media_type=MediaType.TEXT)),
    }  # fmt: skip
    users = {name: User.objects.get(username=name) for name in ("stranger", "member", "owner", "staff")}
    tokens = {role: create_token(user=user, scopes=Scope.values).token for role, user in users.items()}
    tokens |= {"worker": session_of(settings.WORKER_TOKEN), "attempt": lease.token}
    return World(things, users, tokens, {role: cookies_of(user) for role, user in users.items()})


def cookies_of(user: User) -> SimpleCookie:
    client = Client()
    client.force_login(user)
    return client.cookies


def address(route: Route, parameters, world: World) -> str:
    return route.address or reverse(route.name, kwargs=route.values(parameters=parameters, things=world.things))


def ask(role: str, *, name: str, path: str, method: str, world: World) -> int:
    """The status that a role gets; whatever the call changed is undone."""
    client = Client(raise_request_exception=False)
    headers = {}
    if name.startswith("api:") and role in world.tokens:
        enrols = (name, role) == ("api:worker-session", "worker")
        headers = {"Authorization": f"Bearer {settings.WORKER_TOKEN if enrols else world.tokens[role]}"}
    elif role in world.users:
        client.cookies = world.sessions[role].copy()
    elif role in world.tokens:
        headers = {"Authorization": f"Bearer {world.tokens[role]}"}
    kwargs = {"headers": headers}
    if method != "get" and name.startswith("api:"):
        kwargs["content_type"] = "application/json"
    with transaction.atomic():
        response = getattr(client, method)(path, **kwargs)
        transaction.set_rollback(True)
    return response.status_code


def test_every_role_may_do_what_the_table_says_on_every_address(world, full):
    differing = []
    for name, parameters in named_routes():
        route = table().get(name, Route(name=name))
        # Tests elsewhere: they close the connection that this test's changes are undone with.
        if not name.startswith("admin:") and not route.permissions_elsewhere:
            # To pages, workers and attempts are strangers: a full run asks as these, too.
            roles = ROLES if full or name.startswith("api:") else ROLES[:-2]
            differing += differences(route, path=address(route, parameters, world), roles=roles, world=world, full=full)
    assert not differing, "\n" + "\n".join(differing)


def at_boundaries(roles: Sequence[str], *, wanted: Sequence[int]) -> list[str]:
    """Of roles by their rights, the first, and those who may do something else than the one before or after."""
    statuses = [None, *wanted[: len(roles)]]
    last = len(roles)
    return [
        role
        for place, role in enumerate(roles, start=1)
        if statuses[place] != statuses[place - 1] or (place < last and statuses[place] != statuses[place + 1])
    ]


def differences(route: Route, *, path: str, roles: Sequence[str], world: World, full: bool) -> list[str]:
    """What these roles may do, against the table; unless in a full run, those between others with equal rights are left
    out."""
    differing = []
    # The pages of allauth take every method for its GET or POST.
    for method in METHODS[:2] if route.name.startswith(ALLAUTH) else METHODS:
        wanted = route.statuses.get(method)
        found = (ask("owner", name=route.name, path=path, method=method, world=world),)
        # Who may call at all is asked first: with 405 there is no such method.
        asked = ("owner",)
        if found != (405,) or wanted is not None:
            asked = roles if full or wanted is None else at_boundaries(roles, wanted=wanted)
            found = tuple(ask(role, name=route.name, path=path, method=method, world=world) for role in asked)
        refused = UNREADABLE if method == "get" and route.is_only_written else REFUSED
        if wanted is None and refused.issuperset(found):
            continue
        if wanted is None or found != tuple(wanted[ROLES.index(role)] for role in asked):
            differing.append(f'{route.name}: {method} = "{" ".join(map(str, found))}" for {asked}, not {wanted}')
    return differing


def test_nobody_but_staff_gets_into_the_admin(world):
    admin = {
        name: parameters
        for name, parameters in named_routes()
        if name.startswith("admin:") and name.rpartition(":")[2] not in {"login", "jsi18n", "logout"}
    }
    assert len(admin) > 20
    entered = []
    for name, parameters in admin.items():
        path = reverse(name, kwargs={each: "1" if each != "app_label" else "evaluations" for each in parameters})
        for role in ("anonymous", "stranger", "member", "owner", "worker"):
            status = ask(role, name=name, path=path, method="get", world=world)
            if status not in {302, 404}:
                entered.append((name, role, status))
    assert entered == []


def test_every_view_of_the_api_for_people_checks_the_scope_of_tokens():
    import leaderboard.wiring.api_urls as api

    for part in api.urlpatterns:
        if str(part.pattern).startswith("worker/") or part.name in {"nowhere", "schema"}:
            continue
        assert HasScope in part.callback.view_class.permission_classes, part.name
