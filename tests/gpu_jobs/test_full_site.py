"""A worker at a site whose disk is full."""

import httpx

from gpu_jobs.client import ApiClient
from gpu_jobs.exits import Exit
from gpu_jobs.worker import Worker
from tests.fakes.api import LEASE, FakeApi
from tests.fakes.runner import FakeRunner

FULL = httpx.Response(503, json={"status": 503, "code": "disk_full", "detail": "The site's disk is full."})
AWAY = httpx.Response(503, text="no server")


class FullApi(FakeApi):
    """Has no room for artefacts and results until it was asked so often."""

    def __init__(self, answer: httpx.Response, *, times: int) -> None:
        super().__init__(LEASE)
        self.answer, self.times = answer, times

    def _attempt(self, call: str, request: httpx.Request) -> httpx.Response:
        if call.startswith(("objects/", "results/", "finish/")) and self.times:
            self.times -= 1
            return self.answer
        return super()._attempt(call, request)


def run(api: FakeApi) -> int:
    waited: list[float] = []
    client = ApiClient(
        url="http://site", token="operator", transport=api.transport, patience_seconds=20.0,
        sleep=waited.append, clock=lambda: sum(waited),
    )  # fmt: skip
    return Worker(client=client, runner=FakeRunner(), name="w", idle_seconds=0.0).run()


def test_it_keeps_its_results_for_as_long_as_it_takes_and_sends_them_once_there_is_room():
    api = FullApi(FULL, times=50)
    assert run(api) == Exit.IDLE
    assert (list(api.results), len(api.objects), api.times) == (["0", "1", "2"], 3, 0)


def test_a_site_that_is_away_is_given_up_after_a_while():
    api = FullApi(AWAY, times=50)
    run(api)
    assert not api.results
