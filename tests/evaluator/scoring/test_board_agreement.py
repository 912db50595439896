"""What the other metrics of a board, and random plans, say against its order."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from evaluator.core.signatures.statements import BoardSummary, Headroom
from evaluator.core.suites.base import EXACT, Column
from evaluator.scoring.board_agreement import (
    RowFigures,
    agreements,
    directions_of,
    exact_column,
    headroom,
    random_plans,
    rank_correlation,
    with_agreement,
)
from evaluator.scoring.board_sentences import RankedRow, headroom_in_words, plain, remarks
from evaluator.scoring.board_table import RANDOM

START = datetime(2026, 11, 20, 10, tzinfo=UTC)
COLUMNS = (
    Column(key="overall", label="Overall", description="", primary=True),
    Column(key=EXACT, label="Exact plan", description="", indicator=True),
    Column(key="errors", label="Errors", description="", higher_is_better=False),
    Column(key="steps", label="Steps", description="", ordered=False, high=None),
)


def board(*means: dict[str, float]) -> list[RowFigures]:
    """Ranked rows in the order of their means."""
    return [RowFigures(f"e{place}", START, place, "", one) for place, one in enumerate(means, start=1)]


def rows_with(key: str, *values: float) -> list[RowFigures]:
    """Ranked rows whose first one has the best primary mean, with these values of another column."""
    return board(*({"overall": 0.9 - place / 20, key: value} for place, value in enumerate(values)))


def anchor(*, mean: float, exact: float | None, days: int = 0, evaluation: str = "r") -> RowFigures:
    means = {"overall": mean} | ({} if exact is None else {EXACT: exact})
    return RowFigures(evaluation, START + timedelta(days=days), None, RANDOM, means)


def summary_of(rows: list[RowFigures]) -> BoardSummary:
    return with_agreement(BoardSummary(leaders=1), rows=rows, columns=COLUMNS)


def said(rows: list[RowFigures], columns: tuple[Column, ...] = COLUMNS) -> str:
    """The remarks on a board."""
    ranked = [
        RankedRow(name=f"P{row.rank}", rank=row.rank, mean=row.means["overall"], exact=row.means.get(EXACT))
        for row in rows
        if row.rank is not None
    ]
    found = remarks(summary=summary_of(rows), rows=ranked, columns=columns)
    return " ".join(plain(sentence, rows=ranked) for sentence in found)


class TestRankCorrelation:
    def test_ties_share_their_mean_rank(self) -> None:
        # The example of the documentation of `scipy.stats.spearmanr`.
        assert rank_correlation([1, 2, 3, 4, 5], [5, 6, 7, 8, 7]) == pytest.approx(0.8207826816681233)

    @pytest.mark.parametrize(("second", "wanted"), [((1, 4, 9, 16), 1.0), ((9, 5, 2, 1), -1.0), ((7, 7, 7, 7), None)])
    def test_equal_opposite_and_no_order(self, second: tuple[float, ...], wanted: float | None) -> None:
        assert rank_correlation([1, 2, 3, 4], second) == wanted


class TestAgreements:
    def test_columns_without_a_better_end_are_not_compared(self) -> None:
        assert directions_of(COLUMNS) == {EXACT: True, "errors": False}

    def test_a_column_whose_lower_values_are_better_agrees_if_they_fall(self) -> None:
        [found] = summary_of(rows_with("errors", 0.1, 0.2, 0.3, 0.4, 0.5)).agreements
        assert (found.column, found.higher_is_better, found.rows, found.correlation) == ("errors", False, 5, 1.0)

    def test_four_rows_are_too_few(self) -> None:
        assert summary_of(rows_with(EXACT, 0.1, 0.2, 0.3, 0.4)).agreements == ()

    def test_anchors_and_rows_without_the_column_do_not_count(self) -> None:
        rows = [*rows_with(EXACT, 0.5, 0.4, 0.3, 0.2, 0.1), *board({"overall": 0.1})]
        rows.append(RowFigures("gold", START, None, "gold", {"overall": 0.0, EXACT: 1.0}))
        [found] = summary_of(rows).agreements
        assert (found.rows, found.correlation) == (5, 1.0)

    def test_a_primary_column_whose_lower_values_are_better(self) -> None:
        rows = rows_with(EXACT, 0.1, 0.2, 0.3, 0.4, 0.5)
        [found] = agreements(rows, primary="overall", higher_is_better=False, directions={EXACT: True})
        assert found.correlation == 1.0


class TestRandomPlans:
    def test_the_newest_row_counts(self) -> None:
        rows = [anchor(mean=0.4, exact=0.1, evaluation="old"), anchor(mean=0.3, exact=0.0, days=1, evaluation="new")]
        found = summary_of(rows).random_plans
        assert (found.evaluation, found.mean, found.exact, found.above) == ("new", 0.3, 0.0, 0)

    def test_suites_without_exact_plans_say_nothing(self) -> None:
        judged = (COLUMNS[0], replace(COLUMNS[1], key="success"))
        assert exact_column(judged) == ""
        assert (
            with_agreement(BoardSummary(leaders=0), rows=[anchor(mean=0.4, exact=0.1)], columns=judged).random_plans
            is None
        )

    def test_boards_without_the_anchor_say_nothing(self) -> None:
        other_seed = anchor(mean=0.4, exact=0.1)._replace(strategy="random-valid/2")
        assert summary_of([*rows_with(EXACT, 0.5), other_seed]).random_plans is None

    def test_a_ranked_planner_with_more_exact_plans_below_it_is_counted(self) -> None:
        means = [{"overall": 0.9, EXACT: 0.8}, {"overall": 0.3, EXACT: 0.2}, {"overall": 0.2, EXACT: 0.0}]
        rows = [*board(*means), anchor(mean=0.4, exact=0.1)]
        found = summary_of(rows).random_plans
        assert (found.above, found.highest) == (1, 1)
        less = random_plans(rows, primary="overall", higher_is_better=False, exact=EXACT)
        assert (less.above, less.highest) == (1, 0)


class TestSentences:
    def test_a_metric_with_another_order(self) -> None:
        assert said(rows_with(EXACT, 0.1, 0.4, 0.3, 0.2, 0.5)) == (
            "Exact plan orders the planners differently (Spearman's rank correlation with Overall: -0.60)."
        )

    def test_a_metric_with_nearly_the_same_order_is_not_mentioned(self) -> None:
        assert said(rows_with(EXACT, 0.4, 0.5, 0.3, 0.2, 0.1)) == ""

    def test_many_metrics_with_another_order(self) -> None:
        keys = [f"m{place}" for place in range(5)]
        columns = (COLUMNS[0], *(Column(key=key, label=key.upper(), description="") for key in keys))
        rows = board(*({"overall": 1 - row / 10, **dict.fromkeys(keys, row / 10)} for row in range(5)))
        ranked = [RankedRow(name="P", rank=row.rank, mean=row.means["overall"]) for row in rows]
        summary = with_agreement(BoardSummary(leaders=1), rows=rows, columns=columns)
        [(text,)] = remarks(summary=summary, rows=ranked, columns=columns)
        assert text == (
            "M0, M1 and 3 more metrics order the planners differently (Spearman's rank correlation with Overall "
            "below 0.5)."
        )

    def test_what_partial_credit_is_worth(self) -> None:
        rows = [*rows_with(EXACT, 0.5, 0.4), anchor(mean=0.378, exact=0.02)]
        assert said(rows) == "A random valid plan scores 0.378 here: read scores from there, not from 0."

    def test_random_plans_that_score_nothing_shift_nothing(self) -> None:
        assert said([*rows_with(EXACT, 0.5), anchor(mean=0.004, exact=0.0)]) == (
            "A random valid plan scores 0.004 here."
        )

    def test_random_plans_ahead_of_a_planner_with_more_exact_plans(self) -> None:
        rows = [*board({"overall": 0.9, EXACT: 0.8}, {"overall": 0.3, EXACT: 0.2}), anchor(mean=0.378, exact=0.016)]
        assert said(rows) == (
            "A random valid plan scores 0.378 here, ahead of P2, which has more exact plans (20 % against 1.6 %)."
        )

    def test_random_plans_ahead_of_several(self) -> None:
        means = [{"overall": 0.3, EXACT: 0.2}, {"overall": 0.2, EXACT: 0.3}, {"overall": 0.1, EXACT: 0.2}]
        assert said([*board(*means), anchor(mean=0.378, exact=0.016)]) == (
            "A random valid plan scores 0.378 here, ahead of P1 and 2 other planners with more exact plans."
        )


def test_summaries_from_before_keep_their_form() -> None:
    before = {"leaders": 0, "lead": None, "clear_lead": None, "groups": [], "resolution": None}
    assert BoardSummary.model_validate(before).model_dump(mode="json") == before
    now = summary_of([anchor(mean=0.4, exact=None)]).model_dump(mode="json")
    assert now == before | {
        "leaders": 1,
        "agreements": [],
        "random_plans": {"evaluation": "r", "mean": 0.4, "exact": None, "above": 0, "highest": None},
    }


def named(strategy: str, mean: float, *, days: int = 0, rank: int | None = None) -> RowFigures:
    return RowFigures(f"{strategy} {days}", START + timedelta(days=days), rank, strategy, {"overall": mean})


class TestHeadroom:
    def test_it_is_between_gold_plans_and_the_best_planner_that_understands_nothing(self) -> None:
        rows = [named("gold", 0.9), named("bag-of-words", 0.5), named("regex", 0.7), named("parrot", 0.8)]
        found = summary_of([*board({"overall": 0.95}), *rows]).headroom
        assert found == Headroom(shortcut="regex", evaluation="regex 0", mean=0.7, gold=0.9)
        ranked = [RankedRow(name="P1", rank=1, mean=0.95)]
        summary = BoardSummary(leaders=1, headroom=found)
        assert plain(remarks(summary=summary, rows=ranked, columns=COLUMNS)[-1], rows=ranked) == (
            "The shortcut regex scores 0.700 without understanding the requests, and gold plans score 0.900: "
            "the headroom is 0.200."
        )

    def test_the_newest_row_counts_and_a_floor_may_be_the_best(self) -> None:
        rows = [named("gold", 0.9), named("regex", 0.7), named("regex", 0.1, days=1), named("no-op", 0.3)]
        found = headroom(rows, primary="overall", higher_is_better=True)
        assert found is not None
        assert (found.shortcut, found.mean) == ("no-op", 0.3)
        found = headroom(rows, primary="overall", higher_is_better=False)
        assert found is not None
        assert (found.shortcut, found.mean) == ("regex", 0.1)

    @pytest.mark.parametrize("lacking", ["gold", "regex"])
    def test_without_gold_plans_or_shortcuts_there_is_none(self, lacking: str) -> None:
        rows = [named(name, 0.5) for name in ("gold", "regex", "no-op", "rules") if name != lacking]
        assert headroom(rows, primary="overall", higher_is_better=True) is None

    def test_a_ranked_row_is_no_shortcut(self) -> None:
        rows = [named("gold", 0.9), named("regex", 0.7, rank=1)]
        assert headroom(rows, primary="overall", higher_is_better=True) is None

    def test_gold_plans_may_leave_none(self) -> None:
        found = Headroom(shortcut="regex", evaluation="r", mean=0.9, gold=0.9)
        assert headroom_in_words(found).endswith("there is no headroom.")
        assert headroom_in_words(found.model_copy(update={"gold": 0.7}), higher_is_better=False).endswith("0.200.")
