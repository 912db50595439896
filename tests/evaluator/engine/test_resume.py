"""A run that is killed at any point goes on from the store, and its results are those of an undisturbed run."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evaluator.records import ResultRecord, without_timings
from tests.rings import usual

ROOT = Path(__file__).resolve().parents[3]

PROGRAM = """
import json, sys, time
from pathlib import Path
from PIL import Image
from evaluator.engine import Engine, Job, LocalStore
from evaluator.plans import Plan, Step
from tests.fakes.experts import FakeExpert, FakePool, invert, mirror

def slow(function):
    def act(item):
        time.sleep(0.004)
        return function(item)
    return FakeExpert(act)

pool = FakePool({"a": slow(invert), "b": slow(mirror)}, batch_size=4)
engine = Engine(pool=pool, store=LocalStore(Path(sys.argv[1])))
plan = Plan(steps=(Step("s1", "a", {"image": "$image"}, {"image": "s1.image"}),
                   Step("s2", "b", {"image": "s1.image"}, {"image": "s2.image"})), answers=("s2.image",))
jobs = [Job("t", n, plan, {"image": engine.keep(Image.new("RGB", (8, 8), (n, 2 * n, 7)))}) for n in range(20)]
results = {result.job.sample: result.answer.digest for result in engine.run(jobs)}
print(json.dumps({"calls": engine.calls.total(), "results": sorted(results.items())}))
"""


def start(store):
    return subprocess.Popen([sys.executable, "-c", PROGRAM, str(store)], cwd=ROOT, stdout=subprocess.PIPE, text=True)


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


@pytest.mark.parametrize("steps", usual([1, 9, 23], of=[9]))
def test_an_engine_killed_at_any_point_does_only_what_is_missing(tmp_path, steps):
    whole = json.loads(start(tmp_path / "whole").communicate(timeout=200)[0])
    assert whole["calls"] == 40
    store = tmp_path / "killed"
    assert kill_when(start(store), steps=steps, store=store)
    stored = len(list(store.glob("steps/*/*.json")))
    resumed = json.loads(start(store).communicate(timeout=200)[0])
    assert resumed["results"] == whole["results"]
    assert resumed["calls"] == 40 - stored


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
