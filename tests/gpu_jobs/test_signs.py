"""What a worker shows probes: that it has started, and that the site knows it."""

import os
import subprocess
import sys

import httpx
import pytest

from gpu_jobs.exits import Exit
from gpu_jobs.signs import ALIVE, READY, forget_earlier_process, show
from tests.gpu_jobs.test_worker import FakeApi, FakeRunner, make_worker


def test_a_process_removes_what_an_earlier_one_in_the_pod_has_left(tmp_path, monkeypatch):
    for variable in (ALIVE, READY):
        monkeypatch.setenv(variable, str(tmp_path / variable))
        show(variable)
        assert (tmp_path / variable).exists()
    forget_earlier_process()
    assert list(tmp_path.iterdir()) == []
    monkeypatch.delenv(READY)
    show(READY)
    assert list(tmp_path.iterdir()) == []


def test_a_worker_is_known_once_the_site_has_answered_and_not_before():
    known = []
    api = FakeApi()
    api.failures.extend([httpx.ConnectError] * 3)
    assert make_worker(api, FakeRunner()).run(on_session=lambda: known.append(list(api.calls))) == Exit.IDLE
    assert len(known) == 1
    assert "lease/" in known[0][-1]
    away = FakeApi()
    away.failures.extend([httpx.ConnectError] * 1000)
    made = make_worker(away, FakeRunner(), patience=0.0)
    assert made.run(on_session=lambda: known.append([])) == Exit.UNREACHABLE
    assert len(known) == 1


@pytest.mark.full
def test_a_worker_that_cannot_reach_the_site_has_started_and_is_not_ready(tmp_path):
    files = {ALIVE: tmp_path / "alive", READY: tmp_path / "ready"}
    for path in files.values():
        path.touch()
    (tmp_path / "token").write_text("a token")
    environment = {
        **os.environ, **{name: str(path) for name, path in files.items()}, "PLANARENA_DATA": str(tmp_path / "data"),
        "PLANARENA_MODEL_LIMIT": "a lot",
    }  # fmt: skip
    command = [sys.executable, "-m", "gpu_jobs", "worker", "--token-file", str(tmp_path / "token")]
    # A setting that cannot be used, as a broken image has.
    ended = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert ended.returncode != 0
    assert [path.name for path in files.values() if path.exists()] == []
