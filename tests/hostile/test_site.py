"""What all hostile planners together may not cost: secrets, other people's time, memory, workers, and the disk."""

import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import psutil
import pytest

from tests.end_to_end.arena import ROOT
from tests.hostile.site import MODEL_MEMORY, WORKERS, Fate, Site, User

MOST_DELAY_SECONDS = 30.0
MOST_PAGE_SECONDS = 10.0
MOST_WORKER_BYTES = 1_500_000_000
MARKUP = "<script>alert(1)</script>"
_ROWS_WITH = """
import sys
from pathlib import Path
import psycopg
from leaderboard.site import embedded
secrets = sys.stdin.read().split()
with psycopg.connect(embedded.start(Path(sys.argv[1]))) as connection:
    tables = connection.execute("SELECT relname FROM pg_stat_user_tables").fetchall()
    for (table,) in tables:
        for number, secret in enumerate(secrets):
            query = f'SELECT count(*) FROM "{table}" AS t WHERE t::text LIKE %s'
            if connection.execute(query, [f"%{secret}%"]).fetchone()[0]:
                print(table, number)
"""


@pytest.fixture(scope="module")
def secrets(site: Site) -> list[str]:
    """All that nothing may tell: the site's keys, the endpoints' header, and what lies around for the taking."""
    own = [path.read_text().strip() for path in (site.arena.data / "secrets").iterdir() if path.is_file()]
    assert own
    canaries = [] if site.bait.canaries is None else list(site.bait.canaries.texts.values())
    return [*own, site.bait.content, site.bait.header, *canaries]


def holding(paths: Iterable[Path], *, secrets: list[str]) -> list[str]:
    """The files that hold one of these."""
    wanted = [secret.encode() for secret in secrets]
    return [str(path) for path in paths if path.is_file() and any(one in path.read_bytes() for one in wanted)]


def test_no_secret_is_in_a_row(site: Site, secrets: list[str], fates: Mapping[str, Fate]):
    assert fates
    # The first is no secret, and shows that the others would be found.
    wanted = ["hostile-", *secrets]
    done = subprocess.run(
        [sys.executable, "-c", _ROWS_WITH, str(site.arena.data)], input="\n".join(wanted), capture_output=True,
        text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    found = [line.split() for line in done.stdout.splitlines()]
    assert {number for _, number in found} == {"0"}, found


def test_no_secret_is_in_an_artefact_a_record_or_a_log(site: Site, secrets: list[str], fates: Mapping[str, Fate]):
    assert fates
    data = site.arena.data
    places = [data / "store", data / "workers", data / "logs"]
    # The checkpoints themselves name what they want to read, and are their owners'.
    files = [path for place in places for path in place.rglob("*") if "checkpoints" not in path.parts]
    assert any(path.suffix == ".log" for path in files)
    assert holding(files, secrets=secrets) == []
    assert holding((data / "secrets").iterdir(), secrets=secrets)
    assert not [one for one in secrets if one in site.arena.output]


def test_no_markup_is_in_a_page(site: Site, fates: Mapping[str, Fate]):
    marked = [fate for name, fate in fates.items() if "markup" in name or "script" in name]
    assert any(fate.evaluation for fate in marked)
    user = User(site.arena, "reader")
    for fate in marked:
        if fate.evaluation:
            for path in (f"/evaluations/{fate.evaluation}/", f"/evaluations/{fate.evaluation}/tasks/1/"):
                assert MARKUP not in user.web.get(path).text
    user.close()


def test_no_other_evaluation_is_delayed_by_more_than_30_seconds(site: Site, fates: Mapping[str, Fate]):
    assert fates
    measured = site.measured
    assert len(measured.honest_seconds) > 3
    assert set(measured.honest_ends) == {"completed"}
    assert max(measured.honest_seconds) - measured.alone_seconds <= MOST_DELAY_SECONDS, measured.honest_seconds


def test_the_site_answers_all_the_time(site: Site, fates: Mapping[str, Fate]):
    assert fates
    assert site.measured.problems == []
    assert max(site.measured.page_seconds) < MOST_PAGE_SECONDS


def test_memory_is_bounded(site: Site, fates: Mapping[str, Fate]):
    assert fates
    held = site.measured.memory
    assert held["gpu_jobs worker"] < MOST_WORKER_BYTES, held
    # Looked at five times a second; what grows in between is on top.
    assert held["model_server"] < 1.5 * MODEL_MEMORY, held


def test_no_worker_is_lost_and_no_model_server_is_left(site: Site, fates: Mapping[str, Fate]):
    assert fates
    assert len(site.arena.worker_pids()) == WORKERS
    assert all("worker" not in path.read_text() for path in (site.arena.data / "workers").glob("*.reason"))
    last_words = {path.name: path.read_text()[-2000:] for path in (site.arena.data / "workers").glob("local-*.log")}
    assert set(site.workers_at_first) <= set(site.arena.worker_pids()), f"a worker ended: {last_words}"
    servers = [one for one in site.processes() if "model_server" in " ".join(one.cmdline())]
    # Each worker keeps the model that it used last, in a sandbox of two processes or so.
    assert len(servers) <= 3 * WORKERS, servers


def test_nothing_is_left_outside_of_the_site_s_folder(fates: Mapping[str, Fate]):
    assert fates
    assert not Path("/dev/shm/planarena-hostile").exists()
    assert not Path("/tmp/planarena-hostile").exists()
    # The key of the segment that one of them makes.
    assert "4711" not in [line.split()[0] for line in Path("/proc/sysvipc/shm").read_text().splitlines()]
    assert psutil.disk_usage("/").free > 10**9


def test_an_honest_planner_is_evaluated_after_all_of_them(site: Site, fates: Mapping[str, Fate]):
    assert fates
    user = User(site.arena, "late")
    assert site.honest_evaluation(user) < MOST_DELAY_SECONDS
    user.close()
