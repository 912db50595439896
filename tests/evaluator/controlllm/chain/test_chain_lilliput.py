"""Whole chains on the miniature world, with the experts that come with PlanArena."""

import pytest

from evaluator.controlllm.chain.command import transcript
from evaluator.controlllm.chain.requests import request_of_task
from evaluator.controlllm.chain.running import ChainRunner, chain_planner
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.base import Setting, episode_of
from evaluator.execution.engine.pool import ExpertPool
from evaluator.execution.engine.run import Engine
from evaluator.execution.engine.store import MemoryStore


@pytest.fixture(scope="module")
def prepared():
    setting = Setting(split="validation", profile="lilliput", samples=2, open_store=MemoryStore)
    return episode_of("toolworld").prepared(suite=suite_of("toolworld"), setting=setting)


@pytest.fixture(scope="module")
def engine(prepared):
    return Engine(pool=ExpertPool(profile=prepared.profile), store=MemoryStore(), salt="toolworld")


@pytest.fixture
def serve(prepared, engine):
    strategy, _ = chain_planner("controlllm/adaptive")

    def run(key, *, sample=0, correcting=True, declining=True):
        asked = request_of_task(prepared=prepared, key=key, sample=sample)
        return asked, ChainRunner(strategy=strategy, engine=engine).run(
            asked, correcting=correcting, declining=declining
        )

    return run


def test_a_request_of_two_parts_is_served_whole(serve):
    asked, end = serve("compound_instructions/5")
    assert "Cut out" in asked.request.task.request
    assert end.is_complete
    assert end.corrections == ()
    assert [*end.results] == ["result-1-image.png", "result-2-edge.png"]
    assert all(name in end.response for name in end.results)
    assert [entry.maker for entry in end.state.entries()][:2] == ["", ""]


def test_boxes_of_another_size_than_the_picture_are_put_on_the_picture_that_they_are_of(serve):
    _, planned = serve("image_editing/1", correcting=False, declining=False)
    assert not planned.is_complete
    assert "they must be equal" in planned.progress[0].why
    _, end = serve("image_editing/1", declining=False)
    (correction,) = end.corrections
    assert (correction.problem, correction.helped) == ("unfit input", True)
    assert correction.what.endswith("-> kitchen_003.png")
    assert end.is_complete


def test_what_is_to_be_cut_out_along_its_outline_is_not_highlighted(serve):
    _, end = serve("image_editing/1")
    assert end.is_complete
    assert end.corrections == ()
    tools = [action.tool.name for action in end.progress[0].solution]
    assert tools[-1] == "mask_image"
    assert "highlight_object_on_image" not in tools


def test_the_transcript_holds_every_stage(serve):
    asked, end = serve("image_editing/1", declining=False)
    document = transcript(request=asked.request, planner="controlllm/adaptive", finished=end)
    assert document["decomposition"]["subtasks"][0]["args"][0] == {"type": "image", "value": "kitchen_003.png"}
    assert document["search"][0]["candidates"]
    assert [step["error"] is None for step in document["rounds"][0]].count(False) == 1
    assert all(step["error"] is None for step in document["rounds"][-1])
    assert document["corrections"][0]["outcome"] == "it ran"
    assert {entry["reference"] for entry in document["state"]} >= {"kitchen_003.png", "<GENERATED>-0"}
    assert document["results"]["result-1-image.png"]["reference"] == "<GENERATED>-0"
    assert "result-1-image.png" in document["response"]
    assert document["plan"]


@pytest.mark.parametrize("key", ["compound_instructions/5", "image_editing/1", "image_detection/0"])
def test_responses_of_the_rules_are_faithful_complete_and_claim_only_what_ran(serve, key):
    asked, end = serve(key)
    scores = end.response_scores(asked.request).to_json()
    assert scores["why"] == {}, end.response
