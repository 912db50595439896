"""Which suite's tools the workbench offers first."""

from evaluator.core.suites.registry import entry_of, executed_suites, preferred_first, suite_names, suite_of


def test_the_declared_suite_comes_first_whatever_its_name_or_number_of_tools() -> None:
    declared = [slug for slug in suite_names() if entry_of(slug).comes_first]
    order = preferred_first(executed_suites())

    assert order[:1] == declared == ["toolworld"]
    assert set(order) == set(executed_suites())
    sizes = [-len(suite_of(slug).catalogue.tools) for slug in order[1:]]
    assert list(zip(sizes, order[1:], strict=True)) == sorted(zip(sizes, order[1:], strict=True))
    assert preferred_first(["openagi", "toolworld", "no-such-suite"]) == ["toolworld", "openagi"]
