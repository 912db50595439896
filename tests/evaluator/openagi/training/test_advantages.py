import numpy as np
import pytest

from evaluator.openagi.training.reinforce import EPSILON, Estimator, advantages

TASKS = [[0.2, 0.4, 0.9], [1.0, 1.0]]


def flat(estimator, **settings):
    return [value for task in advantages(estimator=estimator, rewards=TASKS, **settings) for value in task]


def test_the_papers_advantage_is_the_distance_from_one_baseline_for_all_tasks():
    assert flat(Estimator.PAPER, baseline=0.5) == pytest.approx([-0.3, -0.1, 0.4, 0.5, 0.5])


def test_before_its_first_baseline_the_papers_advantage_is_nothing():
    assert flat(Estimator.PAPER) == [0.0] * 5


def test_leave_one_out_subtracts_the_mean_of_the_tasks_other_plans():
    # 0.2 - (0.4 + 0.9) / 2, 0.4 - (0.2 + 0.9) / 2, 0.9 - (0.2 + 0.4) / 2
    assert flat(Estimator.LEAVE_ONE_OUT) == pytest.approx([-0.45, -0.15, 0.6, 0.0, 0.0])


def test_grpo_divides_by_the_standard_deviation_of_the_tasks_plans():
    # Mean 0.5; squares 0.09 + 0.01 + 0.16 = 0.26, halved 0.13, root 0.360555
    found = flat(Estimator.GRPO)
    assert found == pytest.approx([-0.3 / (0.3605551 + EPSILON), -0.1 / (0.3605551 + EPSILON),
                                   0.4 / (0.3605551 + EPSILON), 0.0, 0.0], abs=1e-6)  # fmt: skip


@pytest.mark.parametrize("estimator", [Estimator.LEAVE_ONE_OUT, Estimator.GRPO])
def test_a_plan_without_others_of_its_task_teaches_nothing(estimator):
    assert advantages(estimator=estimator, rewards=[[0.7], []]) == [[0.0], []]


def gradients(estimator, *, plans=4, runs=4000):
    """Estimates of the gradient on a bandit of two tasks, one where every plan earns more than on the other.

    Each task has two plans of equal probability; the better earns 0.1 more. The gradient is that with respect to the
    log-odds of the better plan, the same for both tasks: 1/2 for the better, -1/2 for the worse.
    """
    rng = np.random.default_rng(0)
    found = []
    for _ in range(runs):
        better = rng.random((2, plans)) < 0.5
        rewards = np.array([[0.9], [0.1]]) + 0.1 * better
        factors = np.array(advantages(estimator=estimator, rewards=rewards.tolist(), baseline=0.55))
        found.append(float((factors * np.where(better, 0.5, -0.5)).mean()))
    return np.array(found)


EXACT = 0.025
"""Half the probability 1/2, times 0.1, of the log-odds: p (1 - p) (0.1)."""


@pytest.mark.full
@pytest.mark.parametrize("estimator", [Estimator.PAPER, Estimator.LEAVE_ONE_OUT])
def test_the_gradient_is_unbiased(estimator):
    found = gradients(estimator)
    assert found.mean() == pytest.approx(EXACT, abs=4 * found.std() / len(found) ** 0.5)
