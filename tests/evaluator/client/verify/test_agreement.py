"""What a signed summary says of other metrics and of random plans is computed again from the rows."""

from datetime import UTC, datetime
from typing import Any

import pytest

from evaluator.client.verify.documents import Metric, Row
from evaluator.client.verify.ranks import check_agreement, figures_of
from evaluator.client.verify.report import ExitCode, Kind, Report
from evaluator.core.signatures.statements import Agreement, BoardSummary, RandomPlans
from evaluator.core.suites.base import EXACT, Column
from evaluator.scoring.board_agreement import with_agreement
from tests.evaluator.client.verify.test_attacks import verified
from tests.fakes.signed_site import SUITE, SignedSite

COLUMNS = (
    Column(key="overall", label="Overall", description="", primary=True),
    Column(key=EXACT, label="Exact plan", description="", indicator=True),
)
FACTS = SUITE.model_copy(
    update={"columns": [SUITE.columns[0], SUITE.columns[0].model_copy(update={"key": EXACT, "indicator": True})]}
)


def row(place: int | None, *, mean: float, exact: float, strategy: str = "") -> Row:
    metrics = {"overall": Metric(mean=mean), EXACT: Metric(mean=exact)}
    return Row(
        rank=place, rank_low=None, rank_high=None, rank_tests=0, evaluation=f"e{place}", planner="p", owner="ada",
        kind="bundled", strategy=strategy, finished=datetime(2026, 11, 20, tzinfo=UTC), samples=1, metrics=metrics,
        outcomes={},
    )  # fmt: skip


ROWS = [
    *(row(place, mean=1 - place / 10, exact=exact) for place, exact in enumerate((0.1, 0.2, 0.3, 0.4, 0.5), start=1)),
    row(None, mean=0.65, exact=0.15, strategy="random-valid"),
]
SUMMARY = with_agreement(BoardSummary(leaders=1), rows=[figures_of(one) for one in ROWS], columns=COLUMNS)


def report_on(summary: BoardSummary) -> Report:
    report = Report(address="")
    check_agreement(rows=ROWS, suite=FACTS, summary=summary, of="snapshot 1", report=report)
    return report


def test_a_summary_that_follows_from_the_rows_is_correct() -> None:
    assert SUMMARY.agreements == (Agreement(column=EXACT, higher_is_better=True, rows=5, correlation=-1.0),)
    assert SUMMARY.random_plans == RandomPlans(evaluation="eNone", mean=0.65, exact=0.15, above=2, highest=3)
    assert report_on(SUMMARY).findings == []


@pytest.mark.parametrize(
    "changes",
    [
        {"agreements": (Agreement(column=EXACT, higher_is_better=True, rows=5, correlation=0.9),)},
        {"agreements": (Agreement(column=EXACT, higher_is_better=True, rows=6, correlation=-1.0),)},
        {"agreements": (Agreement(column="other", higher_is_better=True, rows=5, correlation=-1.0),)},
        {"agreements": (*SUMMARY.agreements, *SUMMARY.agreements)},
        {"random_plans": None},
        {"random_plans": SUMMARY.random_plans.model_copy(update={"above": 0, "highest": None})},
        {"random_plans": SUMMARY.random_plans.model_copy(update={"mean": 0.1})},
    ],
)
def test_a_summary_with_other_figures_is_a_mismatch(changes: dict[str, Any]) -> None:
    report = report_on(SUMMARY.model_copy(update=changes))
    assert [finding.kind for finding in report.findings] == [Kind.MISMATCH]


def test_boards_that_were_signed_before_summaries_compared_metrics_stay_verified() -> None:
    site = SignedSite()
    site.signs_agreement = False
    for number in (1, 2, 3):
        site.sign(number)
    assert "agreements" not in site.snapshots[3]["content"]["summary"]
    report, _ = verified(site)
    assert report.exit_code is ExitCode.PASSED, report.as_text()
    assert any("before summaries compared" in finding.text for finding in report.of(Kind.NOTE))
