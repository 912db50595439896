"""The share of readable replies of a row, compared with the records that were drawn."""

from evaluator.client.verify.documents import Row
from evaluator.client.verify.records import Drawn, check_readable
from evaluator.client.verify.report import Kind, Report
from evaluator.core.records import Outcome, Reason, ResultRecord
from evaluator.core.signatures.statements import TaskEntry
from tests.fakes.signed_site import SignedSite


def found(*, unreadable: int, mean: float) -> list[str]:
    """The mismatches of a row with this share, of whose drawn records so many are unreadable."""
    site = SignedSite()
    served = {**site.snapshots[3]["content"]["rows"][0], "readable": {"mean": mean, "tasks": 10}}
    row = Row.model_validate(served)
    record = ResultRecord(
        suite="toy", task="1", request="?", metric="ViT", outcome=Outcome.PLANNER_FAULT, reason=Reason.UNPARSABLE_PLAN,
        score=0.0,
    )  # fmt: skip
    task = TaskEntry.model_validate(site.evaluations[row.evaluation]["tasks"][0])
    drawn = [(Drawn(row.evaluation, task, "0" * 64), record)] * unreadable
    report = Report(address="https://arena.example/boards/toy/")
    check_readable(rows=[row], records=drawn, report=report)
    return [finding.text for finding in report.of(Kind.MISMATCH)]


def test_a_row_cannot_claim_fewer_unreadable_replies_than_its_records_have():
    assert found(unreadable=2, mean=0.8) == []
    assert found(unreadable=0, mean=0.8) == []
    [text] = found(unreadable=3, mean=0.8)
    assert "more unreadable replies than its row says" in text
