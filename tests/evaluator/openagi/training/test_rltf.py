import pytest
import torch

from evaluator.core.language_model import Failure, FailureKind
from evaluator.openagi.strategies.constrained import Constrained
from evaluator.openagi.training.rltf import Schedule, train_by_feedback
from tests.evaluator.openagi.training.models import ToyRewards, request, tiny_model

pytestmark = pytest.mark.full

TOOLS = ("Image Denoising", "Colorization")


def prefers_colours(task, plan):
    return 1.0 if plan == "Colorization" else 0.0


def run(model, checkpoint, *, score=prefers_colours, resume=False, stop_after=None, **settings):
    schedule = Schedule(**{"steps": 4, "samples": 3, "learning_rate": 0.01, "checkpoint_every": 1, **settings})
    return train_by_feedback(
        model=model,
        strategy=Constrained(),
        requests=[request("4", tools=TOOLS)],
        rewards=ToyRewards(score),
        schedule=schedule,
        checkpoint=checkpoint,
        resume=resume,
        stop_after=stop_after,
    )


def weights(model):
    return {name: value.clone() for name, value in model.network.module.state_dict().items()}


def test_task_feedback_raises_the_reward(tmp_path):
    curve = run(tiny_model(), tmp_path / "c", steps=14, samples=8, learning_rate=0.02)
    first, last = (sum(point.reward for point in part) / len(part) for part in (curve[:4], curve[-4:]))
    assert last > first + 0.2


def test_a_resumed_run_ends_with_the_same_weights_and_curve(tmp_path):
    straight, interrupted, resumed = tiny_model(), tiny_model(), tiny_model(seed=1)
    curve = run(straight, tmp_path / "a.safetensors")
    run(interrupted, tmp_path / "b.safetensors", stop_after=2)
    again = run(resumed, tmp_path / "b.safetensors", resume=True)
    assert again == curve
    assert all(torch.equal(value, weights(resumed)[name]) for name, value in weights(straight).items())


def test_what_the_infrastructure_failed_at_is_not_learnt_from(tmp_path):
    flaky = iter([None, 0.5] * 100)
    curve = run(tiny_model(), tmp_path / "c", score=lambda task, plan: next(flaky), samples=4, steps=2)
    assert [point.reward for point in curve] == [0.5, 0.5]
    with pytest.raises(RuntimeError, match="none of 3 plans could be scored"):
        run(tiny_model(), tmp_path / "d", score=lambda task, plan: None)


def test_a_model_that_fails_to_answer_leaves_an_episode_without_plan(tmp_path):
    model = tiny_model()
    answer = model.answer

    def failing(calls):
        return [Failure(kind=FailureKind.UNAVAILABLE, message="Out of memory."), *answer(calls[1:])]

    model.answer = failing
    rewards = ToyRewards(prefers_colours)
    train_by_feedback(
        model=model,
        strategy=Constrained(),
        requests=[request("4", tools=TOOLS)],
        rewards=rewards,
        schedule=Schedule(steps=1, samples=3),
        checkpoint=tmp_path / "c",
        resume=False,
    )
    assert len(rewards.asked) == 2
