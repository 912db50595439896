"""The local launcher, with small programs in place of workers."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from gpu_jobs.launchers.base import LaunchError, name_of_part
from gpu_jobs.launchers.guard import own_memory
from gpu_jobs.launchers.local import NO_LIMITS, Limits, LocalLauncher, machine_memory, memory_of_each
from gpu_jobs.worker_secrets import WorkerSecrets
from tests.fakes.enrolments import FakeEnrolments
from tests.processes import lives

SLEEPER = (sys.executable, "-c", "import time; time.sleep(60)")
CRASHER = (sys.executable, "-c", "print('there is no torch'); raise SystemExit(1)")


def program(text: str) -> tuple[str, ...]:
    return (sys.executable, "-c", f"import mmap, os, signal, subprocess, sys, time\n{text}")


@pytest.fixture
def make(tmp_path):
    """A function that makes launchers over one folder; what they started is stopped at the end."""
    made = []

    def launcher(
        command=SLEEPER,
        workers=1,
        run_workers=0,
        api_url="http://site",
        limits=NO_LIMITS,
        enrolments=None,
        proxy="",
        **environment,
    ) -> LocalLauncher:
        made.append(
            LocalLauncher(
                folder=tmp_path / "workers",
                api_url=api_url,
                store=tmp_path / "store",
                workers=workers,
                run_workers=run_workers,
                environment={**os.environ, **environment},
                enrolments=enrolments or FakeEnrolments(),
                secrets=WorkerSecrets(variables={"https_proxy": proxy} if proxy else {}),
                home=Path.cwd(),
                command=command,
                limits=limits,
            )
        )
        return made[-1]

    yield launcher
    for one in made:
        one.stop_all()


def until(condition, *, seconds: float = 60) -> None:
    """Wait for what comes for certain."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def pid_of(launcher: LocalLauncher, handle: str) -> int:
    return launcher._read(launcher._folder / f"{handle}.json").pid


def test_a_worker_is_started_once_and_adopted_by_everybody(make):
    first = make()
    handle = first.ensure(evaluation_id="e1")
    assert first.ensure(evaluation_id="e2") == handle
    another_process_s = make()
    assert another_process_s.ensure(evaluation_id="e1") == handle
    assert another_process_s.alive(handle=handle).alive is True


def test_workers_of_runs_are_kept_beside_those_of_evaluations(make):
    launcher = make(run_workers=1)
    launcher.keep_ready()
    launcher.ensure_any()
    (of_runs,) = launcher._known()
    assert "--only-runs" in psutil.Process(of_runs.pid).cmdline()
    of_evaluations = launcher.ensure(evaluation_id="e1")
    assert of_evaluations != of_runs.handle
    assert "--only-runs" not in psutil.Process(pid_of(launcher, of_evaluations)).cmdline()
    killed = psutil.Process(of_runs.pid)
    killed.kill()
    psutil.wait_procs([killed], timeout=30)
    launcher.keep_ready()
    assert len([one for one in launcher._known() if one.running()]) == 2


def test_without_workers_of_runs_those_of_evaluations_take_them(make):
    launcher = make()
    launcher.keep_ready()
    assert launcher._known() == []
    launcher.ensure_any()
    assert len(launcher._known()) == 1


def test_a_launch_gets_a_token_of_its_own_which_is_withdrawn_if_it_could_not_be_started(make):
    enrolments = FakeEnrolments()
    with pytest.raises(LaunchError):
        make(command=("/no/such/program",), enrolments=enrolments).ensure(evaluation_id="e1")
    assert enrolments.withdrawn == list(enrolments.minted)
    enrolments = FakeEnrolments()
    make(workers=2, enrolments=enrolments).ensure(evaluation_id="e1")
    assert len(set(enrolments.minted.values())) == 2, "each under its own name"


def test_a_killed_worker_is_known_to_be_dead_and_replaced(make):
    launcher = make()
    handle = launcher.ensure(evaluation_id="e1")
    os.kill(pid_of(launcher, handle), signal.SIGKILL)
    assert reason_of_death(launcher, handle) == "its process ended"
    assert launcher.ensure(evaluation_id="e1") != handle


def test_the_processes_of_a_worker_with_several_gpus_are_known_by_their_worker(make):
    launcher = make()
    handle = launcher.ensure(evaluation_id="e1")
    assert launcher.alive(handle=name_of_part(handle, 1)).alive is True
    launcher.stop(handle=name_of_part(handle, 0))
    assert launcher.alive(handle=handle).alive is False


def test_a_process_id_that_is_used_again_does_not_pass_for_the_worker_and_is_left_alone(make):
    launcher = make()
    handle = launcher.ensure(evaluation_id="e1")
    stranger = psutil.Process(pid_of(launcher, handle))
    path = launcher._folder / f"{handle}.json"
    known = json.loads(path.read_text())
    path.write_text(json.dumps({**known, "created": known["created"] - 100}))
    assert launcher.alive(handle=handle).alive is False
    launcher.stop(handle=handle)
    assert lives(stranger.pid)
    stranger.kill()


def test_a_worker_of_another_site_is_replaced(make):
    handle = make().ensure(evaluation_id="e1")
    launcher = make(api_url="http://elsewhere")
    assert launcher.ensure(evaluation_id="e1") != handle
    assert launcher.alive(handle=handle).alive is False


def start_often(launcher: LocalLauncher) -> None:
    for _ in range(20):
        reason_of_death(launcher, launcher.ensure(evaluation_id="e1"))


def test_why_workers_die_is_told_without_secrets(make):
    launcher = make(command=CRASHER, proxy="no torch")
    with pytest.raises(LaunchError, match=r"'there is \*\*\*'"):
        start_often(launcher)


REPORTS = program(
    "from gpu_jobs.worker_secrets import received\n"
    "import json, pathlib\n"
    "own = [pathlib.Path(f'/proc/self/{name}').read_bytes().decode() for name in ('environ', 'cmdline')]\n"
    "token = received(0).token\n"
    "print(json.dumps({'own': own, 'token': token, 'left': sys.stdin.read()}), flush=True)\n"
    "time.sleep(60)"
)


@pytest.mark.parametrize("limits", [NO_LIMITS, Limits(seconds=60)])
def test_secrets_come_through_a_pipe_and_stand_in_no_environment_and_no_command_line(make, limits):
    secrets = {
        "PLANARENA_WORKER_TOKEN": "secret-1", "PLANARENA_SECRETS_KEY": "secret-2", "PLANARENA_SECRET_KEY": "secret-3",
        "DATABASE_URL": "postgresql://a:secret-4@h/d", "PGPASSWORD": "secret-5", "BROKER_URL": "redis://:secret-6@h",
        "PLANARENA_HIDDEN_SEED": "secret-7", "EMAIL_HOST_PASSWORD": "secret-8", "OPENAI_API_KEY": "secret-9",
        "HF_TOKEN": "secret-10", "SOMEBODYS_OWN": "secret-11", "AWS_SECRET_ACCESS_KEY": "secret-12",
    }  # fmt: skip
    launcher = make(
        command=REPORTS,
        enrolments=FakeEnrolments(token="very-secret"),
        limits=limits,
        PLANARENA_DEVICE="cpu",
        **secrets,
    )
    handle = launcher.ensure(evaluation_id="e1")
    started = psutil.Process(pid_of(launcher, handle))
    log = launcher._folder / f"{handle}.log"
    until(lambda: log.read_text().endswith("\n"))
    report = json.loads(log.read_text())
    assert report["token"] == "very-secret"
    assert report["left"] == ""
    family = [started, *started.children(recursive=True)]
    seen = [*report["own"], *(str(one.environ()) + str(one.cmdline()) for one in family)]
    assert "PLANARENA_DEVICE" in report["own"][0]
    assert not [text for text in seen if "secret-" in text or "very-secret" in text]


HOG = program("held = b'x' * 400_000_000\ntime.sleep(60)")
ITS_CHILD_IS_A_HOG = program(
    "child = 'import time; held = b\"x\" * 400_000_000; time.sleep(60)'\n"
    "subprocess.Popen([sys.executable, '-c', child])\ntime.sleep(60)"
)


def reason_of_death(launcher: LocalLauncher, handle: str) -> str:
    until(lambda: not launcher.alive(handle=handle).alive)
    return launcher.alive(handle=handle).reason


@pytest.mark.parametrize("command", [HOG, ITS_CHILD_IS_A_HOG])
def test_a_worker_that_uses_too_much_memory_is_killed_with_its_children_and_it_is_said(make, command):
    launcher = make(command=command, limits=Limits(memory_bytes=200_000_000))
    handle = launcher.ensure(evaluation_id="e1")
    guard = psutil.Process(pid_of(launcher, handle))
    family = guard.children(recursive=True)
    said = reason_of_death(launcher, handle)
    assert said.startswith("it used ")
    assert said.endswith(" MB of memory, more than the 200 MB that a worker may")
    assert not any(lives(one.pid) for one in family)
    assert "The worker is killed: it used" in (launcher._folder / f"{handle}.log").read_text()


@pytest.mark.full
def test_a_worker_that_runs_for_too_long_and_does_not_stop_is_killed_and_it_is_said(make):
    deaf = program("signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(60)")
    launcher = make(command=deaf, limits=Limits(seconds=1, grace_seconds=0.5))
    handle = launcher.ensure(evaluation_id="e1")
    assert reason_of_death(launcher, handle) == "it ran for longer than the 1 seconds that a worker may"


@pytest.mark.parametrize("limits", [NO_LIMITS, Limits(seconds=60)])
def test_a_worker_is_asked_whether_its_attempt_is_over_and_not_ended(make, tmp_path, limits):
    marks = program(
        f"signal.signal(signal.SIGUSR1, lambda *_: open({str(tmp_path / 'asked')!r}, 'w').close())\n"
        f"open({str(tmp_path / 'ready')!r}, 'w').close()\n"
        "time.sleep(60)\ntime.sleep(60)"
    )
    launcher = make(command=marks, limits=limits)
    handle = launcher.ensure(evaluation_id="e1")
    until((tmp_path / "ready").exists)
    launcher.stop_if_over(handle=handle)
    until((tmp_path / "asked").exists)
    assert launcher.alive(handle=handle).alive is True


def test_without_a_word_of_the_operator_workers_share_most_of_the_machine(tmp_path):
    assert memory_of_each(total=100 * 1024**3, workers=4) == 20 * 1024**3
    assert memory_of_each(total=2 * 1024**3, workers=4) == 2 * 1024**3
    limit = tmp_path / "memory.max"
    limit.write_text("1073741824\n")
    assert machine_memory(limits=(tmp_path / "nothing", limit)) == 1024**3
    limit.write_text("max\n")
    assert machine_memory(limits=(limit,)) == psutil.virtual_memory().total


@pytest.mark.full
def test_mapped_files_and_reserved_addresses_are_no_memory(tmp_path):
    weights = tmp_path / "weights"
    weights.write_bytes(b"w" * 100_000_000)
    reads_them = program(
        f"file = open({str(weights)!r}, 'rb')\n"
        "seen = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)\n"
        "sum(seen[at] for at in range(0, len(seen), 4096))\n"
        "reserved = mmap.mmap(-1, 8_000_000_000, flags=mmap.MAP_PRIVATE | 0x4000)\n"
        "print('read', flush=True)\n"
        "sys.stdin.read()"
    )
    with subprocess.Popen(reads_them, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdout.readline() == "read\n"
        assert own_memory(psutil.Process(reader.pid)) < 60_000_000


def run_guard(tmp_path, *command: str) -> subprocess.Popen[bytes]:
    guard = [sys.executable, "-m", "gpu_jobs.launchers.guard", "--note", str(tmp_path / "note"), "--seconds", "60"]
    return subprocess.Popen([*guard, "--", *command], stdout=subprocess.PIPE)


def test_the_exit_code_of_a_worker_within_its_limits_stays(tmp_path):
    with run_guard(tmp_path, *program("sys.exit(11)")) as guard:
        assert guard.wait(timeout=60) == 11
    assert not (tmp_path / "note").exists()


@pytest.mark.full
def test_a_worker_does_not_outlive_its_guard(tmp_path):
    with run_guard(tmp_path, *program("print(os.getpid(), flush=True)\ntime.sleep(60)")) as guard:
        worker = psutil.Process(int(guard.stdout.readline()))
        guard.kill()
        guard.wait()
        worker.wait(timeout=30)
