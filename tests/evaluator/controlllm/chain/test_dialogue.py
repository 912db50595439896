"""Dialogues with the chain: later requests use earlier results by name, or as "it"."""

import json

import pytest
from PIL import Image as PillowImage
from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.controlllm.chain.dialogue import Dialogue
from evaluator.controlllm.chain.requests import FileError, GivenFile
from evaluator.controlllm.chain.running import ChainRunner, chain_planner
from evaluator.core.suites.registry import suite_of
from evaluator.core.tools.types import ResourceType
from evaluator.core.values import Boxes
from evaluator.episodes.base import Setting, episode_of
from evaluator.execution.engine.pool import ExpertPool
from evaluator.execution.engine.run import Engine
from evaluator.execution.engine.store import MemoryStore


@pytest.fixture(scope="module")
def prepared():
    setting = Setting(split="validation", profile="lilliput", samples=1, open_store=MemoryStore)
    return episode_of("toolworld").prepared(suite=suite_of("toolworld"), setting=setting)


@pytest.fixture(scope="module")
def engine(prepared):
    return Engine(pool=ExpertPool(profile=prepared.profile), store=MemoryStore(), salt="dialogue")


@pytest.fixture
def scene(prepared):
    """A picture of the miniature world."""
    task = next(task for task in prepared.suite.tasks if set(task.resources.values()) == {ResourceType.IMAGE})
    (value,) = prepared.samples.inputs(task=task, index=0).values()
    return GivenFile(name="scene.png", type=ResourceType.IMAGE, value=value)


@pytest.fixture
def dialogue(prepared, engine, scene):
    strategy, _ = chain_planner("controlllm/adaptive")
    runner = ChainRunner(strategy=strategy, engine=engine)
    return Dialogue(runner=runner, engine=engine, profile=prepared.profile, files=[scene])


def test_later_requests_use_results_as_it_and_by_name(dialogue):
    _, first = dialogue.say("Make the edge map of scene.png.")
    assert [*first.results] == ["result-1-1.png"]
    asked, second = dialogue.say("Now describe it.")
    assert dict(asked.request.task.resources) == {"result-1-1.png": "edge"}
    assert "result-2-1.txt" in second.results or not second.is_complete
    asked, third = dialogue.say("Describe scene.png.")
    assert [*asked.request.task.resources] == ["scene.png"]
    assert [*third.results] == ["result-3-1.txt"]
    asked, _ = dialogue.say("Describe result-1-1.png again.")
    assert [*asked.request.task.resources] == ["result-1-1.png"]


def test_them_are_all_results_of_the_latest_turn(dialogue):
    _, first = dialogue.say("Make the edge map of scene.png and describe scene.png.")
    assert len(first.results) == 2
    asked, _ = dialogue.say("Describe them.")
    assert [*asked.request.task.resources] == [*first.results]


def test_a_request_that_does_not_refer_back_gets_the_first_files(dialogue):
    dialogue.say("Make the edge map of scene.png.")
    asked, _ = dialogue.say("How many objects are there?")
    assert [*asked.request.task.resources] == ["scene.png"]


@pytest.mark.parametrize(
    ("text", "refers_back"),
    [
        ("Crop that.", True), ("Turn this into an edge map.", True), ("Describe that, please.", True),
        ("Now describe that picture.", True), ("Count the people that wear hats.", False),
        ("How many stars are there that are red?", False),
    ],
)  # fmt: skip
def test_that_and_this_refer_back_where_they_stand_for_a_thing(dialogue, text, refers_back):
    dialogue.say("Make the edge map of scene.png.")
    (meant,) = dialogue._meant(text)
    assert meant.name == ("result-1-1.png" if refers_back else "scene.png")


def test_a_result_without_its_ending_is_said_to_be_none(dialogue):
    dialogue.say("Make the edge map of scene.png.")
    with pytest.raises(ValueError, match=r"'result-1-1' is no name of a result, .*: result-1-1.png"):
        dialogue.say("Describe result-1-1.")


def test_a_result_that_does_not_exist_is_named(dialogue):
    dialogue.say("Make the edge map of scene.png.")
    with pytest.raises(ValueError, match=r"the request names result-1-2.png"):
        dialogue.say("Describe result-1-2.png.")


def test_after_a_turn_without_results_it_is_still_the_latest_result(dialogue):
    dialogue.say("Make the edge map of scene.png.")
    _, declined = dialogue.say("Print it.")
    assert declined.results == {}
    asked, _ = dialogue.say("Describe it.")
    assert [*asked.request.task.resources] == ["result-1-1.png"]


def test_results_of_any_type_are_files_of_later_turns(dialogue):
    _, first = dialogue.say("Detect all objects in scene.png.")
    (name,) = first.results
    assert name == "result-1-1.json"
    asked, _ = dialogue.say(f"Count the boxes in {name}.")
    assert isinstance(asked.files[name], Boxes)


def test_a_file_with_the_name_of_a_result_and_an_endless_request_are_refused(dialogue, prepared, engine, scene):
    strategy, _ = chain_planner("controlllm/adaptive")
    taken = GivenFile(name="result-1-1.png", type=scene.type, value=scene.value)
    with pytest.raises(FileError, match="is that of a result"):
        Dialogue(
            runner=ChainRunner(strategy=strategy, engine=engine), engine=engine, profile=prepared.profile, files=[taken]
        )
    with pytest.raises(ValueError, match="at most 10000"):
        dialogue.say("x" * 10_001)


def call(*arguments):
    return CliRunner().invoke(app, ["chain", *map(str, arguments)])


@pytest.fixture
def picture(tmp_path):
    path = tmp_path / "a.png"
    PillowImage.new("RGB", (64, 64), (200, 200, 200)).save(path)
    return path


def test_the_command_holds_a_dialogue_up_to_the_first_request_that_is_not_complete(picture, tmp_path):
    out = tmp_path / "out"
    found = call(
        "Make the edge map of a.png.", "--then", "Make the depth map of a.png.", "--then", "Print it.",
        "--then", "Describe it.", "--file", picture, "--out", out, "--json",
    )  # fmt: skip
    assert found.exit_code == 1, found.output
    document = json.loads(found.stdout)
    assert document["version"] == "chain-dialogue/1"
    assert [turn["outcome"] for turn in document["turns"]] == ["complete", "complete", "declined"]
    assert sorted(path.name for path in out.iterdir()) == ["result-1-1.png", "result-2-1.png"]
    assert "result-2-1.png" in document["turns"][1]["response"]


def test_a_dialogue_about_a_task_of_a_suite_is_refused():
    found = call("--suite", "toolworld", "--task", "count_object/4", "--then", "Describe it.")
    assert found.exit_code == 2
    assert "--then goes with a request" in found.output
