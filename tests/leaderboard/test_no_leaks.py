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

from leaderboard.boards.models import Snapshot
from leaderboard.evaluations.models import Evaluation, Submission, Visibility
from leaderboard.people.models import User
from leaderboard.submissions.actions import rerun
from leaderboard.submissions.releasing import hide, release_due, set_visibility
from tests.fakes.launcher import reset_launcher
from tests.leaderboard.factories import make_submission, make_suite
from tests.leaderboard.platform.api.test_reading import finish
from tests.leaderboard.readers import answer, clients, make_readers, things_of
from tests.rings import usual
from tests.routes import METHODS, Route, named_routes, table

pytestmark = pytest.mark.django_db
NAME = "canary-7c1f"
"""Begins the name and the description of every planner that is not public."""
NOBODY = UUID("11111111-2222-4333-8444-555555555555")
QUERIES = ("", "?rows=all", "?own=1&rows=all&per_page=100", "?page_size=500", "?mine=1&state=completed")
PAGES_AND_API = (("", "?own=1&rows=all&per_page=100"), ("", "?mine=1&state=completed"))
"""Those with which pages and the API show most. A full run asks with all."""


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
    return found


def make_private(visibility: Visibility) -> Private:
    owner, lab = make_readers()
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
    """Run it to its end; the better one would be first."""
    Evaluation.objects.filter(submission=submission).update(state="launching")
    finish(submission.evaluations.get(), score=score)


def things(evaluation: Evaluation) -> dict[str, Any]:
    """What addresses are made of, for one evaluation."""
    ids = ("attempt", "token_id", "personal_token", "worker_token", "webhook", "ticket", "job", "rewards_job", "run",
           "pair", "pending_job")  # fmt: skip
    return {
        **things_of(evaluation), **dict.fromkeys(ids, NOBODY), "season": "season", "name": "planner_server.py",
        "member": "owner", "invited": "owner", "key": "0", "extension": "csv", "uidb36": "a",
        **dict.fromkeys(("digest", "hidden_digest", "checkpoint"), "0" * 64),
        **dict.fromkeys(("ended", "compared", "profiled", "regraded"), evaluation.pk),
    }  # fmt: skip


def routes() -> list[tuple[Route, list[str]]]:
    """Every route but those of the operators, and those that close the connection."""
    return [
        (table()[name], parameters)
        for name, parameters in named_routes()
        if not name.startswith("admin:") and not table()[name].permissions_elsewhere
    ]


def path_of(route: Route, parameters: list[str], values: dict[str, Any]) -> str:
    return route.address or reverse(route.name, kwargs=route.values(parameters=parameters, things=values))


def asking_routes(*, full: bool) -> Iterator[tuple[str, Client, Route, list[str]]]:
    """Each route with those from whom it is kept: in a full run all, else strangers by token in the API and by session
    on pages, and nobody on pages."""
    found = {name: clients(name) for name in ("anonymous", "stranger")}
    for route, parameters in routes():
        of_api = route.name.startswith("api:")
        for who, clients_of in found.items():
            chosen = clients_of if full else clients_of[1:] if of_api else clients_of[:1]
            yield from ((who, client, route, parameters) for client in chosen)


def told(private: Private, *, full: bool) -> Iterator[str]:
    """Where something that is not public can be read, by whom, at addresses that do not name it."""
    words = private.words()
    values = things(private.public)
    for who, client, route, parameters in asking_routes(full=full):
        for query in QUERIES if full else PAGES_AND_API[route.name.startswith("api:")]:
            path = path_of(route, parameters, values) + query
            response, body = answer(client, path)
            yield from (f"{who}: {path} tells {word}" for word in words if word in body)
            if response.status_code != 200:
                break


def test_no_answer_holds_a_word_of_what_is_not_public(private, full):
    assert not list(told(private, full=full))


def test_these_words_are_found_where_they_stand(private):
    """The walk would see a leak: to its owner the same addresses do tell."""
    client, values = clients("owner")[0], things(private.public)
    everything = "".join(answer(client, path_of(*each, values))[1] for each in routes())
    assert NAME in everything
    assert str(private.evaluations[0].pk) in everything
    assert str(private.submissions[2].pk) in everything, "the re-run stands beside what it runs again"


def test_what_is_named_answers_as_if_it_never_was(private, full):
    differing = []
    names = ("evaluation", "submission", "ended", "compared", "profiled", "regraded")
    nothing = dict.fromkeys(names, NOBODY) | {"planner_id": 987654321}
    for evaluation in private.evaluations:
        real, none = things(evaluation), things(evaluation) | nothing
        if evaluation.submission.planner.name == "well-known":
            # The planner is public.
            none["planner_id"] = real["planner_id"]
        for who, client, route, parameters in asking_routes(full=full):
            paths = [path_of(route, parameters, values) for values in (real, none)]
            if paths[0] == paths[1]:
                continue
            for method in METHODS if full else route.statuses:
                found = [
                    neutral(answer(client, path, method), values)
                    for path, values in zip(paths, (real, none), strict=True)
                ]
                if found[0] != found[1]:
                    differing.append(f"{who} {method} {route.name}: {found[0][0]} instead of {found[1][0]}")
    assert not differing


def neutral(found: tuple[Any, str], values: dict[str, Any]) -> tuple[int, str]:
    """An answer without the ids that were asked for, and without what differs each time."""
    response, body = found
    for key in ("evaluation", "submission"):
        body = body.replace(str(values[key]), "ID")
    for slash in ("/", "%2F"):
        # The second form is in the links that lead back here after signing in.
        body = body.replace(f"planners{slash}{values['planner_id']}{slash}", f"planners{slash}ID{slash}")
    return response.status_code, re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", body)


def test_nothing_that_is_not_public_may_be_kept_by_shared_caches(private, settings):
    """Whichever page its owner reads."""
    settings.KEEP_PAGES_SECONDS = 60
    words, values, found = private.words(), things(private.evaluations[0]), 0
    by_session, by_token = clients("owner")
    for route, parameters in routes():
        client = by_token if route.name.startswith("api:") else by_session
        path = path_of(route, parameters, values)
        response, body = answer(client, path)
        if response.status_code == 200 and any(word in body for word in words):
            found += 1
            assert not re.search("public|s-maxage", response.get("Cache-Control", "")), path
    assert found > 10


def test_what_is_kept_for_strangers_was_never_its_owner_s_page(private, settings):
    settings.KEEP_PAGES_SECONDS = 60
    owner = clients("owner")[0]
    for address in ("/", "/boards/openagi/", "/boards/openagi/?rows=all", "/users/owner/"):
        for client in (owner, Client(), owner, Client()):
            assert (NAME in answer(client, address)[1]) <= (client is owner), address


def test_comparisons_name_nothing_that_is_not_public(private):
    ids = [private.public.pk, private.evaluations[0].pk]
    for client in (client for name in ("anonymous", "stranger") for client in clients(name)):
        for path in (reverse("compare:compare"), reverse("api:compare")):
            real, real_body = answer(client, f"{path}?e={ids[0]}&e={ids[1]}")
            none, none_body = answer(client, f"{path}?e={ids[0]}&e={NOBODY}")
            assert real.status_code == none.status_code == 400
            assert real_body.replace(str(ids[1]), "ID") == none_body.replace(str(NOBODY), "ID")


def test_its_team_and_staff_see_it(private):
    path = reverse("evaluations:detail", args=[private.evaluations[0].pk])
    for name in ("owner", "member", "staff"):
        assert NAME in answer(clients(name)[0], path)[1]


@pytest.mark.parametrize("visibility", [Visibility.EMBARGO], indirect=True)
def test_an_embargo_ends_by_itself(private):
    Submission.objects.filter(visibility=Visibility.EMBARGO).update(embargo_until=timezone.now())
    done = private.evaluations[0]
    path = reverse("evaluations:detail", args=[done.pk])
    assert answer(Client(), path)[0].status_code == 200, "whether or not a process has noticed"
    assert release_due() == 3
    assert release_due() == 0
    assert next(told(private, full=False), "")
    for address in ("/", "/boards/openagi/", "/boards/openagi/newest.csv", "/feed.atom"):
        body = answer(Client(), address)[1]
        assert str(done.pk) in body, address
        assert f"{NAME}-0" in body, address


def test_what_an_operator_hid_is_on_no_board_and_its_page_says_why(private):
    before = Snapshot.objects.get()
    hide(private.public, reason="Its endpoint copied the gold plans.", by=User.objects.get(username="staff"))
    for address in ("/", "/boards/openagi/", "/boards/openagi/?rows=all", "/boards/openagi/plots/", "/feed.atom"):
        assert "well-known" not in answer(Client(), address)[1], address
    page = answer(Client(), reverse("evaluations:detail", args=[private.public.pk]))[1]
    assert "Hidden by an operator" in page
    assert "Its endpoint copied the gold plans." in page
    kept = answer(Client(), reverse("boards:snapshot", args=["openagi", before.number]))[1]
    assert "well-known" in kept, "history is not rewritten"
