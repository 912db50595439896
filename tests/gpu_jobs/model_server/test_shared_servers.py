"""Model servers that several workers share: taken when one is free, and let go when it is not needed."""

from pathlib import Path

import pytest

from gpu_jobs.attempt_secrets import HeldLease
from gpu_jobs.language_models import LanguageModels
from gpu_jobs.model_server.client import NoServerFreeError
from gpu_jobs.planners import LeaseReturnedError
from tests.fakes.api import FakeApi
from tests.gpu_jobs.test_language_models import Folders, ends, fill, runner_of, uploaded
from tests.gpu_jobs.test_worker import make_worker


def test_where_no_model_server_is_free_the_tasks_are_given_back(tmp_path):
    class FullOpener:
        is_shared = True

        def deliver(self, folder: Path) -> None:
            raise NoServerFreeError("No model server was free at models:7070 within 900 seconds.")

        def __call__(self, folder, *, name, device, source):
            raise AssertionError("nothing was delivered")

    runner = runner_of(checkpoints=Folders(d=fill(tmp_path / "d")), opener=FullOpener())
    lease = uploaded()
    with pytest.raises(LeaseReturnedError, match="No model server was free"):
        ends(runner, lease)
    api = FakeApi({**lease.model_dump(mode="json"), "token": "attempt-token"})
    assert make_worker(api, runner).run() == 0
    (how, body), *_ = api.ended
    assert (how, body["how"]) == ("fail", "released")
    assert "No model server was free" in body["reason"]


class SharedOpener:
    """Opens models that count how often they were closed, in servers that other workers share or do not."""

    def __init__(self, *, is_shared: bool) -> None:
        self.is_shared = is_shared
        self.opened: list[SharedOpener.Model] = []

    class Model:
        name, abilities, is_broken = "m", frozenset(), False

        def __init__(self) -> None:
            self.closed = 0

        def close(self) -> None:
            self.closed += 1

    def deliver(self, folder: Path) -> None:
        """Takes nothing."""

    def __call__(self, folder, *, name, device, source):
        self.opened.append(self.Model())
        return self.opened[-1]


@pytest.mark.parametrize("is_shared", [True, False])
def test_a_shared_model_server_is_let_go_when_it_is_not_needed_and_opened_again(tmp_path, is_shared):
    opener = SharedOpener(is_shared=is_shared)
    models = LanguageModels(device="cpu", checkpoints=Folders(d=fill(tmp_path / "d")), opener=opener)
    lease = uploaded()
    models.let_go()
    first = models._model(lease=lease, wanted=lease.planner)
    models.let_go()
    models.let_go()
    assert first.closed == (1 if is_shared else 0)
    assert (models._model(lease=lease, wanted=lease.planner) is first) == (not is_shared)
    assert len(opener.opened) == (2 if is_shared else 1)


def test_a_runner_lets_a_shared_model_server_go_for_a_planner_without_a_model(tmp_path):
    opener = SharedOpener(is_shared=True)
    runner = runner_of(checkpoints=Folders(d=fill(tmp_path / "d")), opener=opener)
    lease = uploaded()
    kept = runner._models._model(lease=lease, wanted=lease.planner)
    list(runner.run(HeldLease.model_validate({**lease.model_dump(), "planner": {"kind": "bundled", "name": "gold"}})))
    assert kept.closed == 1
    again = runner._models._model(lease=lease, wanted=lease.planner)
    runner.idle()
    assert again.closed == 1
