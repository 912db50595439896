"""The doctor: what it finds about experts on a device, and what of it contradicts the profile."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from evaluator.core.expert import ExpertSpec
from evaluator.core.values import encode
from evaluator.execution.doctor.command import doctor
from evaluator.execution.doctor.examining import examine, shortened
from evaluator.execution.doctor.inputs import item_for, tool_named
from evaluator.execution.doctor.profiles import OwnWeights, RandomWeights, examine_profile, tools_with_weights
from evaluator.execution.experts.profile import load_profile
from evaluator.execution.random_weights.building import Size

TOOL = "Image Denoising"


class OnFakeCard:
    """Inverts pictures; on `cuda`, one level off where its fault says so."""

    def __init__(self, fault, *, device, batch_size):
        self.fault, self.device, self.batch_size, self.runs = fault, device, batch_size, 0

    def run(self, batch):
        self.runs += 1
        assert len(batch) == self.batch_size
        return [{"image": self.one(item["image"], place=place, batch=batch)} for place, item in enumerate(batch)]

    def one(self, image, *, place, batch):
        off = {
            "": 0,
            "position": place,
            "company": len({encode(item["image"]).digest for item in batch}),
            "repeat": self.runs,
            "cpu": 30,
        }[self.fault]
        off = off if self.device == "cuda" else 0
        return Image.fromarray(255 - np.maximum(np.asarray(image.convert("RGB")), off))


def examined(fault="", *, with_cpu=True, batch_size=4, device="cuda", **changes):
    spec = ExpertSpec(
        tool=TOOL, id="fake", implementation="fake", path=Path("nowhere"), weights_digest="0", batch_size=batch_size,
        **changes,
    )  # fmt: skip
    loads = []

    def load(*, spec, device):
        loads.append((device, spec.batch_size))
        return OnFakeCard(fault, device=device, batch_size=spec.batch_size)

    return examine(spec=spec, device=device, with_cpu=with_cpu, load=load), loads


def test_an_independent_expert_is_right_and_the_cpu_computes_alone():
    found, loads = examined(tolerance=0.0)
    assert (found.repeatable, found.position, found.padding, found.difference) == (True, True, True, 0.0)
    assert found.is_right
    assert loads == [("cuda", 4), ("cpu", 1)]


@pytest.mark.parametrize(
    ("fault", "findings"),
    [
        ("repeat", (False, False, False)),
        ("position", (True, False, True)),
        ("company", (True, True, False)),
    ],
)
def test_what_depends_on_the_batch_or_the_run_is_found(fault, findings):
    found, _ = examined(fault, with_cpu=False)
    assert (found.repeatable, found.position, found.padding) == findings
    assert not found.is_right


def test_an_expert_that_is_declared_to_depend_on_its_position_runs_alone_there_and_is_right():
    found, loads = examined("position", with_cpu=False, alone=("cuda",))
    assert loads == [("cuda", 1)]
    assert (found.batch_size, found.position, found.padding, found.is_right) == (1, None, None, True)
    found, loads = examined("position", device="cpu", alone=("cuda",))
    assert (loads, found.position) == ([("cpu", 4)], True)


@pytest.mark.parametrize(("tolerance", "is_right"), [(None, True), (0.2, True), (0.001, False)])
def test_the_difference_to_a_cpu_is_judged_by_the_declared_tolerance(tolerance, is_right):
    found, _ = examined("cpu", tolerance=tolerance)
    assert 0.001 < found.difference < 0.2
    assert found.is_right is is_right


def test_an_expert_that_cannot_be_loaded_or_run_has_a_problem():
    def load(*, spec, device):
        raise OSError("no such file")

    spec = ExpertSpec(tool=TOOL, id="fake", implementation="fake", path=Path("x"), weights_digest="0")
    found = examine(spec=spec, device="cuda", with_cpu=False, load=load)
    assert (found.problem, found.is_right, found.repeatable) == ("OSError: no such file", False, None)


def test_made_up_inputs_exist_for_every_tool_and_depend_on_their_number():
    tools = {tool for name in ("paper", "lilliput") for tool in load_profile(name).experts}
    # Tools with the same inputs get the same ones.
    of_inputs = {tuple(tool_named(tool).inputs.items()): tool for tool in sorted(tools)}
    assert len(of_inputs) > 10
    for tool in of_inputs.values():
        items = [item_for(tool, number=number) for number in (0, 0, 1)]
        first, same, other = ({key: encode(value).digest for key, value in item.items()} for item in items)
        assert first == same != other


def test_generation_is_shortened_and_never_lengthened():
    spec = load_profile("paper").experts["Text to Image Generation"]
    assert shortened(spec).parameters["steps"] == 4
    assert shortened(replace(spec, parameters={"steps": 2, "output": "steps"})).parameters["steps"] == 2


def test_random_weights_are_built_for_each_tool_and_deleted_when_no_other_needs_them(tmp_path, one_thread):
    profile, seen = load_profile("paper"), []
    weights = RandomWeights(profile=profile, folder=tmp_path, device="cpu", size=Size.SMALL, report=seen.append)
    tools = ["hed_text_to_image", "scribble_text_to_image", "Fill Mask"]
    for found in examine_profile(profile=profile, weights=weights, tools=tools, device="cpu"):
        assert found.is_right, found
    assert seen == ["fill-mask", "controlnet-hed", "stable-diffusion-15", "controlnet-scribble"]
    assert [path.name for path in tmp_path.iterdir()] == ["lock.json"]


def test_experts_that_time_does_not_allow_are_reported():
    profile = load_profile("lilliput")
    (found,) = examine_profile(
        profile=profile, weights=OwnWeights(profile), tools=["Fill Mask"], device="cpu", seconds=-1.0
    )
    assert found.problem.startswith("not examined within")


def test_experts_by_rules_are_not_examined():
    tools = tools_with_weights(load_profile("paper"))
    assert "image_to_pose" in tools
    assert not {"select_bbox", "image_to_edge"} & {*tools}


def run_command(*arguments):
    import typer

    app = typer.Typer()
    app.command()(doctor)
    return CliRunner().invoke(app, list(arguments))


def test_the_command_prints_a_table_and_json_and_says_by_its_code_whether_the_profile_holds(tmp_path, one_thread):
    tools = "Machine Translation,Sentiment Analysis"
    file = tmp_path / "report.json"
    done = run_command("--tools", tools, "--output", str(file))
    assert (done.exit_code, "2 of 2 experts are as the profile declares" in done.output) == (0, True)
    report = json.loads(file.read_text())
    assert report["holds"]
    assert [expert["tool"] for expert in report["experts"]] == sorted(tools.split(","))
    assert report["device"]["kind"] == "cpu"
    done = run_command("--profile", "paper", "--tools", "Fill Mask")
    assert (done.exit_code, "run `planarena profiles fetch paper`" in done.output) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tools", "nothing"], "profile lilliput has no expert for 'nothing'"),
        (["--random-weights"], "the weights of lilliput are shipped"),
        (["--small", "--profile", "paper"], "--small needs --random-weights"),
        (["--device", "cuda"], "--device cuda: "),
    ],
)
def test_wrong_options_are_refused(arguments, message):
    done = run_command(*arguments)
    assert (done.exit_code, message in done.output) == (2, True)
