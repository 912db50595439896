"""The command measures an installation of its own, with the real library and a real server."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evaluator.core.commands.table import SUITES_VARIABLE
from evaluator.core.suites import registry
from evaluator.core.suites.registry import suite_names
from tests.scale import wide_suite
from tests.scale.data import FEWEST, TooFewError, furnish, populate, spread
from tests.scale.measuring import addresses
from tests.scale.wide_suite import SLUG

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]


def test_the_command_measures_pages_and_rates(tmp_path):
    out = tmp_path / "report.json"
    evaluations = FEWEST * (len(suite_names()) + 1)
    sizes = {"evaluations": evaluations, "results": 1000, "users": 3, "rounds": 1, "rate-seconds": 0.2}
    asked = [word for name, value in sizes.items() for word in (f"--{name}", str(value))]
    command = [sys.executable, "-m", "tests.scale", *asked, "--out", str(out)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, "--only", f"/boards/{SLUG}/tasks/"], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    report = json.loads(out.read_text())
    assert {one["status"] for one in report["timings"]} == {200}
    [rate] = report["rates"]
    assert rate["path"] == f"/boards/{SLUG}/tasks/"
    assert (rate["wrong"], rate["per_second"] > 0, rate["per_cpu_second"] > 0) == (0, True, True)
    assert "requests/CPU s requests/s  first ms median ms" in done.stdout
    assert f"{rate['name']}: {rate['path']}\n" in done.stdout
    assert report["start_seconds"] == sorted(report["start_seconds"])
    assert report["start_seconds"][0] > 0
    assert "a new process sets Django up in" in done.stdout


def test_every_suite_gets_what_its_pages_need_or_too_few_evaluations_are_refused():
    sizes = (185, 120, 2500)
    assert spread(evaluations=5000, results=2_000_000, sizes=sizes) == [2237, 2236, 527]
    # More results than so many evaluations can have: the other suites keep their fewest.
    assert spread(evaluations=400, results=2_000_000, sizes=sizes) == [FEWEST, FEWEST, 376]
    with pytest.raises(TooFewError, match="35 evaluations are too few: 3 suites need 36"):
        spread(evaluations=35, results=1_000, sizes=sizes)


@pytest.fixture
def wide(monkeypatch):
    monkeypatch.setenv(SUITES_VARIABLE, wide_suite.__name__)
    registry.forget()
    yield
    monkeypatch.undo()
    registry.forget()


@pytest.mark.django_db
@pytest.mark.usefixtures("wide")
def test_the_smallest_installation_has_every_page_for_each_reader():
    populate(evaluations=FEWEST * len(suite_names()), results=1_000, users=3)
    furnish()
    readers = [reader for _, reader in addresses()]
    assert {*readers} == {"owner", "anonymous", "staff"}
    assert len(readers) > 100
