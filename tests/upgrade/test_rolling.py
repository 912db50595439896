"""A rolling upgrade: the previous release and this one side by side on one database, store and broker."""

import json
import signal
import subprocess
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psycopg
import pytest

from tests.crash.driving import Ground, Zygote, free_port, kill, lives, wait_until
from tests.crash.effects import ROOT
from tests.crash.roles import FACTS, RUN, Run

pytestmark = pytest.mark.full

PAGES = ("/boards/mini/", "/api/v1/boards/mini/", "/boards/mini/snapshots/1/", "/api/v1/evaluations/", "/status/")


def unpacked(target: Path) -> Path:
    """The previous release, from the history of the repository."""
    commit = tomllib.loads((Path(__file__).parent / "previous.toml").read_text())["commit"]
    made = subprocess.run(["git", "archive", "--output", f"{target}.tar", commit], cwd=ROOT, capture_output=True)
    why = f"tests/upgrade/previous.toml names {commit}, which is not here; fetch the history: git fetch --unshallow"
    assert made.returncode == 0, f"{why}\n{made.stderr.decode()}"
    target.mkdir()
    subprocess.run(["tar", "-xf", f"{target}.tar", "-C", str(target)], check=True)
    return target


class Host:
    """A machine of one release, whose processes use the site of a port."""

    def __init__(self, *, folder: Path, release: tuple[Path, Zygote], ground: Ground, port: int) -> None:
        self.folder, self.port, (root, self.zygote) = folder, port, release
        folder.mkdir()
        for name in ("store", "messages", "control"):
            (folder.parent / name).mkdir(exist_ok=True)
            (folder / name).symlink_to(folder.parent / name)
        messages, control = str(folder / "messages"), str(folder / "control")
        extra = {
            "LAUNCHER": "tests.fakes.launcher.fake_launcher", "DATABASE_URL": ground.url("rolling"),
            # The status page asks the broker with these.
            "CELERY_BROKER_TRANSPORT_OPTIONS": {
                "data_folder_in": messages, "data_folder_out": messages, "control_folder": control,
            },
        }  # fmt: skip
        Run(
            folder=folder, database=ground.database("rolling"), broker="filesystem://localhost//", port=port,
            instrumented=False, pace=0.2, extra=extra,
        ).save()  # fmt: skip
        # The previous release knows its own options only.
        known = (root / "tests/crash/roles.py").read_text()
        options = json.loads((folder / RUN).read_text())
        (folder / RUN).write_text(json.dumps({key: value for key, value in options.items() if f"    {key}:" in known}))

    def start(self, role: str) -> int:
        return self.zygote.start(role=role, folder=self.folder)

    def submit(self, token: str) -> None:
        planner = {"name": "planner", "kind": "bundled", "bundled_name": "gold"}
        answer = httpx.post(
            f"http://127.0.0.1:{self.port}/api/v1/submissions/", json={"planner": planner, "suites": ["mini"]},
            headers={"Authorization": f"Bearer {token}"}, timeout=60, trust_env=False,
        )  # fmt: skip
        assert answer.status_code == 201, answer.text

    def visit(self, path: str) -> int:
        return httpx.get(f"http://127.0.0.1:{self.port}{path}", timeout=60, trust_env=False).status_code

    def answers(self) -> bool:
        try:
            return self.visit("/health/live") == 200
        except httpx.TransportError:
            return False


SCORED = "SELECT count(*) FROM evaluations_taskresult WHERE outcome = 'scored'"
RESULTS = """
SELECT array_agg((task_id, outcome, score, indicators::text)::text ORDER BY task_id)
FROM evaluations_taskresult GROUP BY evaluation_id
"""
LEFT = """
SELECT (SELECT count(*) FROM evaluations_attempt WHERE state = 'live'),
       (SELECT count(*) FROM evaluations_shard WHERE state <> 'done')
"""
BOARD = "SELECT stored->'rows' FROM boards_snapshot ORDER BY number DESC LIMIT 1"
PACKED = "SELECT count(*), count(packed) FROM boards_snapshot"


@pytest.fixture
def releases(tmp_path):
    """The previous one and this one, with their warm processes."""
    roots = (unpacked(tmp_path / "previous"), ROOT)
    with ThreadPoolExecutor(2) as pool:
        zygotes = list(pool.map(Zygote, roots))
    yield list(zip(roots, zygotes, strict=True))
    for zygote in zygotes:
        zygote.close()


@pytest.fixture
def hosts(releases, postgres_url, tmp_path):
    """Of each release one whose processes use its own site, and one whose worker uses the other's."""
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute("CREATE DATABASE rolling")
    zygote = releases[1][1]
    ground = Ground(zygote=zygote, postgres_url=postgres_url, template="", tokens=[], worker_token="", suite="mini")
    (tmp_path / "run").mkdir()
    ports = [free_port(), free_port()]
    made = (("old", 0, 0), ("new", 1, 1), ("old-at-new", 0, 1), ("new-at-old", 1, 0))
    with psycopg.connect(ground.url("rolling"), autocommit=True) as database:
        yield (
            database,
            *(
                Host(folder=tmp_path / "run" / name, release=releases[release], ground=ground, port=ports[port])
                for name, release, port in made
            ),
        )


@pytest.mark.timeout(600)
def test_nothing_is_lost_while_two_releases_serve_side_by_side(hosts):
    database, old, new, old_at_new, new_at_old = hosts
    old.zygote.play(role="prepare", folder=old.folder, seconds=180)
    tokens = json.loads((old.folder / FACTS).read_text())["tokens"]
    leaving = [old.start(role) for role in ("web", "celery", "second_worker")]
    wait_until(old.answers, what="the old site answers")
    for token in tokens[:3]:
        old.submit(token)
    wait_until(lambda: database.execute(SCORED).fetchone()[0], what="a first result of the old release")
    new.zygote.play(role="migrate", folder=new.folder)
    assert "Traceback" not in (new.folder / "migrate.log").read_text(), (new.folder / "migrate.log").read_text()
    for role in ("web", "celery", "second_worker"):
        new.start(role)
    leaving += [old_at_new.start("second_worker"), new_at_old.start("second_worker")]
    wait_until(new.answers, what="the new site answers")
    visits = []
    for host, token in zip((old, new, old, new), tokens[3:], strict=False):
        host.submit(token)
        visits += [(path, each.port, each.visit(path)) for each in (old, new) for path in PAGES]
    for pid in leaving:
        kill(pid, signal.SIGTERM)
    wait_until(lambda: not any(map(lives, leaving)), what="the old processes ended")
    new.submit(tokens[7])
    visits += until_all_have_ended(database, new)
    assert not [visit for visit in visits if visit[2] >= 500]
    assert {new.visit(path) for path in PAGES} == {200}
    rows = [tuple(found) for (found,) in database.execute(RESULTS).fetchall()]
    # One planner on one suite: whichever release ran it, the rows are equal.
    assert (len(rows), len(set(rows)), len(rows[0])) == (8, 1, 6)
    assert database.execute(SCORED).fetchone()[0] == 8 * 5
    assert database.execute("SELECT count(DISTINCT summary::text) FROM evaluations_evaluation").fetchone()[0] == 1
    assert database.execute(LEFT).fetchone() == (0, 0)
    (board,) = database.execute(BOARD).fetchone()
    assert (len(board), len({row["owner"] for row in board})) == (8, 8)
    # Whichever release packed the older ones, both have read them above.
    snapshots, packed = database.execute(PACKED).fetchone()
    assert packed == snapshots - 1 > 0


def until_all_have_ended(database, host: Host) -> list[tuple[str, int, int]]:
    """Sweep until all evaluations are completed; the pages that were visited meanwhile."""
    visits = []

    def ended() -> bool:
        host.zygote.play(role="beat", folder=host.folder)
        visits.extend((path, host.port, host.visit(path)) for path in PAGES)
        return database.execute("SELECT state FROM evaluations_evaluation").fetchall() == [("completed",)] * 8

    wait_until(ended, what="all evaluations completed", every=0.5)
    return visits
