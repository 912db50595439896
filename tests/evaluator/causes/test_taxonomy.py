"""The taxonomy: its words, its table in the documentation, and what a finding tells where gold plans are withheld."""

import json
from pathlib import Path

import pytest

from evaluator.causes import Cause, Finding
from evaluator.causes.of_outcomes import of_fault
from evaluator.causes.taxonomy import LONGEST, shortened
from evaluator.records import Outcome, Reason, ResultRecord

DOCUMENT = Path(__file__).parents[3] / "docs" / "causes.md"


def test_the_documentation_has_a_row_for_each_cause_in_order():
    rows = [line for line in DOCUMENT.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert rows == [f"| `{cause}` | {cause.label} | {cause.definition} |" for cause in Cause]


@pytest.mark.parametrize("cause", Cause)
def test_every_cause_has_its_own_words(cause):
    assert cause.label
    assert cause.definition.endswith(".")
    assert [one for one in Cause if one.label == cause.label] == [cause]


def test_a_finding_is_read_back_from_its_json():
    finding = Finding(cause=Cause.WRONG_INPUT, step="s2", tool="Image Denoising", input="image", wanted="$image")
    assert Finding.from_json(json.loads(json.dumps(finding.to_json()))) == finding
    with pytest.raises(ValueError, match="bad_luck"):
        Finding.from_json({"cause": "bad_luck"})


def test_a_finding_is_one_sentence():
    finding = Finding(
        cause=Cause.WRONG_LITERAL, step="s2", tool="select_bbox", input="condition", wanted="“clock”", given="“boat”"
    )
    assert finding.text == "Wrong literal: step s2 (select_bbox) input condition, given “boat”, wanted “clock”."
    assert Finding(cause=Cause.EMPTY_PLAN).text == Cause.EMPTY_PLAN.definition


def test_without_the_reference_only_the_planners_part_is_left():
    wrong = Finding(cause=Cause.WRONG_TOOL, step="s1", tool="Deblurring", wanted="Denoising", given="Deblurring")
    assert "Denoising" not in wrong.without_reference().text
    assert Finding(cause=Cause.MISSING_STEP, tool="Denoising").without_reference().tool is None


def test_texts_of_strangers_are_cut_to_one_line():
    assert shortened("a\n b") == "a b"
    assert len(shortened("word " * 10_000)) <= LONGEST
    assert shortened("x" * LONGEST) == "x" * LONGEST


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_of_a_fault_has_a_cause(reason):
    record = ResultRecord(suite="s", task="t", request="", metric="m", outcome=Outcome.PLANNER_FAULT, reason=reason)
    assert of_fault(record).cause in Cause
