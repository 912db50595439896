"""What is not public does not exist for others: asked at every address of the site, so that a new one is asked, too.

Two questions. Addresses that name nothing private are read with everything private in the database: none of their
answers may hold a word of it. And addresses that name something private must answer as they do for an id that never
was, so that not even its being there can be found out.
"""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from django.db import transaction
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone

from leaderboard.accounts.models import User
from leaderboard.accounts.scopes import Scope
from leaderboard.accounts.services import create_token
from leaderboard.boards.models import Snapshot
from leaderboard.boards.pages.page_cache import forget_pages
from leaderboard.evaluations.models import Evaluation, Submission, Visibility
from leaderboard.submissions.hiding import hide
from leaderboard.submissions.releasing import release_due, set_visibility
from leaderboard.submissions.rerunning import rerun
from tests.fakes.launcher import reset_launcher
from tests.leaderboard.factories import make_submission, make_suite, make_team, make_user
from tests.leaderboard.site.api.test_reading import finish
from tests.rings import usual
from tests.routes import METHODS, named_routes, table

pytestmark = pytest.mark.django_db
NAME = "canary-7c1f"
"""Begins the name and the description of every planner that is not public."""
NOBODY = UUID("11111111-2222-4333-8444-555555555555")
QUERIES = ("", "?rows=all", "?own=1&rows=all&per_page=100", "?page_size=500", "?mine=1&state=completed")


class Private(NamedTuple):
    """What is not public: completed, under way, and a re-run of something public."""

    submissions: list[Submission]
    public: Evaluation

    @property
    def evaluations(self) -> list[Evaluation]:
        return [submission.evaluations.get() for submission in self.submissions]

    def words(self) -> set[str]:
        """Every text that tells of it."""
        ids = [row.pk for row in (*self.submissions, *self.evaluations)]
        digests = [row.record_digest for one in self.evaluations for row in one.results.all() if row.record_digest]
        assert digests
        return {NAME, *map(str, ids), *(key.hex for key in ids), *digests}


@pytest.fixture(scope="module", params=usual([Visibility.PRIVATE, Visibility.EMBARGO], of=[Visibility.PRIVATE]))
def visibility(request) -> Visibility:
    """Of what is not public."""
    return request.param


@pytest.fixture(scope="module")
def made(module_rows, visibility, tmp_path_factory) -> Iterator[tuple[Path, Private]]:
    """A store, and what is not public."""
    store = tmp_path_factory.mktemp("private") / "store"
    reset_launcher()
    with override_settings(STORE_DIR=store), transaction.atomic():
        yield store, make_private(visibility)
        transaction.set_rollback(True)


@pytest.fixture
def private(made, settings) -> Private:
    settings.STORE_DIR, found = made
    forget_pages()
    return found


def make_private(visibility: Visibility) -> Private:
    owner, member = make_user("owner"), make_user("member")
    make_user("stranger")
    lab = make_team(owner, member, name="lab")
    suite = make_suite(slug="openagi")
    until = timezone.now() + timedelta(days=7) if visibility == Visibility.EMBARGO else None
    public = make_submission(user=owner, suite=suite, name="well-known")
    complete(public, score=0.5)
    seen = {"visibility": visibility, "embargo_until": until}
    made = [
        make_submission(user=owner, suite=suite, team=lab, seen=seen, name=f"{NAME}-{n}", description=f"{NAME} words")
        for n in range(2)
    ]
    complete(made[0], score=0.9)
    again = rerun(public.evaluations.get(), by=owner)
    set_visibility(again, **seen, by=owner)
    return Private([*made, again], public.evaluations.get())


def complete(submission: Submission, *, score: float) -> None:
    """Run it to its end; the better one would stand first."""
    Evaluation.objects.filter(submission=submission).update(state="launching")
    finish(submission.evaluations.get(), score=score)


def clients() -> dict[str, list[Client]]:
    """Everybody from whom it is kept, through sessions and through tokens."""
    stranger = User.objects.get(username="stranger")
    signed_in = Client(raise_request_exception=False)
    signed_in.force_login(stranger)
    token = create_token(user=stranger, scopes=Scope.values).token
    return {
        "anonymous": [Client(raise_request_exception=False)],
        "stranger": [
            signed_in, Client(raise_request_exception=False, headers={"Authorization": f"Bearer {token}"})
        ],
    }  # fmt: skip


def arguments(evaluation: Evaluation, **others: Any) -> dict[str, Any]:
    """What the addresses of the site name, for one evaluation."""
    return {
        "evaluation_id": evaluation.pk, "submission_id": evaluation.submission_id, "evaluation": evaluation.pk,
        "planner_id": evaluation.submission.planner_id, "username": evaluation.submission.submitted_by.username,
        "task_key": "0", "key": "0", "slug": "openagi", "suite": "openagi", "number": Snapshot.objects.first().number,
        "extension": "csv", "attempt_id": NOBODY, "token_id": NOBODY, "webhook_id": NOBODY, "ticket_id": NOBODY,
        "job_id": NOBODY, "digest": "0" * 64, "uidb36": "a", "name": "planner_server.py", "season": "season",
        "picture": "time", "drawn_as": "svg", "pool": "gpu", "kind": "endpoint", **others,
    }  # fmt: skip


def routes() -> list[tuple[str, list[str]]]:
    """Name and parameters of every route but those of the operators, and those that close the connection."""
    return [
        (name, names)
        for name, names in named_routes()
        if not name.startswith("admin:") and not table()[name].permissions_elsewhere
    ]


def asked(names, values: dict[str, Any], name: str) -> str:
    return "/api/v1/nothing/" if name == "api:nowhere" else reverse(name, kwargs={each: values[each] for each in names})


def answer(client: Client, path: str, method: str = "get") -> tuple[int, str]:
    with transaction.atomic():
        response = getattr(client, method)(path)
        transaction.set_rollback(True)
    assert response.status_code != 429, "who is throttled sees nothing"
    body = b"".join(response) if response.streaming else response.content
    return response.status_code, body.decode(errors="replace")


def asking(*, full: bool) -> Iterator[tuple[str, Client, str, list[str]]]:
    """Each route with those who ask it: in a full run all, else strangers by token in the API and by session on pages,
    and nobody on pages."""
    found = clients()
    for name, names in routes():
        of_api = name.startswith("api:")
        for who, clients_of in found.items():
            chosen = clients_of if full else clients_of[1:] if of_api else clients_of[:1]
            yield from ((who, client, name, names) for client in chosen)


def told(private: Private, *, full: bool) -> Iterator[str]:
    """Where something that is not public can be read, by whom, at addresses that do not name it."""
    words = private.words()
    values = arguments(private.public)
    for who, client, name, names in asking(full=full):
        for query in QUERIES:
            forget_pages()
            path = asked(names, values, name) + query
            status, body = answer(client, path)
            yield from (f"{who}: {path} tells {word}" for word in words if word in body)
            if status != 200:
                break


def test_no_answer_holds_a_word_of_what_is_not_public(private, full):
    assert not list(told(private, full=full))


def test_these_words_are_found_where_they_stand(private):
    """The walk would see a leak: to its owner the same addresses do tell."""
    client = Client()
    client.force_login(User.objects.get(username="owner"))
    values = arguments(private.public)
    bodies = [answer(client, asked(names, values, name))[1] for name, names in routes()]
    everything = "".join(bodies)
    assert NAME in everything
    assert str(private.evaluations[0].pk) in everything
    assert str(private.submissions[2].pk) in everything, "the re-run stands beside what it runs again"


def test_what_is_named_answers_as_if_it_never_was(private, full):
    differing = []
    nothing = dict.fromkeys(("evaluation_id", "submission_id", "evaluation"), NOBODY) | {"planner_id": 987654321}
    for evaluation in private.evaluations:
        values = arguments(evaluation)
        for who, client, name, names in asking(full=full):
            if not nothing.keys() & set(names):
                continue
            if evaluation.submission.planner.name == "well-known" and "planner_id" in names:
                continue
            for method in METHODS if full else table()[name].statuses:
                real = neutral(answer(client, asked(names, values, name), method), values)
                none = neutral(answer(client, asked(names, values | nothing, name), method), values | nothing)
                if real != none:
                    differing.append(f"{who} {method} {name}: {real[0]} instead of {none[0]}")
    assert not differing


def neutral(found: tuple[int, str], values: dict[str, Any]) -> tuple[int, str]:
    """An answer without the ids that were asked for, and without what differs each time."""
    status, body = found
    for key in ("evaluation_id", "submission_id"):
        body = body.replace(str(values[key]), "ID")
    body = body.replace(f"planners/{values['planner_id']}/", "planners/ID/")
    return status, re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", body)


def test_what_is_kept_for_strangers_was_never_its_owner_s_page(private, settings):
    settings.KEEP_PAGES_SECONDS = 60
    forget_pages()
    owner = Client()
    owner.force_login(User.objects.get(username="owner"))
    for address in ("/", "/boards/openagi/", "/boards/openagi/?rows=all", "/users/owner/"):
        for client in (owner, Client(), owner, Client()):
            assert (NAME in answer(client, address)[1]) <= (client is owner), address


def test_comparisons_name_nothing_that_is_not_public(private):
    ids = [private.public.pk, private.evaluations[0].pk]
    for found in clients().values():
        for client in found:
            for path in (reverse("compare:compare"), reverse("api:compare")):
                real = answer(client, f"{path}?e={ids[0]}&e={ids[1]}")
                none = answer(client, f"{path}?e={ids[0]}&e={NOBODY}")
                assert real[0] == none[0] == 400
                assert real[1].replace(str(ids[1]), "ID") == none[1].replace(str(NOBODY), "ID")


def test_its_team_and_staff_see_it(private):
    User.objects.filter(username="stranger").update(is_staff=True)
    path = reverse("evaluations:detail", args=[private.evaluations[0].pk])
    for name in ("owner", "member", "stranger"):
        client = Client()
        client.force_login(User.objects.get(username=name))
        assert NAME in answer(client, path)[1]


@pytest.mark.parametrize("visibility", [Visibility.EMBARGO], indirect=True)
def test_an_embargo_ends_by_itself(private):
    Submission.objects.filter(visibility=Visibility.EMBARGO).update(embargo_until=timezone.now())
    done = private.evaluations[0]
    path = reverse("evaluations:detail", args=[done.pk])
    assert answer(Client(), path)[0] == 200, "whether or not a process has noticed"
    assert release_due() == 3
    assert release_due() == 0
    assert next(told(private, full=False), "")
    for address in ("/", "/boards/openagi/", "/boards/openagi/newest.csv", "/feed.atom"):
        forget_pages()
        body = answer(Client(), address)[1]
        assert str(done.pk) in body, address
        assert f"{NAME}-0" in body, address


def test_what_an_operator_hid_is_on_no_board_and_its_page_says_why(private):
    before = Snapshot.objects.get()
    hide(private.public, reason="Its endpoint copied the gold plans.", by=User.objects.get(username="stranger"))
    for address in ("/", "/boards/openagi/", "/boards/openagi/?rows=all", "/boards/openagi/plots/", "/feed.atom"):
        forget_pages()
        assert "well-known" not in answer(Client(), address)[1], address
    page = answer(Client(), reverse("evaluations:detail", args=[private.public.pk]))[1]
    assert "Hidden by an operator" in page
    assert "Its endpoint copied the gold plans." in page
    kept = answer(Client(), reverse("boards:snapshot", args=["openagi", before.number]))[1]
    assert "well-known" in kept, "history is not rewritten"
