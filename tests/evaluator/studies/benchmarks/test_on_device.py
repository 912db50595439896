"""The benchmark of a profile's experts on a device, with small random weights on a CPU."""

import json
import stat
from itertools import count

import pytest
from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.core.suites.registry import suite_of
from evaluator.openagi.made_up import MadeUpSamples
from evaluator.studies.benchmarks.on_device import DeviceReport, Line
from evaluator.studies.benchmarks.utilisation import reader_for, sampled


def test_every_expert_and_scorer_of_the_gold_plans_is_measured(tmp_path):
    out = tmp_path / "report.json"
    done = CliRunner().invoke(
        app,
        ["bench", "execution", "--profile", "paper", "--random-weights", "--small", "--samples", "2",
         "--tasks", "7,14,61", "--output", str(out)],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    report = json.loads(out.read_text())
    suite = suite_of("openagi")
    plans = [suite.task(key).gold for key in ("7", "14", "61")]
    assert {line["name"] for line in report["tools"]} == {tool for plan in plans for tool in plan.tools()}
    assert {line["name"] for line in report["scorers"]} == {"ViT", "BERT"}
    assert report["outcomes"] == {"scored": 3}
    for line in (*report["tools"], *report["scorers"]):
        assert line["items"] >= line["batches"] >= 1
        assert line["per_second"] == pytest.approx(line["items"] / line["seconds"])
        assert line["loading"] > 0
    assert sum(line["seconds"] for line in report["tools"]) <= report["experts"]
    assert sum(line["loading"] for line in report["tools"]) == pytest.approx(report["loading"])
    assert 0 < report["busy_share"] <= 1
    assert report["utilisation"] is report["peak_device_bytes"] is None
    assert report["conditions"]["weights"] == "random-small"
    assert report["conditions"]["device"]["kind"] == "cpu"
    assert "Estimated with 100 samples" in " ".join(done.stdout.split())


def test_the_estimate_repeats_everything_but_loading():
    line = Line(name="ViT", model="m", batch_size=1, items=1, batches=1, seconds=2.0, loading=1.0, utilisation=None)
    report = DeviceReport(conditions={"samples": 4}, wall=10.0, loading=3.0, experts=4.0, scorers=[line])
    assert report.estimated == pytest.approx(3 + 1 + 25 * 6)
    assert report.busy_share == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--profile", "lilliput"], "the weights of lilliput are shipped"),
        (["--only", "cold"], "measures one run"),
    ],
)
def test_what_random_weights_cannot_measure_is_refused(options, said):
    done = CliRunner().invoke(app, ["bench", "execution", "--profile", "paper", "--random-weights", *options])
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.split())


def test_made_up_data_are_the_same_whoever_makes_them_and_shared_by_requests_of_one_base():
    suite, source = suite_of("openagi"), MadeUpSamples()
    photos = [task for task in suite.tasks if "image" in task.resources]
    by_key = {}
    for task in photos[::7]:
        picture = source.inputs(task=task, index=1)["image"]
        key = source.inputs_key(task=task)
        assert (
            picture.tobytes()
            == by_key.setdefault(key, picture.tobytes())
            == MadeUpSamples().inputs(task=task, index=1)["image"].tobytes()
        )
        assert max(picture.size) in (128, 256)
    texts = next(task for task in suite.tasks if "document" in task.resources)
    assert len(str(source.inputs(task=texts, index=0)["document"]).split()) == 140


def test_utilisation_is_that_of_what_runs():
    names = iter(["a", "b"] + ["c"] * 100)
    shares = count(1)
    with sampled(read=lambda: next(shares) / 100, running=lambda: next(names)) as utilisation:
        while utilisation.of("c") is None:
            pass
    assert (utilisation.of("a"), utilisation.of("b")) == (0.01, 0.02)
    assert utilisation.of("nothing") is None
    assert utilisation.mean >= 0.02


def test_utilisation_is_read_by_the_systems_program_where_torch_cannot(tmp_path, monkeypatch):
    program = tmp_path / "nvidia-smi"
    program.write_text('#!/bin/sh\n[ "$1" = "--id=1" ] && echo 37\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert reader_for("cuda:1")() == pytest.approx(0.37)
    assert reader_for("cuda:0")() is None
    assert reader_for("cpu")() is None
