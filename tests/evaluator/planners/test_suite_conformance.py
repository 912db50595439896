"""The checks of a suite find what is wrong with it, and say where and what would be right."""

import re

import pytest

from evaluator.core.commands.table import SUITES_VARIABLE
from evaluator.core.suites import registry
from evaluator.episodes.base import Setting
from evaluator.planners.suite_conformance import Finding, conformance

WITHOUT_METADATA = {"licence", "datasheet"}


@pytest.fixture(autouse=True)
def broken(monkeypatch):
    monkeypatch.setenv(SUITES_VARIABLE, "tests.evaluator.planners.broken_suites")
    registry.forget()
    yield
    monkeypatch.undo()
    registry.forget()


def failing(slug: str) -> dict[str, Finding]:
    return {one.check: one for one in conformance(slug, setting=Setting()) if not one.holds}


@pytest.mark.parametrize(
    ("slug", "check", "said"),
    [
        ("told", "leakage", "task 1: its request contains a step of its gold plan"),
        ("told-in-quotes", "leakage", "task 1: its request contains a step of its gold plan"),
        ("silent", "gold perfect", "task 1: the gold plan has no value in right, not 1"),
        ("silent", "floors", "no gold plan has a value in right: the judge must give one"),
        ("keyed", "leakage", "task 4711001: '4711001' of its gold plan is in its key"),
        ("misspelt", "gold plans", 'task 1: .*Duplicate'),
        ("generous", "floors", "random-valid has 1.000 in right, and the gold plans 1.000"),
        ("fickle", "determinism", "task 1 has another record"),
        ("strict", "gold perfect", "task 1: the gold plan has 0 in right, not 1"),
        ("unprepared", "can be scored", "IndexError: .*; a judge and a scorer give every plan a verdict"),
        ("boundless", "ranges", "its steps is -1.0; it is from 0 to None"),
        ("hashed", "new process", "the digest of the rules is .* not from the order of sets, time or chance"),
    ],
)  # fmt: skip
def test_a_fault_is_found_and_named(slug, check, said):
    found = failing(slug)
    assert check in found
    assert set(found) > WITHOUT_METADATA
    assert re.search(said, found[check].detail)


def test_checks_end_where_nothing_can_be_evaluated():
    assert list(failing("raising")) == ["builds"]
    assert "ValueError: no data for raising" in failing("raising")["builds"].detail
    assert "2 columns have primary=True (right, steps)" in failing("ranked-twice")["shape"].detail


def test_missing_metadata_are_named():
    found = failing("generous")
    assert "generous.toml; write licence" in found["licence"].detail
    assert "write its sections: Motivation" in found["datasheet"].detail


@pytest.mark.parametrize("slug", ["toolmini", "toolmini-abstain"])
def test_suites_of_this_library_hold(slug):
    assert failing(slug) == {}
