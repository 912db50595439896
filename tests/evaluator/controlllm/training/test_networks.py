"""Training the two networks: resumable to the same weights, and what is written is read again."""

from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

from evaluator.controlllm.strategies.trained.kinds import KINDS
from evaluator.controlllm.strategies.trained.linear import written
from evaluator.controlllm.strategies.trained.networks import Decomposer, Scorer
from evaluator.controlllm.training.decomposer import HELD_OUT, Order, Shape, distinct_pairs, train_decomposer
from evaluator.controlllm.training.scorer import ScorerOrder, scored_paths, scored_tools, train_scorer
from evaluator.replies.decomposition import parse_decomposition

pytestmark = pytest.mark.full

TINY = Shape(width=16, feed_forward=16, layers=1, heads=2)


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """Both networks, tiny and hardly trained: of the decomposer in one run, of the scorer too."""
    folder = tmp_path_factory.mktemp("controlllm")
    assert train_decomposer(Order(out=folder / "decomposer", steps=4, size=60, shape=TINY)) is not None
    assert train_scorer(ScorerOrder(out=folder / "scorer", steps=3, size=40, width=16, layers=1)) is not None
    return folder


def test_an_interrupted_decomposer_ends_with_the_same_weights(work, tmp_path):
    order = Order(out=tmp_path / "decomposer", steps=4, size=60, shape=TINY, stop_after=2)
    assert train_decomposer(order) is None
    assert train_decomposer(replace(order, stop_after=None, resume=True)) == order.out
    whole, resumed = (load_file(folder / "decomposer" / "model.safetensors") for folder in (work, tmp_path))
    assert whole.keys() == resumed.keys()
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)


def test_even_a_network_that_learnt_nothing_writes_decompositions_by_the_protocol(work):
    decomposer = Decomposer.from_folder(work / "decomposer")
    for pair in distinct_pairs(size=6, seed=HELD_OUT):
        text = written(subtasks=decomposer.decompose(pair.reading), reading=pair.reading)
        assert parse_decomposition(text).subtasks
        assert not parse_decomposition(text).tolerated


def test_scores_of_the_scorer_are_from_1_to_5(work):
    scores = Scorer.from_folder(work / "scorer").scores([["<begin>", "<tool>", "draw", "a", "zebrafish"], ["x"] * 500])
    assert all(1 <= score <= 5 for score in scores)
    assert Scorer.from_folder(work / "scorer").scores([]) == []


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_has_a_tool_and_a_solution_with_the_best_score(name):
    tools = {tool.name: score for tool, score in scored_tools(name)}
    assert {tool for tool, score in tools.items() if score == 5} == set(KINDS[name].chains[0].split())
    paths = {" ".join(tool.name for tool in path): score for path, score in scored_paths(name)}
    assert [path for path, score in paths.items() if score == 5] == [KINDS[name].chains[0]]
    assert all(paths[chain] == 4 for chain in KINDS[name].chains[1:])
