"""Planners that hang may delay nobody else, however many there are, whoever enters them and whatever they hang at.

With the site's own deadlines of models, by which a model that hangs would keep its worker for two minutes.
"""

import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.fakes.checkpoints import zipped
from tests.hostile.checkpoints import CASES, TAKEN_OVER, Target, honest
from tests.hostile.site import ENDED, Fate, Site, User, running_site

pytestmark = pytest.mark.full

WORKERS = 2
SUITE = "toolmini"
"""Of 120 tasks in shards of 40, so that planners have time to hang."""
HOSTILE_USERS = 3
HANGS_FROM = {"/hangs": 0, "/hangs-later": 3}
"""How many requests each address answers before it hangs."""
DEADLINES = {
    "PLANARENA_LOCAL_WORKERS": str(WORKERS),
    "PLANARENA_MODEL_LOAD_SECONDS": "",
    "PLANARENA_MODEL_ANSWER_SECONDS": "",
    "PLANARENA_MODEL_CALL_SECONDS": "",
    "PLANARENA_FAIR_SHARE_SECONDS": "600",
    "PLANARENA_PLANNING_TASKS_PER_SHARD": "40",
}


@contextmanager
def endpoints() -> Iterator[str]:
    """A server of planners: one is honest, others hang, one answers slowly."""
    over = threading.Event()
    asked: dict[str, int] = {}

    class Planner(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            name, _, _ = self.path.rpartition("/")
            asked[self.path] = asked.get(self.path, 0) + 1
            if asked[self.path] > HANGS_FROM.get(name, 10**9):
                over.wait()
            if name == "/drips":
                over.wait(10)
            body = json.dumps({"plan": {"steps": [], "answers": []}}).encode()
            # Who was interrupted is gone.
            with suppress(ConnectionError):
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Planner)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        over.set()
        server.shutdown()


def enter_endpoint(user: User, *, url: str, path: str) -> Fate:
    name = f"planner-{secrets.token_hex(4)}"
    planner = {"name": name, "kind": "endpoint", "endpoint_url": f"{url}{path}/{name}", "timeout_seconds": 60}
    fate = user.enter(planner)
    assert fate.evaluation, fate.refused
    return fate


def enter_hanging_model(user: User) -> Fate:
    case = next(case for case in CASES if case.name == f"{TAKEN_OVER}hang")
    target = Target(path="/nowhere", bait="", secrets="/nowhere", port="0")
    archive = zipped(case.build(honest(), target))
    fate = user.enter_checkpoint(archive, name=f"planner-{secrets.token_hex(4)}")
    assert fate.evaluation, fate.refused
    return fate


def wait_until_completed(user: User, fate: Fate, *, most: float = 300) -> None:
    until = time.monotonic() + most
    while (found := user.api.get(f"evaluations/{fate.evaluation}/").json())["state"] not in ENDED:
        assert time.monotonic() < until, f"an honest evaluation did not end within {most:g} seconds"
        time.sleep(0.3)
    assert found["state"] == "completed", found["reason_text"]


def evaluate_honestly(site: Site, *, url: str) -> None:
    """For two users who submit at the same time: a proven planner, and one that is new."""
    ada, bea = User(site.arena, "ada", suite=SUITE), User(site.arena, "bea", suite=SUITE)
    gold = {"name": f"gold-{secrets.token_hex(4)}", "kind": "bundled", "bundled_name": "gold"}
    entered = [(ada, ada.enter(gold)), (bea, enter_endpoint(bea, url=url, path="/honest"))]
    for user, fate in entered:
        wait_until_completed(user, fate)
        user.close()


def running(user: User, fates: list[Fate]) -> int:
    """How many of the evaluations a worker has taken."""
    states = [user.api.get(f"evaluations/{fate.evaluation}/").json()["state"] for fate in fates]
    return states.count("running")


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with running_site(**DEADLINES) as found:
        yield found


def test_planners_that_hang_are_overtaken_by_every_other_user(site: Site):
    with endpoints() as url:
        hostile = [User(site.arena, "mallory", suite=SUITE) for _ in range(HOSTILE_USERS)]
        entered = [enter_hanging_model(hostile[0]), enter_hanging_model(hostile[0])]
        for user in hostile:
            entered += [enter_endpoint(user, url=url, path=path) for path in ("/hangs", "/hangs-later", "/drips")]
        site.arena.wait_for(lambda: running(hostile[0], entered) >= WORKERS, what="all workers taken", seconds=60)
        evaluate_honestly(site, url=url)
        evaluate_honestly(site, url=url)
        # They were interrupted, and no worker ended for that.
        assert running(hostile[0], entered) > 0
        assert set(site.workers_at_first) <= set(site.arena.worker_pids())
        for user in hostile:
            user.close()
