"""Views of tasks as readable lines."""

import json

from leaderboard.pages.tasks.readable_json import readable
from leaderboard.pages.tasks.values_shown import shown_value

VIEW = {
    "test": [{"input": [[".", "a"]], "input_grid_size": [1, 2]}],
    "train": [{"input_pixel_coords": {"a": [[0, 1], [2, 3]]}}],
}


def test_grids_become_lines_and_names_words():
    assert readable(json.dumps(VIEW)) == "\n".join(
        [
            "test:",
            "  1:",
            "    input:",
            "      . a",
            "    input grid size: [1, 2]",
            "train:",
            "  1:",
            "    input pixel coords:",
            "      a: [[0, 1], [2, 3]]",
        ]
    )


def test_a_text_that_was_cut_counts_up_to_its_last_whole_value():
    text = json.dumps(VIEW, separators=(",", ":"))
    cut = text[: text.index("train") + 3] + "…"
    assert readable(cut) == "test:\n  1:\n    input:\n      . a\n    input grid size: [1, 2]"


def test_every_beginning_is_readable_or_left_as_it_is():
    text = json.dumps(VIEW, separators=(",", ":"))
    for end in range(len(text)):
        found = shown_value(text[:end] + "…").text
        assert found.startswith("test:") or found == text[:end] + "…"


def test_other_json_stays_as_it_is():
    for text in ('{"a": 1}', '{"rows": [["Ann"]]}', "[[1]]", "plain", '{"', '{"a": [[]]}'):
        assert shown_value(text).text == text
