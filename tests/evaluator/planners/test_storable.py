"""Notes of a strategy are kept as JSON, bounded, whatever a model wrote into them."""

import json

from evaluator.planners.storable import kept_notes, unkeepable


def test_small_notes_are_kept_as_they_are():
    notes = {"raw": "Grüße 🙂", "scores": [0.5, 1], "searched": {"depth": 3}, "none": None}
    assert kept_notes(notes) == notes


def test_a_large_text_is_cut_and_the_small_notes_after_it_are_kept():
    kept = kept_notes({"raw": "x" * 200_000, "depth": 3})
    assert kept["depth"] == 3
    assert kept["raw"].endswith("(cut)")
    assert 60_000 < len(json.dumps(kept)) <= 64 * 1024
    assert list(kept) == ["raw", "depth"]


def test_thousands_of_notes_stay_within_the_limit():
    kept = kept_notes({f"note {number} é": "é" * 1000 for number in range(5000)})
    assert len(json.dumps(kept, ensure_ascii=False).encode()) <= 64 * 1024
    assert "left_out" in kept


def test_what_is_no_text_or_no_json_is_replaced():
    kept = kept_notes({"nul": "a\x00b", "half": ["\ud800"], "nan": float("nan"), "set": {1}, "deep": deep(60)})
    assert unkeepable(kept) is None
    assert kept["nul"] == "a\ufffdb"
    assert kept["nan"] == "nan"
    assert kept["set"] == "{1}"
    json.dumps(kept).encode()


def deep(levels):
    return [deep(levels - 1)] if levels else "bottom"
