"""The taxonomy: its words, its table in the documentation, and what a finding tells where gold plans are withheld."""

import json
from pathlib import Path

import pytest

from evaluator.causes import Cause, Finding
from evaluator.causes.taxonomy import LONGEST, shortened

DOCUMENT = Path(__file__).parents[3] / "docs" / "causes.md"


def test_the_documentation_has_a_row_for_each_cause_in_order():
    rows = [line for line in DOCUMENT.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert rows == [f"| `{cause}` | {cause.label} | {cause.definition} |" for cause in Cause]


def test_a_finding_is_read_back_from_its_json():
    finding = Finding(cause=Cause.WRONG_INPUT, step="s2", tool="Image Denoising", input="image", wanted="$image")
    assert Finding.from_json(json.loads(json.dumps(finding.to_json()))) == finding
    with pytest.raises(ValueError, match="bad_luck"):
        Finding.from_json({"cause": "bad_luck"})


def test_without_the_reference_only_the_planners_part_is_left():
    wrong = Finding(cause=Cause.WRONG_TOOL, step="s1", tool="Deblurring", wanted="Denoising", given="Deblurring")
    assert "Denoising" not in wrong.without_reference().text
    assert Finding(cause=Cause.MISSING_STEP, tool="Denoising").without_reference().tool is None


def test_texts_of_strangers_are_cut_to_one_line():
    assert shortened("a\n b") == "a b"
    assert len(shortened("word " * 10_000)) <= LONGEST
    assert shortened("x" * LONGEST) == "x" * LONGEST
