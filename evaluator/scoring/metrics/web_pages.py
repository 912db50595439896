"""The score of web pages."""

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType

from evaluator.core.web_pages import PageError, elements_of
from evaluator.scoring.metrics import rule_names
from evaluator.scoring.metrics.results.rules import RuleScore


def page_score(output: str, reference: str) -> float:
    """F1 of the elements of a page and those that a reference requires, in [0, 1].

    Elements are equal if kind and content are; order does not matter. A page that is refused has 0.
    """
    required = Counter(elements_of(reference))
    try:
        shown = Counter(elements_of(output))
    except PageError:
        return 0.0
    common = (required & shown).total()
    return 2 * common / (required.total() + shown.total()) if required or shown else 1.0


PAGE_SCORES: Mapping[str, RuleScore] = MappingProxyType(
    {rule_names.PAGE: RuleScore(rule_names.PAGE, str, str, page_score)}
)
"""By name. Beside the other scores by rules, whose folder is in the digests of suites without pages."""
