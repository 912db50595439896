"""What was signed before a field was added is verified as it was signed."""

from evaluator import canonical_json
from evaluator.signatures import ColumnFacts, Conditions, TaskEntry, tasks_digest

EARLIER = {
    "task": "14", "metric": "ViT", "outcome": "scored", "accepted": False, "score": 0.5, "samples": [0.25, 0.75],
    "indicators": {}, "seconds": 1.5, "prompt_tokens": None, "completion_tokens": None, "record": "a" * 64,
}  # fmt: skip
"""An entry as it was signed before values of indicators were kept by sample."""


def test_results_without_values_by_sample_have_the_digest_that_was_signed():
    entry = TaskEntry.model_validate(EARLIER)
    assert tasks_digest(evaluation="e", tasks=[entry]) == canonical_json.digest(["e", [EARLIER]])


def test_values_by_sample_are_signed():
    entry = TaskEntry.model_validate({**EARLIER, "sample_indicators": {"closed": [1.0, 0.0]}})
    other = TaskEntry.model_validate({**EARLIER, "sample_indicators": {"closed": [0.0, 1.0]}})
    digests = {tasks_digest(evaluation="e", tasks=[one]) for one in (entry, other, TaskEntry.model_validate(EARLIER))}
    assert len(digests) == 3


def test_earlier_statements_can_still_be_read():
    column = ColumnFacts.model_validate(
        {"key": "overall", "metric": "", "indicator": False, "fault": 0.0, "interval": "fixed_tasks"}
    )
    assert (column.tasks, column.weights) == ([], {})
    conditions = Conditions.model_validate(
        {"profile": "lilliput", "profile_digest": "ab" * 32, "split": "public", "samples": 8}
    )
    assert (conditions.data_digest, conditions.season, conditions.commitment) == ("", "", "")
