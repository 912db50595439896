"""The example for TRL with a trainer that speaks TRL's interface; TRL itself is not installed here."""

import importlib.util
import json
import sys

import pytest
import torch

from evaluator.core.suites.registry import suite_of
from evaluator.rewards import PlanReward
from tests.processes import ROOT
from tests.toy_trl import toy_trl

pytestmark = pytest.mark.full


class ShortPlans:
    """Rewards plans for their brevity, without executing them."""

    def of(self, proposals):
        return [1.0 if 0 < len(plan) < 30 else 0.0 for _, plan in proposals]


@pytest.fixture
def module(monkeypatch):
    monkeypatch.setitem(sys.modules, "trl", toy_trl())
    spec = importlib.util.spec_from_file_location("grpo", ROOT / "examples" / "training" / "grpo_with_trl.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    monkeypatch.setattr(
        found, "reward_function", lambda *, suite: PlanReward(suite=suite_of(suite), rewards=ShortPlans())
    )
    return found


def test_the_data_set_has_the_keys_that_the_reward_needs(module):
    suite = suite_of(module.SUITE)
    rows = list(module.data_set(count=16))
    assert len({row["task"] for row in rows}) == 16
    for row in rows:
        assert row["prompt"] == suite.task(row["task"]).text
        assert len(suite.task(row["task"]).resources) == 1


def test_the_reward_goes_up(module, tmp_path):
    course = module.train(
        model="lilliput-planner", out=tmp_path / "out", tasks=4, generations=8, steps=12, rate=2e-3, seed=0
    )
    assert json.loads((tmp_path / "out" / "course.json").read_text()) == course
    assert sum(course[-4:]) > sum(course[:4]) + 0.4
    assert (tmp_path / "out" / "model.safetensors").is_file()


def test_log_probabilities_are_of_the_completion_alone(module, tmp_path):
    seen = {}

    class Watching(module.SequenceToSequenceGRPO):
        def _get_per_token_logps_and_entropies(self, model, ids, mask, kept, **more):
            logs, entropies, rest = super()._get_per_token_logps_and_entropies(
                model, ids, mask, kept, compute_entropy=True, **more
            )
            seen.update(kept=kept, logs=logs, entropies=entropies, ids=ids)
            return logs, entropies, rest

    module.SequenceToSequenceGRPO = Watching
    module.train(model="lilliput-planner", out=tmp_path, tasks=1, generations=4, steps=1, rate=0.0, seed=0)
    assert seen["logs"].shape == seen["entropies"].shape == (4, seen["kept"])
    assert bool((seen["logs"] <= 0).all())
    assert bool((seen["entropies"] >= 0).all())
    # What was drawn from the model is not improbable under it, as it would be one place off.
    written = seen["ids"][:, -seen["kept"] :] != 0
    assert float(seen["logs"].detach()[written].mean()) > -2.0
    assert torch.isfinite(seen["logs"]).all()
