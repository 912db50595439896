"""A whole arena as a user starts it: `manage.py demo` in its own process, with its own data folder and port."""

import json
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil

from evaluator.core.suites.registry import suite_of
from evaluator.episodes.parts import not_run_reasons
from evaluator.execution.experts.profile import load_profile
from evaluator.openagi.data import sample_source
from evaluator.planners.bundled import each_once
from tests.processes import Program, clean_environment, free_port, lives

SAMPLES = 1
"""Of each task: pictures take most of the time, and more samples run the same code."""


def runnable_count() -> int:
    """How many of OpenAGI's 185 tasks have experts and data in the profile `lilliput`."""
    suite = suite_of("openagi")
    samples = sample_source(profile="lilliput", split="public")
    return len(suite.tasks) - len(not_run_reasons(suite=suite, profile=load_profile("lilliput"), samples=samples))


@contextmanager
def data_folder() -> Iterator[Path]:
    """For a demo's data. Outside pytest's own folder: as root PostgreSQL runs as another user, and every pytest that
    starts closes that folder to others."""
    with tempfile.TemporaryDirectory(prefix="planarena-arena-", ignore_cleanup_errors=True) as name:
        yield Path(name) / "data"


class Arena:
    """A running demo."""

    def __init__(self, *, data: Path, planners: Sequence[str] = (), **settings: str) -> None:
        """`planners`: which of the bundled ones are evaluated; none: all anchors of two suites, and nothing after them.
        `settings`: further variables."""
        self.data = data
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        # One client: making one for each of the thousands of requests would take longer than all answers.
        self._client = httpx.Client(base_url=f"{self.url}/api/v1/", timeout=30, trust_env=False)
        command = [sys.executable, "manage.py", "demo", "--port", str(self.port)]
        command += [argument for name in planners or each_once("toolmini") for argument in ("--planner", name)]
        own = {"PLANARENA_DEMO": "1", "PLANARENA_DATA": str(data), "PLANARENA_SAMPLES": str(SAMPLES)}
        # A further process that loads experts; tests of the workbench ask for it.
        own["PLANARENA_LOCAL_RUN_WORKERS"] = "0"
        environment = clean_environment(PYTHONUNBUFFERED="1", **(own | settings))
        log = data.parent / f"{data.name}.log"
        self._program = Program(command, log=log, environment=environment, logs=self._logs)
        self.process = self._program.process

    @property
    def output(self) -> str:
        return self._program.output

    def _logs(self) -> list[Path]:
        return [*self.data.glob("logs/*.log"), *self.data.glob("workers/*.log")]

    def wait_for(self, condition: Callable[[], Any], *, what: str, seconds: float = 240) -> Any:
        """Poll until the condition is true, and return its value. Fails at once if the demo ends."""
        return self._program.wait_for(condition, what=what, seconds=seconds, every=0.2)

    def wait_published(self) -> None:
        # Random valid plans make many pictures: three minutes of two idle cores.
        self.wait_for(lambda: "All published" in self.output, what="all evaluations published", seconds=600)

    def get(self, path: str) -> Any:
        response = self._client.get(path)
        response.raise_for_status()
        return response.json()

    def post(self, path: str, *, token: str, body: dict[str, Any]) -> Any:
        response = self._client.post(path, json=body, headers={"Authorization": f"Bearer {token}"})
        response.raise_for_status()
        return response.json()

    def evaluations(self) -> list[dict[str, Any]]:
        """All evaluations; none while the site is not up yet."""
        try:
            return list(self.get("evaluations/")["results"])
        except httpx.TransportError:
            return []

    def results(self, evaluation: str) -> list[dict[str, Any]]:
        """All rows of an evaluation, over all pages."""
        found: list[dict[str, Any]] = []
        path: str | None = f"evaluations/{evaluation}/results/"
        while path:
            page = self.get(path)
            found += page["results"]
            path = page["next"] and page["next"].split("/api/v1/")[1]
        return found

    def worker_pids(self) -> list[int]:
        """Process ids of the evaluation workers that run."""
        pids = [json.loads(file.read_text())["pid"] for file in self.data.glob("workers/local-*.json")]
        return [pid for pid in pids if lives(pid)]

    def family(self) -> list[psutil.Process]:
        """Every process of this arena: children of the demo, and whatever names its data folder or port."""
        found = {process.pid: process for process in psutil.Process(self.process.pid).children(recursive=True)}
        for pid in self.worker_pids():
            found[pid] = psutil.Process(pid)
        for process in psutil.process_iter(["cmdline"]):
            if str(self.data) in " ".join(process.info["cmdline"] or []):
                found[process.pid] = process
        return list(found.values())

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        self._client.close()
        return self._program.stop(number)


def left_of(processes: Iterable[psutil.Process], *, seconds: float = 20) -> list[int]:
    """Ids of those that still live when all had so much time to end. Some end as children of a process that does not
    wait for them."""
    until = time.monotonic() + seconds
    left = [process.pid for process in processes]
    while (left := [pid for pid in left if lives(pid)]) and time.monotonic() < until:
        time.sleep(0.05)
    return left


@contextmanager
def started(data: Path, *, planners: Sequence[str] = (), **settings: str) -> Iterator[Arena]:
    arena = Arena(data=data, planners=planners, **settings)
    try:
        yield arena
    finally:
        arena.stop()


def sign_up(arena: Arena, name: str) -> str:
    """Make an account through the site's form and a token through the API; return the token."""
    with httpx.Client(base_url=arena.url, follow_redirects=True, timeout=30) as client:
        page = client.get("/accounts/signup/").text
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        assert token is not None
        form = {"username": name, "password1": "a long pass phrase", "password2": "a long pass phrase"}
        done = client.post(
            "/accounts/signup/", data=form | {"csrfmiddlewaretoken": token[1]}, headers={"Referer": arena.url}
        )
        assert done.status_code == 200, done.text[:500]
    # Without the site's session, as a script would do it.
    made = httpx.post(f"{arena.url}/api/v1/tokens/", json={}, auth=(name, "a long pass phrase"), timeout=30)
    assert made.status_code == 201, made.text
    return str(made.json()["token"])
