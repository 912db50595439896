from evaluator.experts.protocol import ExpertError
from evaluator.rewards import ExecutedRewards
from tests.evaluator.test_evaluation import CAPTION, GRAY_ONLY, LABEL, LOW_ONLY, evaluator, experts


def test_the_reward_is_the_engines_score_of_the_executed_plan():
    rewards = ExecutedRewards(evaluator())
    # Mirroring once gives the reference, twice gives the degraded picture again.
    found = rewards.of([(GRAY_ONLY, "Colorization"), (LOW_ONLY, "Image Super Resolution")])
    assert found == [1.0, 0.5]


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


def test_an_expert_that_crashes_is_no_fault_of_the_plan():
    def broken(item):
        raise ExpertError("broken")

    rewards = ExecutedRewards(evaluator(pool=experts(Colorization=broken)))
    assert rewards.of([(GRAY_ONLY, "Colorization"), (LOW_ONLY, "Image Super Resolution")]) == [None, 0.5]


def test_a_task_that_cannot_run_has_no_reward():
    assert ExecutedRewards(evaluator()).of([(CAPTION, "Image Captioning")]) == [None]
