"""The command measures an installation of its own, with the real library and a real server."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evaluator.suites import suite_names
from tests.scale.data import FEWEST
from tests.scale.wide_suite import SLUG

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]


def test_the_command_measures_pages_and_rates(tmp_path):
    out = tmp_path / "report.json"
    asked = [
        "--evaluations",
        str(FEWEST * (len(suite_names()) + 1)),
        "--results",
        "1000",
        "--users",
        "3",
        "--rounds",
        "1",
    ]
    command = [sys.executable, "-m", "tests.scale", *asked, "--rate-seconds", "0.2", "--out", str(out)]
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
