import dataclasses

import pytest

from evaluator.core.expert import ExpertError
from evaluator.core.suites.hidden import HIDDEN
from evaluator.core.suites.registry import default_suite, step_by_step_of, suite_names, suite_of
from evaluator.episodes.base import SettingError, episode_of
from evaluator.rewards import ExecutedRewards, PlanReward, SplitRefusedError, reward_function, training_split
from tests.evaluator.test_evaluation import CAPTION, GRAY_ONLY, LABEL, LOW_ONLY, SUITE, evaluator, experts
from tests.rings import usual

EXECUTING = ("openagi", "openagi-season", "openagi-shifted", "pointmini", "soundworld", "toolworld")


class Fixed:
    """Gives rewards without executing, and records the proposals."""

    def __init__(self):
        self.asked = []

    def of(self, proposals):
        self.asked += proposals
        return [0.5 for _ in proposals]


def made(**settings):
    return PlanReward(suite=SUITE, rewards=ExecutedRewards(evaluator()), **settings)


def test_a_completion_is_rewarded_by_the_score_of_its_plan():
    result = made()(
        prompts=["a", "b", "b"],
        completions=["Colorization", "Image Super Resolution", "I do not know"],
        task=[GRAY_ONLY, LOW_ONLY, LOW_ONLY],
        trainer_state=None,
        completion_ids=[[1], [2], [3]],
    )
    assert result == [1.0, 0.5, 0.0]


def test_of_a_chat_the_last_message_counts():
    chat = [{"role": "assistant", "content": "let me think"}, {"role": "assistant", "content": "Colorization"}]
    assert made()(prompts=[[]], completions=[chat], task=[GRAY_ONLY]) == [1.0]
    assert made()(prompts=[[]], completions=[[]], task=[GRAY_ONLY]) == [0.0]
    with pytest.raises(ValueError, match="no text"):
        made()(prompts=[[]], completions=[[{"role": "assistant", "tool_calls": []}]], task=[GRAY_ONLY])


def test_all_completions_are_scored_together():
    rewards = Fixed()
    reward = PlanReward(suite=SUITE, rewards=rewards)
    reward(prompts=["a", "b"], completions=["x", "y"], task=["0", 1])
    assert rewards.asked == [("0", "x"), ("1", "y")]
    assert reward.__name__ == "openagi_reward", "TRL names its metrics after the function"


def test_the_column_of_the_tasks_may_have_another_name_and_must_hold_tasks():
    reward = made(column="key")
    assert reward(prompts=[""], completions=["Colorization"], key=[GRAY_ONLY], task=["nothing"]) == [1.0]
    with pytest.raises(ValueError, match="needs a column 'key'"):
        reward(prompts=[""], completions=["Colorization"], task=[GRAY_ONLY])
    with pytest.raises(ValueError, match="1 prompts, 1 completions and 2 tasks"):
        reward(prompts=[""], completions=["Colorization"], key=["0", "1"])
    with pytest.raises(LookupError, match="no task 'nothing'"):
        made()(prompts=[""], completions=["Colorization"], task=["nothing"])


def test_these_are_the_suites_that_execute_whole_plans():
    executing = {name for name in suite_names() if suite_of(name).conditions.experts and not episode_of(name).in_turns}
    assert executing == set(EXECUTING)


@pytest.mark.parametrize("slug", usual(EXECUTING, of=("openagi",)))
def test_every_suite_that_executes_plans_rewards_its_gold_plans(slug, tmp_path):
    suite = suite_of(slug)
    linear = [task for task in suite.tasks if task.gold and len(task.gold.steps) == 1][:2]
    reward = reward_function(suite=slug, samples=1, store=str(tmp_path / "store"))
    plans = [task.gold.steps[0].tool for task in linear]
    result = reward(prompts=plans, completions=plans, task=[task.key for task in linear])
    assert len(result) == 2
    assert all(0.3 < value <= 1 for value in result)


@pytest.mark.parametrize("slug", EXECUTING)
def test_data_of_boards_are_refused(slug):
    for split in (HIDDEN, "public"):
        with pytest.raises(SplitRefusedError, match=f"may not learn from the split '{split}' of {slug}, only from"):
            reward_function(suite=slug, split=split)


def test_rewards_need_executed_whole_plans_and_training_data():
    assert not any(HIDDEN in suite_of(slug).training_splits for slug in suite_names())
    with pytest.raises(SplitRefusedError, match="has no split that planners may learn from"):
        training_split(suite=dataclasses.replace(SUITE, training_splits=()))
    with pytest.raises(SettingError, match="asks for plans step by step; rewards need a suite that executes whole"):
        reward_function(suite=step_by_step_of(SUITE.slug))
    with pytest.raises(SettingError, match="without executing"):
        reward_function(suite=default_suite(executes=False).slug)


def test_an_equal_plan_is_executed_once():
    rewards = ExecutedRewards(evaluator())
    assert rewards.of([(GRAY_ONLY, "Colorization")] * 5) == [1.0] * 5
    assert rewards.of([(GRAY_ONLY, "Colorization")]) == [1.0]
    assert rewards.executed == 1


def test_invalid_plans_are_penalised():
    rewards = ExecutedRewards(evaluator(), fault=-1.0)
    proposals = [(LABEL, "Colorization"), (LABEL, "A Tool of my own"), (LABEL, ""), (LABEL, "Image Classification")]
    wrong_type, unknown, empty, right = rewards.of(proposals)
    assert (wrong_type, unknown, empty) == (-1.0, -1.0, -1.0)
    assert right >= 0.0


def test_failed_experts_and_tasks_that_cannot_run_give_no_reward():
    def broken(item):
        raise ExpertError("broken")

    rewards = ExecutedRewards(evaluator(pool=experts(Colorization=broken)))
    # Mirroring twice gives the degraded picture again.
    assert rewards.of([(GRAY_ONLY, "Colorization"), (LOW_ONLY, "Image Super Resolution")]) == [None, 0.5]
    assert ExecutedRewards(evaluator()).of([(CAPTION, "Image Captioning")]) == [None]
