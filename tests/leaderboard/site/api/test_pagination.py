"""Walking through lists."""

from base64 import b64encode
from datetime import timedelta

import pytest
from django.utils import timezone

from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.submissions import services
from tests.leaderboard.factories import make_evaluation, make_suite
from tests.leaderboard.site.api.helpers import ApiClient
from tests.leaderboard.site.api.test_reading import finish

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]
EVERYBODY = ApiClient()


def walk(address: str, *, direction: str = "next") -> list[list[str]]:
    pages = []
    while address:
        page = EVERYBODY.get(address.split("/api/v1/")[-1]).json()
        pages.append([row["id"] for row in page["results"]])
        address = page[direction]
    return pages


def test_every_row_is_on_one_page_also_if_many_were_made_at_one_moment():
    made = [make_evaluation() for _ in range(5)]
    Evaluation.objects.update(created=timezone.now())
    pages = walk("evaluations/?page_size=2")
    assert [len(page) for page in pages] == [2, 2, 1]
    ids = [row for page in pages for row in page]
    assert ids == sorted((str(one.pk) for one in made), reverse=True)
    suite = made[0].suite
    make_evaluation(suite=suite)
    assert sum(len(page) for page in walk(f"evaluations/?page_size=1&suite={suite.slug}")) == 2, "filters stay"


def test_a_row_that_comes_in_meanwhile_moves_no_other():
    for _ in range(3):
        make_evaluation()
    first = EVERYBODY.get("evaluations/?page_size=2").json()
    late = make_evaluation()
    rest = walk(first["next"])
    assert str(late.pk) not in rest[0]
    assert not {row["id"] for row in first["results"]} & set(rest[0])
    back = EVERYBODY.get(first["next"].split("/api/v1/")[-1]).json()["previous"]
    assert [row["id"] for row in EVERYBODY.get(back.split("/api/v1/")[-1]).json()["results"]] == [
        row["id"] for row in first["results"]
    ]


def test_a_made_up_cursor_is_never_more_than_a_mistake():
    make_suite(slug="one")
    for path in ("evaluations/", "suites/", "suites/one/tasks/"):
        assert EVERYBODY.get(path, cursor="no cursor").status_code == 400
        for inside in ("", "p=abc", "p=%00", "o=-1", "o=x&p=1", "p=9999-99-99", "r=1&p=", "\xff"):
            cursor = b64encode(inside.encode("latin1")).decode()
            assert EVERYBODY.get(path, cursor=cursor).status_code in {200, 400}, (path, inside)


def test_done_counts_the_tasks_that_have_ended_in_every_state():
    suite = make_suite(runnable=3, not_run=2)
    completed, cancelled, queued = (
        make_evaluation(suite=suite, state=state) for state in ["launching"] * 2 + ["queued"]
    )
    finish(completed)
    services.cancel(cancelled)
    Evaluation.objects.filter(pk=completed.pk).update(created=timezone.now() - timedelta(days=1))
    rows = {row["id"]: row for row in EVERYBODY.get("evaluations/").json()["results"]}
    done = {name: rows[str(one.pk)]["done"] for name, one in
            (("completed", completed), ("cancelled", cancelled), ("queued", queued))}  # fmt: skip
    # Two have no expert, whatever the planner; tasks that were cancelled have not ended.
    assert done == {"completed": 5, "cancelled": 2, "queued": 2}
    completed.refresh_from_db()
    assert completed.state == EvaluationState.COMPLETED
