"""The rules agree with what people say of 188 failures."""

import pytest

from evaluator.suites import registry
from tests.evaluator.causes.labelled import cases

LEAST = 0.95


@pytest.fixture(scope="module")
def labelled():
    registry.forget()
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PLANARENA_SEASON_TASKS", "60")
        yield list(cases())
    registry.forget()


def test_there_are_enough_of_every_family(labelled):
    assert len(labelled) >= 120
    assert {case.suite.slug for case in labelled} >= {
        "openagi", "openagi-season", "toolmini", "toolmini-abstain", "toolworld", "lumos-mini", "arc-mini",
    }  # fmt: skip


def test_every_failure_has_a_cause(labelled):
    assert [case.name for case in labelled if not case.findings()] == []


def test_the_weightiest_cause_is_one_that_people_name(labelled):
    others = {
        case.name: (case.findings()[0].cause.value, case.labels)
        for case in labelled
        if case.findings()[0].cause.value not in case.labels
    }
    assert 1 - len(others) / len(labelled) >= LEAST, others


def test_the_causes_are_those_that_people_name(labelled):
    others = {
        case.name: (sorted({one.cause.value for one in case.findings()}), case.labels)
        for case in labelled
        if {one.cause.value for one in case.findings()} != set(case.labels)
    }
    assert 1 - len(others) / len(labelled) >= LEAST, others
