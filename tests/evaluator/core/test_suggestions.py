"""Errors about unknown names suggest the name that was probably meant."""

import pytest

from evaluator.core.suggestions import as_sentence, likely_name, no_such
from evaluator.core.suites.registry import entry_of
from evaluator.planners.named import planner_named
from evaluator.planners.strategies.registry import PlannerNameError
from tests.toy_suite import sums


def test_a_similar_name_is_suggested_whatever_its_case():
    assert likely_name("OpenAgi ", ["toolmini", "openagi"]) == "openagi"
    assert likely_name("opnagi", ["toolmini", "openagi"]) == "openagi"
    assert likely_name("weather", ["toolmini", "openagi"]) == ""
    assert no_such("suite", "opnagi", ["toolmini", "openagi"]) == "there is no suite 'opnagi'; did you mean 'openagi'?"


def test_all_names_are_listed_if_none_is_similar():
    assert no_such("suite", "weather", iter(["a", "b"])) == "there is no suite 'weather'; there are: a, b"
    assert no_such("suite", "weather", []) == "there is no suite 'weather'; there are: none yet"
    assert len(no_such("suite", "x" * 10_000, ["a"])) < 200


def test_a_clause_becomes_a_sentence():
    assert as_sentence("there are: a, b") == "There are: a, b."
    assert as_sentence("there is no a; did you mean 'b'?") == "There is no a; did you mean 'b'?"


def test_suites_planners_and_strategies_have_suggestions():
    with pytest.raises(LookupError, match="did you mean 'toolmini'"):
        entry_of("toolmin")
    for name, likely in (("glod", "gold"), ("hugingpt", "hugginggpt"), ("hugingpt:hub:a", "hugginggpt")):
        with pytest.raises(PlannerNameError, match=f"did you mean '{likely}'"):
            planner_named(name=name, suite=sums())
