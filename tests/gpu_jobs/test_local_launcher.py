"""The local launcher, with small programs in place of workers."""

import json
import os
import signal
import sys
import time
from pathlib import Path

import psutil
import pytest

from gpu_jobs.launchers import LaunchError, LocalLauncher

SLEEPER = (sys.executable, "-c", "import time; time.sleep(60)")
CRASHER = (sys.executable, "-c", "print('there is no torch'); raise SystemExit(1)")


@pytest.fixture
def make(tmp_path):
    """A function that makes launchers over one folder; what they started is stopped at the end."""
    made = []

    def launcher(command=SLEEPER, workers=1, api_url="http://site", **environment) -> LocalLauncher:
        made.append(
            LocalLauncher(
                folder=tmp_path / "workers",
                api_url=api_url,
                store=tmp_path / "store",
                workers=workers,
                environment={**os.environ, **environment},
                home=Path.cwd(),
                command=command,
            )
        )
        return made[-1]

    yield launcher
    for one in made:
        one.stop_all()


def pid_of(launcher: LocalLauncher, handle: str) -> int:
    return launcher._read(launcher._folder / f"{handle}.json").pid


def test_a_worker_is_started_once_and_adopted_by_everybody(make):
    first = make()
    handle = first.ensure(evaluation_id="e1")
    assert first.ensure(evaluation_id="e2") == handle
    another_process_s = make()
    assert another_process_s.ensure(evaluation_id="e1") == handle
    assert another_process_s.alive(handle=handle).alive is True


def test_a_killed_worker_is_known_to_be_dead_and_replaced(make):
    launcher = make()
    handle = launcher.ensure(evaluation_id="e1")
    os.kill(pid_of(launcher, handle), signal.SIGKILL)
    until = time.monotonic() + 5
    while launcher.alive(handle=handle).alive:
        assert time.monotonic() < until
        time.sleep(0.02)
    assert launcher.alive(handle=handle).reason == "its process ended"
    assert launcher.ensure(evaluation_id="e1") != handle


def test_a_process_id_that_is_used_again_does_not_pass_for_the_worker_and_is_left_alone(make):
    launcher = make()
    handle = launcher.ensure(evaluation_id="e1")
    stranger = psutil.Process(pid_of(launcher, handle))
    path = launcher._folder / f"{handle}.json"
    known = json.loads(path.read_text())
    path.write_text(json.dumps({**known, "created": known["created"] - 100}))
    assert launcher.alive(handle=handle).alive is False
    launcher.stop(handle=handle)
    assert stranger.status() != psutil.STATUS_ZOMBIE
    stranger.kill()


def test_the_pool_has_the_size_that_was_asked_for(make):
    launcher = make(workers=3)
    launcher.ensure(evaluation_id="e1")
    assert len([worker for worker in launcher._known() if worker.running()]) == 3


def test_a_worker_of_a_site_at_another_address_is_replaced(make):
    before = make(api_url="http://127.0.0.1:8000")
    handle = before.ensure(evaluation_id="e1")
    assert make(api_url="http://127.0.0.1:9000").ensure(evaluation_id="e1") != handle
    assert before.alive(handle=handle).alive is False


def test_of_workers_that_others_started_nothing_is_known(make):
    assert make().alive(handle="ada-workstation-1").alive is None


def test_a_worker_that_nobody_could_note_is_not_taken_for_dead(make):
    launcher = make()
    handle = launcher.ensure(evaluation_id="e1")
    (launcher._folder / f"{handle}.json").rename(launcher._folder / "aside")
    assert launcher.alive(handle=handle).alive is None
    (launcher._folder / "aside").rename(launcher._folder / f"{handle}.json")


def test_a_worker_that_dies_at_once_is_not_started_for_ever(make):
    launcher = make(command=CRASHER)

    def try_often() -> None:
        for _ in range(20):
            handle = launcher.ensure(evaluation_id="e1")
            until = time.monotonic() + 5
            while launcher.alive(handle=handle).alive and time.monotonic() < until:
                time.sleep(0.02)

    with pytest.raises(LaunchError, match=r"5 workers ended within .* 'there is no torch'"):
        try_often()


def test_a_program_that_is_not_there_is_said_in_a_sentence(make):
    with pytest.raises(LaunchError, match="/no/such/program could not be started"):
        make(command=("/no/such/program",)).ensure(evaluation_id="e1")


def test_the_token_is_in_the_environment_and_never_on_the_command_line(make):
    launcher = make(PLANARENA_WORKER_TOKEN="very-secret")
    process = psutil.Process(pid_of(launcher, launcher.ensure(evaluation_id="e1")))
    until = time.monotonic() + 5
    # The kernel shows both a moment after the new program has replaced the old one.
    while not (process.cmdline() and process.environ()):
        assert time.monotonic() < until
        time.sleep(0.01)
    assert "very-secret" not in " ".join(process.cmdline())
    assert process.environ()["PLANARENA_WORKER_TOKEN"] == "very-secret"


def test_stopping_ends_the_process(make):
    launcher = make()
    handle = launcher.ensure(evaluation_id="e1")
    launcher.stop(handle=handle)
    launcher.stop(handle="local-unknown")
    assert launcher.alive(handle=handle).alive is False
