"""Rows of a database as a table, views of tasks as readable lines, and all else as it is."""

import json

from evaluator.core.transcripts import ActionRun
from evaluator.lumos.sql.environment import text_of
from evaluator.lumos.sql.outcome import Result
from leaderboard.evaluations.web.tasks.artefacts_shown import MOST_COLUMNS, MOST_ROWS, readable, shown_value, table_of


def written(rows: int, *, columns: int = 2, is_cut: bool = False) -> str:
    names = tuple(f"c{number}" for number in range(columns))
    found = tuple((*range(columns - 1), f"row {number}") for number in range(rows))
    return text_of(Result(columns=names, rows=found, is_cut=is_cut))


def test_rows_are_a_table_with_numbers_nulls_and_texts():
    found = table_of(text_of(Result(columns=("name", "age"), rows=(("Ann", 3), (None, 2.5)))))
    assert found.columns == ("name", "age")
    assert [[cell.text for cell in row] for row in found.rows] == [["Ann", "3"], ["NULL", "2.5"]]
    assert [cell.is_number for cell in found.rows[0]] == [False, True]
    assert found.rows[1][0].is_null
    assert (found.left_out, found.is_partial) == (0, False)


def test_many_rows_are_cut_and_it_says_so():
    found = table_of(written(MOST_ROWS + 5, columns=MOST_COLUMNS + 3, is_cut=True))
    assert (len(found.rows), found.left_out, found.columns_left_out, found.is_partial) == (MOST_ROWS, 5, 3, True)


def test_what_the_record_cut_shows_its_whole_rows():
    kept = ActionRun(tool="SQL", arguments="", outputs={"R1": written(1000)}).outputs["R1"]
    assert kept.endswith("…")
    found = table_of(kept)
    assert found.is_partial
    assert found.rows[-1][1].text == f"row {MOST_ROWS - 1}"
    assert found.left_out > 10


OTHERS = [
    "", "7", "{", '{"columns": ', '{"columns": 3, "rows": []}', '{"columns": [], "rows": []}',
    '{"columns": ["a"], "rows": [[1, 2]]}', '{"columns": [1], "rows": [[1]]}', '{"columns": ["a"], "rows": 3}',
    '{"columns": ["a"], "rows": [], "more": 1}', '{"columns": ["a"], "rows": [3, …',
    '{"columns": ' + "[" * 3900 + "…", '{"columns": ["a"], "rows": [' + "[" * 3900,
    '{"columns": ["a"], "rows": ' + json.dumps({"a": 1}) + "}",
    '{"a": 1}', '{"rows": [["Ann"]]}', "[[1]]", "plain", '{"', '{"a": [[]]}',
]  # fmt: skip


def test_other_texts_stay_texts():
    assert [text for text in OTHERS if shown_value(text) != (text, None)] == []


VIEW = {
    "test": [{"input": [[".", "a"]], "input_grid_size": [1, 2]}],
    "train": [{"input_pixel_coords": {"a": [[0, 1], [2, 3]]}}],
}
LINES = """test:
  1:
    input:
      . a
    input grid size: [1, 2]
train:
  1:
    input pixel coords:
      a: [[0, 1], [2, 3]]"""


def test_grids_of_a_view_become_lines_and_names_words_up_to_the_last_whole_value():
    text = json.dumps(VIEW, separators=(",", ":"))
    assert readable(text) == LINES
    assert readable(text[: text.index("train") + 3] + "…") == LINES.partition("\ntrain")[0]
    for end in range(len(text)):
        found = shown_value(text[:end] + "…").text
        assert found.startswith("test:") or found == text[:end] + "…"
