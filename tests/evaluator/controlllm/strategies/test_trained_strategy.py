"""`controlllm/trained` with the networks that ship: it loads, it plans our own requests, and bad input does no harm."""

import json
import shutil

import pytest

from evaluator.controlllm.strategies.trained import networks
from evaluator.controlllm.strategies.trained.networks import DECOMPOSER, SCORER, WEIGHTS, shipped_folder, shipped_scorer
from evaluator.controlllm.strategies.trained.strategy import TrainedControlLLM, trained_decomposition
from evaluator.controlllm.toolbench.judging import judge
from evaluator.core.planner import Expected, request_for
from evaluator.core.suites.registry import suite_of
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.episodes.judgement import all_tools
from evaluator.execution.experts.weights import weights_digest
from evaluator.planners.named import planner_named
from evaluator.planners.strategies.registry import PlannerNameError
from evaluator.replies.decomposition import parse_decomposition
from evaluator.scoring.metrics.decomposition import judge_decomposition
from tests.evaluator.controlllm.strategies.tog_factories import converse, request, subtask
from tests.rings import usual

FIFTEEN_MEGABYTES = 15_000_000
LEAST_RIGHT, LEAST_SOLVED = 0.5, 0.55
"""Of what is measured on all of them, less what a sample of thirty may miss."""


def test_both_networks_are_small_and_locked_and_have_a_card():
    lock = json.loads((WEIGHTS / "lock.json").read_text())
    folders = {name: shipped_folder(name) for name in (DECOMPOSER, SCORER)}
    assert {name: weights_digest(folder) for name, folder in folders.items()} == lock
    for folder in folders.values():
        card = (folder / "card.md").read_text()
        assert "Apache-2.0" in card
        assert "planarena train controlllm" in card
    files = [path for folder in folders.values() for path in folder.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < FIFTEEN_MEGABYTES
    identity = planner_named(name="controlllm/trained", suite=suite_of("toolmini")).identity()
    assert (identity["strategy"], identity["weights"]) == ("controlllm/trained", lock)


@pytest.mark.parametrize("name", [DECOMPOSER, SCORER])
def test_with_other_weights_it_is_another_planner(name, tmp_path, monkeypatch):
    before = planner_named(name="controlllm/trained", suite=suite_of("toolmini")).identity()
    weights = tmp_path / "weights"
    shutil.copytree(WEIGHTS, weights)
    monkeypatch.setattr(networks, "WEIGHTS", weights)
    assert planner_named(name="controlllm/trained", suite=suite_of("toolmini")).identity() == before
    with (weights / name / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        last = file.read(1)
        file.seek(-1, 2)
        file.write(bytes([last[0] ^ 1]))
    after = planner_named(name="controlllm/trained", suite=suite_of("toolmini")).identity()
    changed = {one for one, digest in before["weights"].items() if after["weights"][one] != digest}
    assert changed == {name}


def sampled():
    """Some of our own requests, with their tasks."""
    suite = suite_of("toolmini")
    return [(task, request_for(suite=suite, task=task, context=all_tools(suite=suite, task=task)))
            for task in suite.tasks[::4]]  # fmt: skip


@pytest.mark.full
def test_as_many_decompositions_of_our_own_requests_are_right_as_measured():
    right = [judge_decomposition(predicted=trained_decomposition(asked), gold=task.decomposition).right
             for task, asked in sampled()]  # fmt: skip
    assert sum(right) >= LEAST_RIGHT * len(right)


@pytest.mark.full
def test_as_many_of_its_plans_for_our_own_requests_solve_them_as_measured():
    suite = suite_of("toolmini")
    planner = planner_named(name="controlllm/trained", suite=suite)
    solved = [judge(suite=suite, task=task, value=planner.plan(asked).plan).judgement.SE for task, asked in sampled()]
    assert sum(solved) >= LEAST_SOLVED * len(solved)


def test_the_plan_for_a_request_that_nobody_wrote_before():
    draft, rounds = converse(
        TrainedControlLLM().converse(request("Remove the wug from quux.png, please.", quux_png="image")), str
    )
    assert rounds == []
    tools = [step["tool_name"] for steps in draft.plan for step in steps]
    assert tools == ["image_instance_segmentation", "select_mask", "image_inpainting"]
    assert draft.notes["decomposition"]["by"] == DECOMPOSER
    text = draft.notes["decomposition"]["subtasks"][0]["args"][1]
    assert text == {"type": "text", "value": "wug"}


ODD = ["word " * 10_000, "?!", "", "\n\x00\ue000", "Remove the dog from a.png"]


@pytest.mark.parametrize("text", usual(ODD, of=["", "Remove the dog from a.png"]))
def test_requests_that_make_no_sense_or_give_no_file_are_decomposed_all_the_same(text):
    parse_decomposition(trained_decomposition(request(text)))
    draft, _ = converse(TrainedControlLLM().converse(request(text)), str)
    assert isinstance(draft.plan, list)


def test_the_tool_that_is_asked_for_scores_more_than_one_that_only_fits():
    scorer = shipped_scorer()
    wanted = subtask("Use the `image_to_depth` tool on a.png and give the depth map.", domains=("image-processing",),
                     returns="depth", image="a.png")  # fmt: skip
    named, other = scorer.tools(subtask=wanted, tools=[CONTROLLLM["image_to_depth"], CONTROLLLM["image_to_edge"]])
    assert named > 4 > 3 > other


@pytest.mark.full
def test_a_count_is_asked_for_once_where_the_request_says_how_many_results_it_expects():
    counting = request("How many dogs are there in a.png?", a_png="image")
    both, _ = converse(TrainedControlLLM().converse(counting), str)
    assert [steps[-1]["tool_name"] for steps in both.plan] == ["count_objects", "image_question_answering"]
    one, _ = converse(TrainedControlLLM().converse(counting.model_copy(update={"expects": Expected(type="text")})), str)
    assert one.plan == both.plan[:1]


def test_it_takes_no_language_model():
    with pytest.raises(PlannerNameError, match="works without a language model"):
        planner_named(name="controlllm/trained:chat:http://127.0.0.1/v1#m", suite=suite_of("toolmini"))
