"""What all hostile planners together may not cost: secrets, other people's time, memory, workers, and the disk."""

from collections.abc import Mapping
from pathlib import Path

import psutil
import pytest

from tests.hostile.checkpoints.base import CASES
from tests.hostile.site import MODEL_MEMORY, WORKERS, Fate, Site, User, all_secrets, files_with, tables_with

pytestmark = pytest.mark.full

MOST_WORKER_BYTES = 1_500_000_000
MARKUP = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def secrets(site: Site) -> list[str]:
    return all_secrets(site)


def test_no_secret_is_in_a_row(site: Site, secrets: list[str], fates: Mapping[str, Fate]):
    assert fates
    # The first is no secret, and shows that the others would be found.
    assert {number for _, number in tables_with(site, ["hostile-", *secrets])} == {0}


def test_no_secret_is_in_an_artefact_a_record_or_a_log(site: Site, secrets: list[str], fates: Mapping[str, Fate]):
    assert fates
    assert files_with(site, secrets) == []
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


def test_honest_evaluations_end_meanwhile_and_overtake_hostile_ones(site: Site, fates: Mapping[str, Fate]):
    honest = site.measured.honest
    assert len(honest) > 3
    assert {one.state for one in honest} == {"completed"}
    entered = [fate for fate in fates.values() if fate.evaluation]
    assert [
        (one.evaluation, other.evaluation) for one in honest for other in entered
        if other.created < one.created and one.finished < (other.finished or "9")
    ]  # fmt: skip


def test_the_site_answers_all_the_time(site: Site, fates: Mapping[str, Fate]):
    assert fates
    assert site.measured.problems == []


def test_memory_is_bounded(site: Site, fates: Mapping[str, Fate]):
    assert fates
    held = site.measured.memory
    assert held["gpu_jobs worker"] < MOST_WORKER_BYTES, held
    # Looked at five times a second; what grows in between is on top.
    loaded = [case.name for case in CASES if case.name in fates and fates[case.name].evaluation]
    assert not loaded or held["model_server"] < 1.5 * MODEL_MEMORY, held


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
    assert site.honest_evaluation(user).state == "completed"
    user.close()
