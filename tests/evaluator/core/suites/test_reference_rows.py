"""The papers' figures: every one is there, as printed, with what is different about it."""

import pytest
from pydantic import ValidationError

from evaluator.arc.columns import COLUMNS
from evaluator.core.suites.reference_rows import ReferenceTable, reference_tables
from evaluator.core.suites.registry import suite_of


def table(suite, name):
    (found,) = [table for table in reference_tables(suite) if table.name == name]
    return found


def figures(suite, name, row):
    (found,) = [one.figures for one in table(suite, name).rows if one.name == row]
    return found


TABLES = [
    ("openagi", "Table 5", 8, ["CLIP", "BERT", "ViT", "overall"]),
    ("tool100", "Table 3", 7, ["IR", "NR", "HR", "CR", "SE", "SE_easy", "SE_medium", "SE_hard"]),
    ("tool100", "Table 4", 6, ["IR", "NR", "HR", "CR", "SE", "SE_easy", "SE_medium", "SE_hard"]),
    ("tool100", "Table 5", 4, ["IR", "NR", "HR", "CR", "SE", "SE_easy", "SE_medium", "SE_hard"]),
    ("tool2k", "Table A4", 5, ["gpt_score"]),
    ("tool2k", "Table A5", 3, ["DeAcc", "gpt_score"]),
    ("gsm8k", "Table 1b", 10, ["accuracy"]),
    ("gsm8k", "Table 3b", 4, ["accuracy"]),
    ("svamp", "Table 1b", 7, ["accuracy"]),
    ("svamp", "Table 3b", 4, ["accuracy"]),
    ("intercode-sql", "Table 1e", 7, ["success"]),
    ("hotpotqa", "Table 1d", 9, ["EM", "LLM"]),
    ("hotpotqa", "Table 1d, exact match only", 3, ["EM"]),
    ("strategyqa", "Table 1d", 10, ["accuracy"]),
    ("strategyqa", "Table 3c", 4, ["accuracy"]),
    ("strategyqa", "Table 2, data", 2, ["accuracy"]),
    ("strategyqa", "Table 2, subgoals", 2, ["accuracy"]),
    ("strategyqa", "Table 7", 2, ["accuracy"]),
    ("hotpotqa", "Table 2, data", 2, ["LLM"]),
    ("hotpotqa", "Table 2, subgoals", 2, ["LLM"]),
    ("hotpotqa", "Table 6", 2, ["seconds"]),
    ("hotpotqa", "Table 7", 2, ["EM", "LLM"]),
    ("gsm8k", "Table 6", 2, ["seconds"]),
    ("gsm8k", "Table 7", 2, ["accuracy"]),
    ("svamp", "Table 7", 2, ["accuracy"]),
    ("mind2web", "Table 1a", 8, ["step_success"]),
    ("mind2web", "Table 3a", 2, ["step_success"]),
    ("mind2web", "Table 7", 2, ["step_success"]),
    ("a-okvqa", "Table 1c", 8, ["accuracy"]),
    ("a-okvqa", "Table 3d", 4, ["accuracy"]),
    ("a-okvqa", "Table 7", 2, ["accuracy"]),
    ("scienceqa", "Table 1c", 5, ["accuracy"]),
    ("scienceqa", "Table 3d", 4, ["accuracy"]),
    ("scienceqa", "Table 7", 2, ["accuracy"]),
    ("lumos-shop", "Table 1e", 14, ["webshop"]),
]


def test_every_row_has_every_figure(subtests):
    for suite, name, rows, columns in TABLES:
        with subtests.test(case=suite):
            found = table(suite, name)
            assert [column.key for column in found.columns] == columns
            assert len(found.rows) == rows
            assert all(row.figures.keys() == set(columns) for row in found.rows)


def test_there_are_179_figures_in_six_tables():
    tables = [table for suite in ("openagi", "tool100", "tool2k") for table in reference_tables(suite)]
    assert len(tables) == 6
    assert sum(len(row.figures) for table in tables for row in table.rows) == 179


def test_lumos_figures_are_shares_of_one():
    best = figures("gsm8k", "Table 1b", "LUMOS-O, maths, 13B")
    assert table("gsm8k", "Table 1b").columns[0].printed(best["accuracy"]) == "0.554"
    assert figures("svamp", "Table 3b", "LUMOS-I, maths") == {"accuracy": 0.636}
    assert figures("intercode-sql", "Table 1e", "LUMOS-I, all, 13B") == {"success": 0.073}
    assert figures("hotpotqa", "Table 1d", "LUMOS-I, QA") == {"EM": 0.294, "LLM": 0.459}
    assert figures("strategyqa", "Table 2, subgoals", "LUMOS-I, QA, low-level subgoals") == {"accuracy": 0.633}
    assert figures("mind2web", "Table 1a", "LUMOS-I, web, 13B") == {"step_success": 0.313}
    assert figures("a-okvqa", "Table 7", "LUMOS-I, all, 13B") == {"accuracy": 0.728}


def test_times_of_the_formulations_are_seconds():
    column = table("gsm8k", "Table 6").columns[0]
    times = figures("gsm8k", "Table 6", "LUMOS-O, maths"), figures("gsm8k", "Table 6", "LUMOS-I, maths")
    assert [column.printed(one["seconds"]) for one in times] == ["102 s", "851 s"]
    assert not column.higher_is_better


@pytest.mark.parametrize("suite", ["gsm8k", "svamp", "strategyqa", "hotpotqa", "mind2web", "a-okvqa", "scienceqa"])
def test_rows_that_lumos_prints_twice_agree(suite):
    by_row = {}
    for found in reference_tables(suite):
        for row in found.rows:
            for key, figure in row.figures.items():
                by_row.setdefault((row.name, key), set()).add(figure)
    assert all(len(printed) == 1 for printed in by_row.values())


def test_the_multi_expert_system_solved_50_of_111():
    found = figures("arc-111", "Results", "Multi-expert system, GPT-4 of May 2023")
    assert found == {name: round(tasks / 111, 4) for name, tasks in (("solved", 50), ("by_feedback", 7), ("misled", 3))}
    columns = [column.board_column for column in table("arc-111", "Results").columns]
    assert columns == ["solved_3", "by_feedback", "misled"]
    assert set(columns) <= {column.key for column in COLUMNS}


def test_figures_stand_as_they_are_printed():
    few = table("openagi", "Table 5")
    assert [column.printed(few.rows[1].figures[column.key]) for column in few.columns] == [
        "0.0000", "0.3820", "0.7497", "0.4335",
    ]  # fmt: skip
    hard = table("tool100", "Table 3").columns[-1]
    assert hard.printed(figures("tool100", "Table 3", "InternGPT")["SE_hard"]) == "0.00"
    accuracy = table("tool2k", "Table A5").columns[0]
    assert accuracy.printed(92.5) == "92.50 %"


def test_rows_that_papers_print_twice_agree():
    default = figures("tool100", "Table 3", "ControlLLM-Mix")
    assert default == figures("tool100", "Table 4", "ChatGPT-3.5, with PK")
    assert default == figures("tool100", "Table 5", "Adaptive search")
    whole = figures("tool2k", "Table A4", "ControlLLM")
    assert whole["gpt_score"] == figures("tool2k", "Table A5", "ControlLLM, LLaMA-7B in stage 1")["gpt_score"]


def test_columns_in_the_board_are_columns_of_the_suite_with_the_same_direction():
    columns = {"openagi": suite_of("openagi").metrics, "tool100": suite_of("toolmini").metrics}
    for slug, metrics in columns.items():
        better = {metric.key: metric.higher_is_better for metric in metrics}
        for found in reference_tables(slug):
            for column in found.board_columns:
                assert better[column.board_column] == column.higher_is_better


def test_the_distance_that_is_called_vit_score_is_in_no_column_of_the_board():
    kept_apart = {column.key: column.not_on_board for column in table("openagi", "Table 5").other_columns}
    assert kept_apart.keys() == {"ViT", "overall"}
    assert "distance" in kept_apart["ViT"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"figures": {"a": 0.5}}, "figures for"),
        ({"figures": {"a": 0.5, "b": 1.5}}, "b is 1.5"),
    ],
)
def test_a_table_with_a_missing_or_impossible_figure_is_refused(change, says):
    whole = {
        "name": "Table 1", "title": "t", "differs": ["It does."],
        "source": {"short": "s", "citation": "c", "url": "u"},
        "columns": [{"key": "a", "label": "a", "board_column": "a"}, {"key": "b", "label": "b", "not_on_board": "No."}],
        "rows": [{"name": "r", "figures": {"a": 0.5, "b": 0.5}}],
    }  # fmt: skip
    ReferenceTable.model_validate(whole)
    with pytest.raises(ValidationError, match=says):
        ReferenceTable.model_validate({**whole, "rows": [{**whole["rows"][0], **change}]})
