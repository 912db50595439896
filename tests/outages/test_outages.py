"""What depends on what: nothing is killed for what it only needs, and nothing that was submitted is lost.

Times are printed, not asserted: `./planarena test tests/outages -s`.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.outages.installation import OUTAGES, PLANNER, SUITE, Installation, installation

pytestmark = [pytest.mark.full, pytest.mark.timeout(1800)]
BOARD = f"/boards/{SUITE}/"
STATUS = "/api/v1/status/"
CAUSES = {
    "database": {"database_down"}, "database that hangs": {"database_down"}, "redis": {"broker_down"},
    "bucket": {"store_unavailable"},
}  # fmt: skip
"""What the status says meanwhile. Nothing says that the queue's processes are gone before `queue_stopped` is due, and a
site with another web pod and another worker lacks nothing."""
PATIENCE = 300.0
PASSWORD = "a long pass phrase"


class Person:
    """Somebody who submits planners."""

    def __init__(self, site: Installation) -> None:
        self._site = site
        site.person("ada", password=PASSWORD)
        made = httpx.post(f"{site.url}/api/v1/tokens/", json={}, auth=("ada", PASSWORD), timeout=60, trust_env=False)
        assert made.status_code == 201, made.text
        self._token = made.json()["token"]

    def submit(self, name: str) -> str:
        """Submit the same planner under a name; the id of its evaluation."""
        headers = {"Authorization": f"Bearer {self._token}"}
        planner = {"name": name, "kind": "bundled", "bundled_name": PLANNER}
        body = {"planner": planner, "suites": [SUITE]}
        made = httpx.post(
            f"{self._site.url}/api/v1/submissions/", json=body, headers=headers, timeout=60, trust_env=False
        )
        assert made.is_success, made.text
        return str(made.json()["evaluations"][0]["id"])


@pytest.fixture(scope="module")
def site() -> Iterator[Installation]:
    with installation() as running:
        wait(lambda: is_ready(running), what="the site is ready")
        wait(lambda: all(pod.is_ready for pod in running.pods.values()), what="all pods are ready")
        yield running


@pytest.fixture(scope="module")
def person(site: Installation) -> Person:
    return Person(site)


def wait(condition: Callable[[], Any], *, what: str, seconds: float = PATIENCE) -> float:
    """Seconds until the condition was true."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds, f"{what} did not happen within {seconds:g} s"
        time.sleep(0.25)
    return time.monotonic() - began


def is_ready(site: Installation) -> bool:
    answer = site.get("/health/ready")
    return answer is not None and answer.is_success


def row_of(site: Installation, name: str) -> Any:
    """The row of a planner on the board as everybody reads it, without what differs between equal runs."""
    answer = site.get(f"/api/v1/boards/{SUITE}/")
    rows = answer.json()["content"]["rows"] if answer is not None and answer.is_success else []
    found = [row for row in rows if row["planner"] == name]
    return {key: found[0][key] for key in ("metrics", "outcomes", "samples")} if found else None


def findings(site: Installation) -> set[str]:
    """The causes that the status tells everybody."""
    answer = site.get(STATUS)
    try:
        body = {} if answer is None else answer.json()
    except ValueError:
        return set()
    return {found["code"] for found in body.get("findings", [])} | {body.get("code", "")}


@pytest.mark.parametrize("seconds", [30.0, 300.0])
@pytest.mark.parametrize("what", OUTAGES)
def test_an_outage_kills_nothing_hides_no_board_and_loses_no_evaluation(site, person, what, seconds):
    if row_of(site, "before") is None:
        person.submit("before")
        wait(lambda: row_of(site, "before"), what="a row before all outages")
    name = f"{what} {seconds:g}".replace(" ", "-")
    person.submit(name)
    for _ in range(4):
        # Both web pods have shown it.
        assert site.get(BOARD).is_success
    began = time.monotonic()
    named_after = None
    with site.without(what):
        boards: list[int] = []
        while time.monotonic() - began < seconds:
            answer = site.get(BOARD)
            boards.append(0 if answer is None else answer.status_code)
            if named_after is None and CAUSES.get(what, set()) & findings(site):
                named_after = time.monotonic() - began
            time.sleep(1.0)
    recovered = wait(lambda: is_ready(site), what="the site is ready")
    finished = wait(lambda: row_of(site, name), what="the row of the evaluation")
    print(f"\n{what}, {seconds:g} s: boards {boards.count(200)} of {len(boards)}, cause after {named_after}")
    print(f"ready after {recovered:.1f} s, row after {finished:.1f} s")
    ended = {
        pod.name: (pod.killed_by_probes, pod.ended) for pod in site.pods.values() if pod.killed_by_probes or pod.ended
    }
    assert ended == {}, "\n".join(site.pods[name].said() for name in ended)
    assert boards.count(200) == len(boards), boards
    assert named_after is not None or what not in CAUSES
    assert row_of(site, name) == row_of(site, "before")
