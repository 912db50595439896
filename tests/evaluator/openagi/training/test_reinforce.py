import pytest
import torch

from evaluator.openagi.strategies.constrained import Constrained, Nonlinear
from evaluator.openagi.training.episodes import Sampling, draw_episodes
from evaluator.openagi.training.reinforce import MovingAverage, plan_log_probabilities, surrogate
from tests.evaluator.openagi.training.models import request, tiny_model

pytestmark = pytest.mark.full

BOTH = ("Image Denoising", "Image Deblurring")


def test_the_baseline_is_the_moving_average_of_earlier_rewards():
    baseline = MovingAverage(momentum=0.9)
    baseline.update([0.2, 0.4])
    assert baseline.value == pytest.approx(0.3)
    baseline.update([1.0])
    assert baseline.value == pytest.approx(0.9 * 0.3 + 0.1 * 1.0)


def test_a_step_makes_the_better_of_two_plans_more_probable():
    model = tiny_model()
    asked = [request("4", tools=BOTH)] * 12
    episodes = draw_episodes(model=model, strategy=Constrained(), requests=asked, seed=0)
    plans = [episode.plan for episode in episodes]
    good = max(set(plans), key=plans.count)
    assert len(set(plans)) > 1
    module = model.network.module
    optimizer = torch.optim.SGD(module.parameters(), lr=0.5)
    before = plan_log_probabilities(network=model.network, episodes=episodes).detach()
    rewards = [1.0 if plan == good else 0.0 for plan in plans]
    logs = plan_log_probabilities(network=model.network, episodes=episodes)
    surrogate(log_probabilities=logs, advantages=[reward - 0.5 for reward in rewards]).backward()
    optimizer.step()
    after = plan_log_probabilities(network=model.network, episodes=episodes).detach()
    assert after[plans.index(good)] > before[plans.index(good)]
    others = torch.tensor([plan != good for plan in plans])
    assert after[others].exp().sum() < before[others].exp().sum()


def test_the_probabilities_of_all_plans_sum_to_one():
    model = tiny_model()
    asked = [request("4", tools=BOTH)] * 60
    episodes = draw_episodes(model=model, strategy=Constrained(), requests=asked, seed=1)
    distinct = {episode.plan: episode for episode in episodes}
    assert set(distinct) == {BOTH[0], BOTH[1], ", ".join(BOTH), ", ".join(BOTH[::-1])}
    logs = plan_log_probabilities(network=model.network, episodes=list(distinct.values()))
    assert float(logs.detach().exp().sum()) == pytest.approx(1.0, abs=1e-5)
    for plan, log in zip(distinct, logs.tolist(), strict=True):
        share = sum(episode.plan == plan for episode in episodes) / len(episodes)
        assert share == pytest.approx(torch.tensor(log).exp().item(), abs=0.25)


def test_a_tree_is_one_plan_whose_probability_is_that_of_all_its_calls():
    model = tiny_model()
    (episode,) = draw_episodes(model=model, strategy=Nonlinear(), requests=[request("117")], seed=0)
    assert episode.is_over
    assert episode.plan.startswith("(")
    assert len(episode.choices) >= 3
    (whole,) = plan_log_probabilities(network=model.network, episodes=[episode]).tolist()
    parts = []
    for choice in episode.choices:
        alone = type(episode)(task="117", choices=[choice])
        parts += plan_log_probabilities(network=model.network, episodes=[alone]).tolist()
    assert whole == pytest.approx(sum(parts), abs=1e-4)


def test_a_plan_is_drawn_among_the_beams_that_a_test_would_search():
    model = tiny_model()
    asked = [request("4", tools=BOTH)] * 200
    strategy = Constrained(beams=2)
    (call,) = next(strategy.converse(asked[0]))
    (found,) = model.answer([call])
    episodes = draw_episodes(model=model, strategy=strategy, requests=asked, seed=0, sampling=Sampling.BEAMS)
    searched = [", ".join(beam.names) for beam in found.beams]
    assert {episode.plan for episode in episodes} == set(searched)
    odds = torch.tensor([beam.log_probability for beam in found.beams]).softmax(dim=0).tolist()
    for plan, share in zip(searched, odds, strict=True):
        assert sum(episode.plan == plan for episode in episodes) / len(episodes) == pytest.approx(share, abs=0.1)
