"""Test calls: a planner that its owner wants to submit is asked for one task, and the answer is judged."""

from evaluator.planners.trials.trial import Trial, small_task, try_endpoint
from evaluator.planners.trials.verdicts import Verdict

__all__ = ["Trial", "Verdict", "small_task", "try_endpoint"]
