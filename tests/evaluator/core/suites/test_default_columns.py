"""The columns that boards show by default."""

from evaluator.core.suites.base import EXACT
from evaluator.core.suites.registry import suite_names, suite_of


def test_on_executed_suites_a_verdict_on_the_plan_is_beside_the_score_by_default():
    """Answers of wrong plans score too, on average: the share of right plans puts a score into perspective."""
    executed = []
    for slug in suite_names():
        try:
            suite = suite_of(slug)
        except LookupError:
            # Its requests are fetched.
            continue
        is_verdict = any(column.primary and column.good for column in suite.metrics)
        if is_verdict or not suite.conditions.experts:
            continue
        default = [column for column in suite.metrics if column.is_default]
        assert default[0].primary, slug
        assert default[1].key == EXACT or default[1].good, f"{slug}: {default[1].label} is no verdict on a plan"
        executed.append(slug)
    assert len(executed) >= 2
