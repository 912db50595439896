"""Every role is killed once: the final rows and objects are those of an undisturbed run."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.crash.driving import Came, Ground, options_of, site, travel
from tests.crash.effects import Effect, Point
from tests.fakes.s3.server import FakeS3


def point(role: str, moment: str, name: str) -> Point:
    """At the first effect whose name begins so."""
    return Point(effect=Effect(role=role, name=name, ordinal=1), moment=moment)


ATTEMPT = "http POST /api/v1/worker/attempts/ID/"
OF_EACH_ROLE = (
    point("web", "after", "sql INSERT evaluations_evaluation"),
    point("celery", "before", "broker ack reconcile_evaluation"),
    point("own_worker", "after", f"{ATTEMPT}results/"),
    point("worker", "after", f"{ATTEMPT}finish/"),
    point("beat", "before", "broker publish sweep"),
)
IN_A_TURN = (point("worker", "after", "file rename"),)
AT_THE_BUCKET = (point("web", "before", "s3 PUT"), point("worker", "after", "http PUT"))


def gone(ground: Ground, *, journey: str, points: tuple[Point, ...] = ()) -> Came:
    with site(ground=ground, **options_of(journey)) as going:
        came = travel(site=going, journey=journey, points=points)
    assert not [str(missed) for missed in came.missed], "nobody came to these points"
    return came


@pytest.fixture
def buckets(ground: Ground) -> Iterator[Ground]:
    """What runs are made of whose sites have buckets."""
    with FakeS3(page=3).serving() as service:
        yield replace(ground, options={"bucket": "s3://arena", "s3_endpoint": service.url})


def test_each_role_is_killed_once_while_an_own_worker_s_results_are_verified(ground: Ground):
    expected = gone(ground, journey="by_own_worker").outcome
    own, again = expected["evaluations"]
    assert (own["state"], own["reason"]) == ("completed", "verified")
    assert (again["state"], again["reason"]) == ("completed", "run_again")
    (verification,) = expected["verifications"]
    assert (verification["verdict"], verification["tasks"]) == ("agrees", ["0", "1", "2", "3", "4"])
    (board,) = expected["boards"]
    assert [row["run_by_owner"] for row in board["rows"]] == [True]
    assert gone(ground, journey="by_own_worker", points=OF_EACH_ROLE).outcome == expected


def test_a_worker_that_is_killed_goes_on_from_the_turns_in_its_journal(ground: Ground):
    expected = gone(ground, journey="in_turns").outcome
    assert gone(ground, journey="in_turns", points=IN_A_TURN).outcome == expected


def test_a_web_server_and_a_worker_are_killed_beside_their_writes_to_a_bucket(buckets: Ground):
    expected = gone(buckets, journey="by_messages").outcome
    assert len([name for name in expected["objects"] if name.endswith(".png")]) == 5
    assert gone(buckets, journey="by_messages", points=AT_THE_BUCKET).outcome == expected
