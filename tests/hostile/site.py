"""A running site that takes all hostile planners at once, and what is measured of it meanwhile.

One site for the whole corpus: every case is submitted first, then all are waited for, and the tests look at what came
of each. An honest user's planner is evaluated again and again all the time, which shows how much the others cost.
"""

import html
import os
import re
import secrets
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg

from gpu_jobs.launchers.guard import own_memory
from tests.end_to_end.arena import Arena, data_folder, sign_up, started
from tests.hostile.canaries import Canaries, canaries
from tests.hostile.checkpoints.base import Target
from tests.processes import ROOT

PASS_PHRASE = "a long pass phrase"
SUITE = "sums"
"""Of twelve short requests: what an attack costs does not depend on how many tasks it fails at."""
WORKERS = 3
MODEL_MEMORY = 2_000_000_000
SETTINGS = {
    "PLANARENA_LOCAL_WORKERS": str(WORKERS),
    "PLANARENA_MODEL_MEMORY": str(MODEL_MEMORY),
    "PLANARENA_SUITES": "tests.toy_suite",
    # Short, since these models are tiny. A model that hangs keeps its worker for so long.
    "PLANARENA_MODEL_LOAD_SECONDS": "20",
    "PLANARENA_MODEL_ANSWER_SECONDS": "8",
    "PLANARENA_MODEL_CALL_SECONDS": "0.1",
    "PLANARENA_FAIR_SHARE_SECONDS": "30",
    "OMP_NUM_THREADS": "1",
    # Model servers run the code of checkpoints that stand for a way to take them over.
    "PYTHONPATH": f"{ROOT / 'tests' / 'hostile' / 'taken_over'}{os.pathsep}{ROOT}",
}
ENDED = frozenset({"completed", "failed", "cancelled", "on_hold"})
_SUBMISSIONS_PER_USER = 60
"""Submissions of one hostile user; more would be refused for a minute."""
_HONEST_PAUSE_SECONDS, _PAGES_EVERY_SECONDS = 8.0, 2.0
_HONEST_USERS = 4
"""Who submit in turn: users who had much lately wait for those who had less, whatever the others submit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bait:
    """Texts that nothing which leaves the site may hold."""

    folder: Path
    content: str
    header: str
    """The secret header of the endpoints."""
    canaries: Canaries | None = None
    """In every place from which a model server might read."""

    @property
    def path(self) -> Path:
        return self.folder / "bait.txt"


@dataclass(slots=True, kw_only=True)
class Fate:
    """What came of one hostile planner."""

    refused: str = ""
    """The sentence with which the site did not take it; empty: it did."""
    status: int = 0
    """Of the answer to its submission."""
    evaluation: str = ""
    created: str = ""
    finished: str = ""
    state: str = ""
    reason: str = ""
    """The sentence of its evaluation."""
    rows: list[dict[str, Any]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    """All pages, rows and logs that its owner is shown."""


@dataclass(slots=True)
class Measured:
    """What the honest user and the operator saw meanwhile."""

    honest: list[Fate] = field(default_factory=list)
    """What came of each of the honest users' evaluations."""
    memory: dict[str, int] = field(default_factory=dict)
    """The most bytes that a process held for itself, by what it does."""
    problems: list[str] = field(default_factory=list)


class User:
    """Somebody who signed up, with a session and a token."""

    def __init__(self, arena: Arena, name: str, *, suite: str = SUITE) -> None:
        self.suite = suite
        self.arena, self.name = arena, f"{name}-{secrets.token_hex(3)}"
        self.token = sign_up(arena, self.name)
        self.api = httpx.Client(
            base_url=f"{arena.url}/api/v1/", headers={"Authorization": f"Bearer {self.token}"}, timeout=60,
            trust_env=False,
        )  # fmt: skip
        self.web = httpx.Client(
            base_url=arena.url, follow_redirects=True, timeout=60, headers={"Referer": arena.url}, trust_env=False
        )
        form = {"login": self.name, "password": PASS_PHRASE, "csrfmiddlewaretoken": self.csrf("/accounts/login/")}
        self.web.post("/accounts/login/", data=form)

    def csrf(self, path: str) -> str:
        """The token of a form."""
        found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', self.web.get(path).text)
        assert found is not None, f"{path} has no form"
        return found[1]

    def close(self) -> None:
        self.api.close()
        self.web.close()

    def enter(self, planner: Mapping[str, Any]) -> Fate:
        """Submit a planner through the API."""
        answer = _patient(lambda: self.api.post("submissions/", json={"planner": planner, "suites": [self.suite]}))
        if answer.status_code != 201:
            return Fate(refused=sentence_of(answer), status=answer.status_code)
        return Fate(evaluation=answer.json()["evaluations"][0]["id"], status=201)

    def enter_checkpoint(self, archive: bytes, *, name: str) -> Fate:
        """Upload a checkpoint through the API, and submit it."""
        upload = {"file": ("model.zip", archive, "application/zip")}
        answer = _patient(lambda: self.api.post("checkpoints/", files=upload))
        if answer.status_code != 201:
            return Fate(refused=sentence_of(answer), status=answer.status_code)
        planner = {"name": name, "kind": "checkpoint", "strategy": "hugginggpt"}
        return self.enter({**planner, "checkpoint_digest": answer.json()["digest"]})

    def enter_by_form(self, files: Mapping[str, Any], **fields: Any) -> Fate:
        """Submit a planner through the site's form."""
        form = {"suites": [self.suite], "visibility": "public", "priority": "normal", **fields}
        token = self.csrf(f"/submit/{fields['kind']}/")
        answer = _patient(
            lambda: self.web.post("/submit/", data=form | {"csrfmiddlewaretoken": token}, files=dict(files))
        )
        found = re.search(r"/evaluations/([0-9a-f-]{36})/", str(answer.url))
        if found is None:
            return Fate(refused=errors_of(answer.text), status=answer.status_code)
        return Fate(evaluation=found[1], status=answer.status_code)


def _patient(call: Callable[[], httpx.Response], *, seconds: float = 150) -> httpx.Response:
    """The answer to a call, made again as long as the site says that it is too often."""
    until = time.monotonic() + seconds
    while True:
        answer = call()
        if answer.status_code != 429 or time.monotonic() > until:
            return answer
        time.sleep(min(float(answer.headers.get("Retry-After", "1")), 5.0))


def sentence_of(answer: httpx.Response) -> str:
    """What a problem document says."""
    try:
        problem = answer.json()
    except ValueError:
        return answer.text[:500]
    errors = problem.get("errors") or {}
    return " ".join([*(str(text) for texts in errors.values() for text in texts)]) or str(problem.get("detail", ""))


def errors_of(page: str) -> str:
    """What the form says is wrong."""
    beside = re.findall(r'<span class="error">(.*?)</span>', page, flags=re.DOTALL)
    above = re.findall(r"Please correct the form\.</strong>(.*?)</p>", page, flags=re.DOTALL)
    return " ".join(html.unescape(" ".join(one.split())) for one in [*above, *beside]).strip()


class Site:
    """A demo with several workers, its users, and the thread that measures."""

    def __init__(self, arena: Arena, *, bait: Bait) -> None:
        self.arena, self.bait = arena, bait
        self.measured = Measured()
        self.workers_at_first: list[int] = []
        self._users: list[User] = []
        self._entered = 0
        self._stop = threading.Event()
        self._entering = threading.Lock()
        self._threads: list[threading.Thread] = []

    def mallory(self) -> User:
        """One of the users who submit hostile planners."""
        with self._entering:
            if self._entered % _SUBMISSIONS_PER_USER == 0:
                self._users.append(User(self.arena, "mallory"))
            self._entered += 1
            return self._users[-1]

    def target(self) -> Target:
        """What the checkpoints try to read."""
        folder = self.arena.data / "secrets"
        own = {f"the site's {path.name}": path.read_text().strip() for path in folder.iterdir() if path.is_file()}
        return Target(
            path=str(self.bait.path), bait=self.bait.content, secrets=str(folder), port=str(self.arena.port),
            canaries=self.bait.canaries, wanted=own | {"bait": self.bait.content, "secret header": self.bait.header},
        )  # fmt: skip

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """Evaluate an honest planner again and again, and look at pages and processes."""
        honest = [User(self.arena, "ada") for _ in range(_HONEST_USERS)]
        for run in (lambda: self._evaluate_again(honest), self._look_at_pages, self._look_at_processes):
            thread = threading.Thread(target=run, daemon=True)
            self._threads.append(thread)
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in self._threads:
                thread.join(timeout=60)
            for user in [*honest, *self._users]:
                user.close()

    def honest_evaluation(self, user: User, *, seconds: float = 120) -> Fate:
        """What comes of an honest planner."""
        name = f"honest-{secrets.token_hex(4)}"
        fate = user.enter({"name": name, "kind": "bundled", "bundled_name": "gold"})
        assert fate.evaluation, fate.refused
        self.finish(fate, user=user, until=time.monotonic() + seconds, every=0.3)
        return fate

    def finish(self, fate: Fate, *, until: float, user: User | None = None, every: float = 1.0) -> None:
        """Wait for the end of an evaluation, and gather all that there is to see of it."""
        if not fate.evaluation:
            return
        ended = self._end_of(fate.evaluation, user=user or self._users[0], until=until, every=every)
        fate.state, fate.reason = ended["state"], ended["reason_text"]
        fate.created, fate.finished = ended["created"], ended["finished"] or ""
        fate.rows = self.arena.results(fate.evaluation)

    def _end_of(self, evaluation: str, *, user: User, until: float, every: float) -> dict[str, Any]:
        while True:
            found = dict(_patient(lambda: user.api.get(f"evaluations/{evaluation}/")).json())
            if found["state"] in ENDED or time.monotonic() > until:
                return found
            time.sleep(every)

    def _evaluate_again(self, users: list[User]) -> None:
        for user in cycle(users):
            if self._stop.is_set():
                return
            try:
                self.measured.honest.append(self.honest_evaluation(user))
            except (httpx.HTTPError, AssertionError, KeyError, ValueError) as error:
                self.measured.problems.append(f"honest evaluation: {error!r}")
            self._stop.wait(_HONEST_PAUSE_SECONDS)

    def _look_at_pages(self) -> None:
        # A connection for each page: the site ends idle ones, perhaps while the next request is on its way.
        fresh = httpx.Limits(max_keepalive_connections=0)
        with httpx.Client(base_url=self.arena.url, timeout=60, trust_env=False, limits=fresh) as client:
            while not self._stop.wait(_PAGES_EVERY_SECONDS):
                try:
                    for path in ("/", "/api/v1/evaluations/"):
                        client.get(path).raise_for_status()
                except httpx.HTTPError as error:
                    self.measured.problems.append(f"page: {error!r}")

    def _look_at_processes(self) -> None:
        while not self._stop.wait(0.5):
            for process in self.processes():
                with suppress(psutil.Error):
                    kind = _kind(process)
                    held = own_memory(process)
                    self.measured.memory[kind] = max(held, self.measured.memory.get(kind, 0))

    def processes(self) -> list[psutil.Process]:
        """All processes of the site, workers and model servers included."""
        found = {self.arena.process.pid: psutil.Process(self.arena.process.pid)}
        with suppress(psutil.Error):
            for child in psutil.Process(self.arena.process.pid).children(recursive=True):
                found[child.pid] = child
            for pid in self.arena.worker_pids():
                worker = psutil.Process(pid)
                found[pid] = worker
                found |= {child.pid: child for child in worker.children(recursive=True)}
        return list(found.values())


def all_secrets(site: Site) -> list[str]:
    """All that nothing may tell: the site's keys, the endpoints' header, and what lies around for the taking."""
    own = [path.read_text().strip() for path in (site.arena.data / "secrets").iterdir() if path.is_file()]
    assert own
    canaries = [] if site.bait.canaries is None else list(site.bait.canaries.texts.values())
    return [*own, site.bait.content, site.bait.header, *canaries]


def files_with(site: Site, texts: Sequence[str]) -> list[str]:
    """Artefacts, records and logs that hold one of these. Checkpoints name what they want to read, and are their
    owners'."""
    places = [site.arena.data / name for name in ("store", "workers", "logs")]
    files = [path for place in places for path in place.rglob("*") if "checkpoints" not in path.parts]
    assert any(path.suffix == ".log" for path in files)
    wanted = [text.encode() for text in texts]
    return [str(path) for path in files if path.is_file() and any(one in path.read_bytes() for one in wanted)]


def tables_with(site: Site, texts: Sequence[str]) -> list[tuple[str, int]]:
    """Tables of the site's database with a row that holds one of these, by its number."""
    # Without joining its users, for which it would outlive the site.
    sockets = (site.arena.data / "postgres" / "postmaster.pid").read_text().splitlines()[4]
    with psycopg.connect(user="postgres", dbname="postgres", host=sockets) as connection:
        tables = connection.execute("SELECT relname FROM pg_stat_user_tables").fetchall()
        return [
            (table, number)
            for (table,) in tables
            for number, text in enumerate(texts)
            if connection.execute(
                f'SELECT count(*) FROM "{table}" AS t WHERE t::text LIKE %s',  # type: ignore[arg-type]
                [f"%{text}%"],
            ).fetchall() != [(0,)]
        ]  # fmt: skip


def _kind(process: psutil.Process) -> str:
    line = " ".join(process.cmdline())
    for word in ("model_server", "gpu_jobs worker", "uvicorn", "celery", "postgres", "manage.py demo"):
        if word in line:
            return word
    return "other"


@contextmanager
def running_site(*, is_idle: bool = False, **changes: str) -> Iterator[Site]:
    """A site with workers and a file that hostile planners try to read.

    Args:
        is_idle: whether the demo evaluates nothing, so that no worker starts before somebody submits.
        changes: of `SETTINGS`.
    """
    settings = SETTINGS | changes
    workers = int(settings["PLANARENA_LOCAL_WORKERS"])
    with data_folder() as data, tempfile.TemporaryDirectory(prefix="planarena-bait-") as name, canaries() as kept:
        folder = Path(name)
        folder.chmod(0o755)
        content, header = f"bait{secrets.token_hex(16)}", f"Hush{secrets.token_hex(16)}"
        bait = Bait(folder=folder, content=content, header=header, canaries=kept)
        bait.path.write_text(f"{bait.content}\n")
        bait.path.chmod(0o644)
        with started(data, planners=["identity" if is_idle else "no-op"], **(settings | kept.environment)) as arena:
            arena.wait_for(lambda: "The site is at" in arena.output, what="the site")
            site = Site(arena, bait=bait)
            if not is_idle:
                arena.wait_for(lambda: len(arena.worker_pids()) == workers, what="the start of all workers")
            site.workers_at_first = arena.worker_pids()
            yield site
