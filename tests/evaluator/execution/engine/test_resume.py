"""A run that is killed at any point goes on from the store, and its results are those of an undisturbed run."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evaluator.core.records import ResultRecord, without_timings
from tests.rings import usual

ROOT = Path(__file__).resolve().parents[4]

PROGRAM = """
import itertools, json, os, signal, sys, time
from pathlib import Path
from PIL import Image
from evaluator.execution.engine.run import Engine
from evaluator.execution.engine.jobs import Job
from evaluator.execution.engine.store import LocalStore
from evaluator.core.plans.model import Plan, Step
from tests.fakes.experts import FakeExpert, FakePool, invert, mirror

folder, kill_at = Path(sys.argv[1]), int(sys.argv[2])
calls = itertools.count()

def expert(function):
    def act(item):
        # Nine calls later, so that the results of whole batches are on their way to the disk.
        if next(calls) == kill_at + 9:
            while len(list(folder.glob("steps/*/*.json"))) < kill_at:
                time.sleep(0.001)
            os.kill(os.getpid(), signal.SIGKILL)
        return function(item)
    return FakeExpert(act)

pool = FakePool({"a": expert(invert), "b": expert(mirror)}, batch_size=4)
engine = Engine(pool=pool, store=LocalStore(folder))
plan = Plan(steps=(Step("s1", "a", {"image": "$image"}, {"image": "s1.image"}),
                   Step("s2", "b", {"image": "s1.image"}, {"image": "s2.image"})), answers=("s2.image",))
jobs = [Job("t", n, plan, {"image": engine.keep(Image.new("RGB", (8, 8), (n, 2 * n, 7)))}) for n in range(20)]
results = {result.job.sample: result.answer.digest for result in engine.run(jobs)}
print(json.dumps({"calls": engine.calls.total(), "results": sorted(results.items())}))
"""
NEVER = 1000


def ran(store, *, kill_at=NEVER):
    """The program's exit code and what it printed. It kills itself once so many steps are stored."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(store), str(kill_at)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.returncode, json.loads(done.stdout or "null")


@pytest.mark.parametrize("steps", usual([1, 9, 23], of=[9]))
def test_an_engine_killed_at_any_point_does_only_what_is_missing(tmp_path, steps):
    _, whole = ran(tmp_path / "whole")
    assert whole["calls"] == 40
    store = tmp_path / "killed"
    assert ran(store, kill_at=steps)[0] == -signal.SIGKILL
    stored = len(list(store.glob("steps/*/*.json")))
    _, resumed = ran(store)
    assert resumed["results"] == whole["results"]
    assert resumed["calls"] == 40 - stored < 40


def kill_when(process, *, steps, store):
    """Kill a process as soon as it has stored so many steps. False if it was over before."""
    deadline = time.monotonic() + 400
    while time.monotonic() < deadline:
        if len(list(store.glob("steps/*/*.json"))) >= steps:
            process.send_signal(signal.SIGKILL)
            return process.wait() == -signal.SIGKILL
        if process.poll() is not None:
            return False
        time.sleep(0.001)
    raise AssertionError("the process did nothing")


def evaluate(folder, name):
    return [
        sys.executable, "-m", "evaluator", "evaluate", "--tasks", "7", "--samples", "1",
        "--store", str(folder / f"{name}-store"), "--output", str(folder / f"{name}.json"),
    ]  # fmt: skip


def results(path):
    """The records of a result file, timings aside, byte for byte."""
    document = json.loads(path.read_text(encoding="utf-8"))
    records = [without_timings(ResultRecord.model_validate(record)) for record in document["results"]]
    return document["summary"], [record.model_dump_json() for record in records]


@pytest.mark.full
@pytest.mark.timeout(1000)  # three processes that load torch, on machines that may be busy
def test_an_evaluation_that_was_killed_gives_the_same_file_when_it_is_started_again(tmp_path):
    subprocess.run(evaluate(tmp_path, "whole"), cwd=ROOT, check=True, capture_output=True, timeout=400)
    store = tmp_path / "killed-store"
    process = subprocess.Popen(
        evaluate(tmp_path, "killed"), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    assert kill_when(process, steps=1, store=store)
    assert not (tmp_path / "killed.json").exists()
    subprocess.run(evaluate(tmp_path, "killed"), cwd=ROOT, check=True, capture_output=True, timeout=400)
    assert results(tmp_path / "killed.json") == results(tmp_path / "whole.json")
    steps = [step for record in json.loads((tmp_path / "killed.json").read_text())["results"]
             for sample in record["samples"] for step in sample["steps"]]  # fmt: skip
    assert any(step["cached"] for step in steps)
