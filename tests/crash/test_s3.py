"""The site's store in a bucket: whoever is killed in the middle of an upload, and whatever the service does, the rows
and objects are those of an undisturbed run."""

import random
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.crash.driving import Ground, site, travel
from tests.crash.matrix import chosen, run_points, undisturbed
from tests.fakes.s3.seaweed import BUCKET, seaweed
from tests.fakes.s3.server import FakeS3, Fault

pytestmark = [pytest.mark.full, pytest.mark.timeout(7200)]
JOURNEY = "by_messages"
JOURNEYS = (JOURNEY, "by_sweeps", "by_own_worker", "in_turns")
SITE = frozenset({"web", "worker"})
"""Roles that do other things on a site with a bucket."""
_PASSING = (Fault.BUSY, Fault.RESET, Fault.RESET_AFTER, Fault.SLOW, Fault.CUT)


def files() -> str:
    return "filesystem://localhost//"


@pytest.fixture
def s3() -> Iterator[FakeS3]:
    with FakeS3(page=3).serving() as fake:
        yield fake


@pytest.fixture
def buckets(ground: Ground, s3: FakeS3) -> Ground:
    """What runs are made of whose sites have buckets."""
    return replace(ground, options={"bucket": "s3://arena", "s3_endpoint": s3.url})


def test_whoever_is_killed_beside_a_write_to_the_bucket(buckets: Ground, s3: FakeS3):
    runs = [undisturbed(ground=buckets, journey=name, broker=files) for name in JOURNEYS]
    assert s3.names("/public/objects/")
    # A transaction lasts as long as the bucket takes: what else happens on such a site counts too.
    wanted = [(run, point) for run, point in chosen(runs) if point.effect.role in SITE]
    problems = run_points(ground=buckets, wanted=wanted, broker=files)
    assert not problems, "\n".join(problems)


def test_a_service_that_fails_again_and_again_and_refuses_for_a_while(buckets: Ground, s3: FakeS3):
    with site(ground=buckets) as undisturbed_site:
        expected = travel(site=undisturbed_site, journey=JOURNEY).outcome
    chance, lock, began = random.Random(7), threading.Lock(), time.monotonic()
    seen: set[Fault] = set()

    def fails(method: str, _name: str) -> Fault | None:
        with lock:
            refuses = method == "PUT" and time.monotonic() - began < 4
            fault = Fault.REFUSED if refuses else chance.choice(_PASSING) if chance.random() < 0.15 else None
            seen.update({fault} if fault else ())
            return fault

    s3.fault = fails
    with site(ground=buckets) as going:
        going.start("web")
        going.start("celery")
        going.submit()
        going.finish(sweeps=True, seconds=240)
        s3.fault = lambda _method, _name: None
        found = going.outcome()
    assert Fault.REFUSED in seen
    assert len(seen) > 2
    assert {key: found[key] for key in ("results", "records", "objects", "boards")} == {
        key: expected[key] for key in ("results", "records", "objects", "boards")
    }


def test_on_a_real_service_a_journey_ends_as_on_ours(buckets: Ground, tmp_path: Path):
    with site(ground=buckets) as ours:
        expected = travel(site=ours, journey=JOURNEY).outcome
    with seaweed(tmp_path / "seaweed") as service:
        real = replace(buckets, options={"bucket": f"s3://{BUCKET}", "s3_endpoint": service.url})
        with site(ground=real) as theirs:
            assert travel(site=theirs, journey=JOURNEY).outcome == expected
        assert len([name for name in expected["objects"] if name.endswith(".png")]) == 5
