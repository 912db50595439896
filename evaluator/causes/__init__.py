"""Why a task is below the gold score: findings of a closed taxonomy, decided by rules from the result record."""

from evaluator.causes.counting import tasks_by_cause, tasks_by_first_cause
from evaluator.causes.of_records import CauseContext, causes_by_reason, causes_of
from evaluator.causes.taxonomy import Cause, Finding

__all__ = [
    "Cause",
    "CauseContext",
    "Finding",
    "causes_by_reason",
    "causes_of",
    "tasks_by_cause",
    "tasks_by_first_cause",
]
