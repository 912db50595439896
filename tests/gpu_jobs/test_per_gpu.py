"""A worker with several GPUs: one process for each, which share nothing but the place where they run."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import httpx
import psutil
import pytest

from gpu_jobs.exits import Exit
from gpu_jobs.per_gpu import GpuProcesses, Next, after_exit, gpus_in, visible_gpus
from gpu_jobs.probes import ALIVE, READY
from gpu_jobs.worker_secrets import WorkerSecrets
from tests.fakes.api import LEASE, FakeApi
from tests.fakes.serving import Server, in_a_thread
from tests.gpu_jobs.test_local_launcher import until
from tests.processes import ROOT

LISTING = """\
GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77)
GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-b1028956-cfa2-0990-bf4a-5da9abb51763)
  MIG 2g.20gb     Device  0: (UUID: MIG-63feeb45-94c6-5cb7-9a2f-aa95ee1d9d83)
  MIG 2g.20gb     Device  1: (UUID: MIG-GPU-b1028956/3/0)
"""
WHOLE, FIRST_SLICE, SECOND_SLICE = (
    "GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77", "MIG-63feeb45-94c6-5cb7-9a2f-aa95ee1d9d83", "MIG-GPU-b1028956/3/0"
)  # fmt: skip
TOKEN = "token-of-the-operator"


def test_slices_stand_for_their_card_and_other_cards_for_themselves():
    assert gpus_in(LISTING) == (WHOLE, FIRST_SLICE, SECOND_SLICE)
    assert gpus_in("No devices found\n") == ()


@pytest.mark.parametrize(
    ("value", "gpus"),
    [("0,1", ("0", "1")), (f"{WHOLE}, {FIRST_SLICE}", (WHOLE, FIRST_SLICE)), ("", ()), ("-1", ()), ("1,-1,0", ("1",))],
)
def test_the_operator_s_choice_of_gpus_counts_as_cuda_reads_it(value, gpus):
    assert visible_gpus({"CUDA_VISIBLE_DEVICES": value}) == gpus


def test_without_a_choice_the_driver_lists_the_gpus(tmp_path):
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{LISTING}END\n")
    program.chmod(0o755)
    assert visible_gpus({"PATH": f"{tmp_path}:/usr/bin:/bin"}) == (WHOLE, FIRST_SLICE, SECOND_SLICE)
    program.write_text("#!/bin/sh\necho 'NVIDIA-SMI has failed'\nexit 9\n")
    assert visible_gpus({"PATH": f"{tmp_path}:/usr/bin:/bin"}) == ()
    assert visible_gpus({"PATH": str(tmp_path / "nowhere")}) == ()


@pytest.mark.parametrize(
    ("code", "failures", "following"),
    [
        (Exit.IDLE, 1, Next.DONE), (Exit.WORK_LEFT, 0, Next.DONE),
        (Exit.CRASHED, 1, Next.AGAIN), (-signal.SIGKILL, 5, Next.AGAIN), (Exit.UNREACHABLE, 0, Next.AGAIN),
        (Exit.ENROLMENT_EXPIRED, 1, Next.AGAIN), (Exit.TERMINATED, 1, Next.AGAIN),
        (Exit.CRASHED, 6, Next.END), (-signal.SIGKILL, 6, Next.END),
        (Exit.USAGE, 1, Next.END), (Exit.TOKEN_REFUSED, 0, Next.END), (Exit.MISCONFIGURED, 1, Next.END),
        (Exit.DOES_NOT_FIT, 0, Next.END),
    ],
)  # fmt: skip
def test_what_follows_the_end_of_a_process(code, failures, following):
    assert after_exit(code=int(code), failures=failures) is following


STAND_IN = """\
import os, signal, sys, time
from pathlib import Path
folder, gpu = Path(sys.argv[1]), os.environ["CUDA_VISIBLE_DEVICES"]
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
with (folder / f"starts-{gpu}").open("a") as file:
    file.write("x")
Path(os.environ["PLANARENA_ALIVE_FILE"]).touch()
while True:
    order = folder / f"end-{gpu}"
    if order.exists():
        sys.exit(int(order.read_text()))
    time.sleep(0.01)
"""


class StandIns:
    """Processes of GPUs that end as ordered, watched in this process."""

    def __init__(self, folder: Path, gpus: tuple[str, ...]) -> None:
        self.folder = folder
        program = folder / "worker.py"
        program.write_text(STAND_IN)
        self.processes = GpuProcesses(
            gpus=gpus, name="w", command=[sys.executable, str(program), str(folder)], environment=dict(os.environ),
            secrets=WorkerSecrets(token=TOKEN), pause_seconds=0.0,
        )  # fmt: skip

    def end(self, gpu: str, code: int) -> None:
        order = self.folder / f"end-{gpu}"
        draft = order.with_suffix(".draft")
        draft.write_text(str(int(code)))
        draft.rename(order)

    def starts(self, gpu: str) -> int:
        path = self.folder / f"starts-{gpu}"
        return len(path.read_text()) if path.exists() else 0


@pytest.fixture
def stand_ins(tmp_path):
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
    before = {number: signal.getsignal(number) for number in numbers}
    yield StandIns(tmp_path, ("A", "B"))
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_process_without_work_ends_alone_and_the_last_one_ends_all(stand_ins):
    stand_ins.end("A", Exit.IDLE)
    stand_ins.end("B", Exit.WORK_LEFT)
    assert stand_ins.processes.run() == Exit.WORK_LEFT
    assert (stand_ins.starts("A"), stand_ins.starts("B")) == (1, 1)


def test_a_refusal_would_meet_all_so_the_others_return_their_tasks_and_end(stand_ins, caplog):
    stand_ins.end("A", Exit.DOES_NOT_FIT)
    assert stand_ins.processes.run() == Exit.DOES_NOT_FIT
    assert stand_ins.starts("A") == 1
    (line,) = [one.message for one in caplog.records if one.levelname == "ERROR"]
    assert line == "the process of GPU A (w/0) ended with exit code 11: all processes end, after returning their tasks"


def test_a_process_that_crashes_whenever_it_starts_ends_the_worker_with_a_sentence(stand_ins, caplog):
    stand_ins.end("A", Exit.CRASHED)
    assert stand_ins.processes.run() == Exit.CRASHED
    assert (stand_ins.starts("A"), stand_ins.starts("B")) == (6, 1)
    again = [one.message for one in caplog.records if one.levelname == "WARNING"]
    assert len(again) == 5
    assert again[0].endswith("and is started again in 0 s; the others continue")
    (line,) = [one.message for one in caplog.records if one.levelname == "ERROR"]
    assert "exit code 1 for the 6th time soon after its start: all processes end" in line


class Site:
    """A site for several workers: a `FakeApi` for each, by the worker's name."""

    def __init__(self, *names: str) -> None:
        self.of = {name: FakeApi({**LEASE, "attempt": f"a{number}"}) for number, name in enumerate(names)}
        self.sessions = 0
        self.lock = threading.Lock()

    def answer(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/api/v1/worker/")
        with self.lock:
            if path == "session/":
                assert request.headers["Authorization"] == f"Bearer {TOKEN}"
                self.sessions += 1
                return httpx.Response(201, json={"token": f"session-{self.sessions}", "expires_in": 3600})
            if path == "lease/":
                api = self.of[json.loads(request.content)["worker"]]
                api.session = request.headers["Authorization"].removeprefix("Bearer ")
            else:
                api = list(self.of.values())[int(path.split("/")[1][1:])]
            return api._answer(request)

    @contextmanager
    def serving(self):
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                request = httpx.Request(
                    self.command, f"http://site{self.path}", content=body, headers=dict(self.headers)
                )
                response = site.answer(request)
                self.send_response(response.status_code)
                if response.status_code != 204:
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(response.content)))
                self.end_headers()
                self.wfile.write(response.content)

            do_GET = do_POST = do_PUT = _answer

            def log_message(self, *_) -> None:
                """Says nothing."""

        with in_a_thread(Server(("127.0.0.1", 0), Handler)) as url:
            yield url


@pytest.fixture
def worker(tmp_path):
    """The real program with two GPUs that do not exist, and the fake runner."""
    site = Site("w/0", "w/1")
    log = tmp_path / "log"
    environment = {
        **os.environ, "PLANARENA_WORKER_TOKEN": TOKEN, "PLANARENA_DATA": str(tmp_path / "data"),
        "CUDA_VISIBLE_DEVICES": "GPU-a,GPU-b", ALIVE: str(tmp_path / "alive"), READY: str(tmp_path / "ready"),
        "PLANARENA_FAKE_PACE": "0.01",
    }  # fmt: skip
    with site.serving() as url, log.open("wb") as output:
        command = [
            sys.executable,
            "-m",
            "tests.fakes.worker",
            "worker",
            "--url",
            url,
            "--name",
            "w",
            "--device",
            "cuda",
        ]
        process = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=output, stderr=output)
        yield site, process, log, tmp_path
        process.kill()
        process.wait()


def children(process) -> dict[str, psutil.Process]:
    """The processes by their GPU."""
    found = {}
    for child in psutil.Process(process.pid).children():
        with suppress(psutil.NoSuchProcess):
            found[child.environ().get("CUDA_VISIBLE_DEVICES", "")] = child
    return found


@pytest.mark.full
def test_two_gpus_work_at_once_under_two_names_and_one_that_dies_is_replaced_alone(worker):
    site, process, log, folder = worker
    until((folder / "ready").exists)
    assert (folder / "alive").exists()
    until(lambda: all(sorted(api.results) == ["0", "1", "2"] for api in site.of.values()))
    assert all([how for how, _ in api.ended] == ["finish"] for api in site.of.values())
    before = children(process)
    assert set(before) == {"GPU-a", "GPU-b"}
    for child in before.values():
        assert TOKEN not in str([child.environ(), child.cmdline()])
    for number, name in enumerate(("w/0", "w/1")):
        assert re.search(rf"\[worker={name} .*attempt=a{number}", log.read_text()), "lines say whose they are"
    before["GPU-a"].kill()
    until(lambda: "GPU-a" in children(process) and children(process)["GPU-a"].pid != before["GPU-a"].pid)
    assert children(process)["GPU-b"].pid == before["GPU-b"].pid
    assert "the process of GPU GPU-a (w/0) ended by SIGKILL, and is started again in 1 s;" in log.read_text()


@pytest.mark.full
def test_a_worker_that_is_stopped_has_each_process_return_its_tasks(worker):
    _, process, log, folder = worker
    until((folder / "ready").exists)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == Exit.TERMINATED
    assert log.read_text().count("asked to stop") == 2
