"""`planarena verify` against the site itself: what it publishes is verified, and what is changed in it is found."""

import json

import pytest
from django.db import transaction

from evaluator.client.verify.report import Kind
from evaluator.core import canonical_json
from evaluator.core.commands.exit_codes import ExitCode
from evaluator.scoring.metrics.statistics import Interval
from leaderboard.boards import contents
from leaderboard.boards.models import Snapshot, SnapshotSignature, Withdrawal
from leaderboard.boards.services import publish
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.evaluations.results.objects import server_store
from leaderboard.evaluations.withheld import Withheld
from leaderboard.operations.leaving.closing import delete_account, erase_all
from leaderboard.people.models import User
from leaderboard.planners.models import Planner
from leaderboard.submissions.releasing import hide
from tests.leaderboard.boards.signing.boards import evaluated, mismatches, published, summarise_again, verified
from tests.leaderboard.evaluations.web.factories import make_suite
from tests.leaderboard.factories import make_season

pytestmark = pytest.mark.django_db


@pytest.fixture
def board(settings, tmp_path) -> Snapshot:
    """A board with two planners, in two snapshots."""
    settings.STORE_DIR = tmp_path / "store"
    suite = make_suite()
    published(suite=suite, owner="ada")
    return published(suite=suite, owner="bea")


def test_what_the_site_publishes_is_verified_down_to_the_artefacts(board):
    report = verified()
    assert report.exit_code is ExitCode.PASSED, report.as_text()
    assert {finding.part for finding in report.of(Kind.OK)} == {
        "history", "snapshot", "rows", "results", "published", "records",
    }  # fmt: skip
    assert report.facts["sampled"] == report.facts["records"] > 10
    assert verified("/boards/openagi/snapshots/1/").exit_code is ExitCode.PASSED


def test_a_row_that_is_the_mean_over_runs_is_verified_against_all_of_them(board, settings):
    settings.BOARD_POLICY = "mean"
    first = Evaluation.runs.get(pk=board.content["rows"][0]["evaluation"])
    second = evaluated(suite=first.suite, owner="cleo")
    second.results.filter(score__isnull=False).update(score=0.5, sample_scores=[0.5])
    summarise_again(second)
    second.submission.planner = first.submission.planner
    second.submission.save()
    newest = publish(second)
    means = [row for row in newest.content["rows"] if row["runs"]["policy"] == "mean" and row["runs"]["count"] == 2]
    assert len(means) == 1
    # Without records, which say other scores.
    report = verified(sample=0)
    assert report.exit_code is ExitCode.PASSED, report.as_text()
    first.results.filter(score__isnull=False).update(score=1.0)
    assert f"results: the statement of evaluation {first.pk} names another results" in mismatches(verified(sample=0))


@pytest.mark.parametrize("is_wrong", [False, True])
def test_normalised_scores_are_computed_again_from_their_anchors(board, monkeypatch, is_wrong):
    if is_wrong:
        wrong = Interval(mean=0.5, low=None, high=None, count=30)
        monkeypatch.setattr("leaderboard.boards.anchors.normalised", lambda **_: wrong)
    for owner, name in (("cleo", "gold"), ("dan", "no-op")):
        made = evaluated(suite=board.suite, owner=owner, samples=1)
        Planner.objects.filter(pk=made.submission.planner_id).update(bundled_name=name)
    made.results.filter(score__isnull=False).update(score=0.1, sample_scores=[0.1])
    summarise_again(made)
    newest = publish(made)
    assert [row["normalised"]["mean"] for row in newest.content["rows"]] == ([0.5, 0.5] if is_wrong else [1, 0])
    # Without records, which say other scores.
    report = verified(f"/boards/openagi/snapshots/{newest.number}/", sample=0)
    assert report.exit_code is (ExitCode.CHECK_FAILED if is_wrong else ExitCode.PASSED), report.as_text()
    assert len([text for text in mismatches(report) if "does not follow from the anchors" in text]) == 2 * is_wrong


def change_row(board):
    board.content["rows"][0]["metrics"]["overall"]["mean"] = 0.99
    Snapshot.objects.filter(pk=board.pk).update(stored=board.content, digest=canonical_json.digest(board.content))


def swap_rows(board):
    content = {**board.content, "rows": board.content["rows"][::-1]}
    Snapshot.objects.filter(pk=board.pk).update(stored=content, digest=canonical_json.digest(content))


def change_score(board):
    TaskResult.objects.filter(evaluation=board.content["rows"][0]["evaluation"], score__isnull=False).update(score=1.0)


def remove_result(board):
    TaskResult.objects.filter(evaluation=board.content["rows"][0]["evaluation"]).first().delete()


def exchange_record(board):
    found = TaskResult.objects.filter(evaluation=board.content["rows"][0]["evaluation"]).exclude(record_digest="")
    one, other = found[:2]
    TaskResult.objects.filter(pk=one.pk).update(record_digest=other.record_digest)


def remove_evaluation(board):
    Evaluation.runs.filter(pk=board.content["rows"][0]["evaluation"]).delete()


def remove_objects(board):
    for file in server_store(split="public").path.rglob("*.png"):
        file.unlink()


def remove_first_snapshot(board):
    Snapshot.objects.filter(number=1).delete()


CHANGES = {
    change_row: "rows: snapshot 2, row 1 ",
    swap_rows: "rows: snapshot 2, row 1 ",
    change_score: "results: ",
    remove_result: "results: ",
    exchange_record: "results: ",
    remove_evaluation: "results: ",
    remove_first_snapshot: "history: the snapshot before",
    # Last, since no rollback brings files back.
    remove_objects: "records: artefact of ",
}


def test_what_is_changed_in_the_database_or_the_store_is_found(board):
    for change, part in CHANGES.items():
        with transaction.atomic():
            change(Snapshot.objects.get(pk=board.pk))
            report = verified()
            transaction.set_rollback(True)
        assert report.exit_code is ExitCode.CHECK_FAILED, (change, report.as_text())
        assert any(text.startswith(part) for text in mismatches(report)), (change, report.as_text())


def test_an_evaluation_that_an_operator_hid_stays_verifiable_in_older_snapshots(board):
    hide(Evaluation.runs.get(pk=board.content["rows"][1]["evaluation"]), reason="Trained on the test data.")
    newest = Snapshot.objects.order_by("-number").first()
    assert (newest.number, len(newest.content["rows"])) == (3, 1)
    report = verified()
    assert report.exit_code is ExitCode.PASSED, report.as_text()
    left = f"evaluation {board.content['rows'][1]['evaluation']} left the board after snapshot 2: hidden by an operator"
    assert left in [finding.text for finding in report.of(Kind.NOTE)]
    assert verified("/boards/openagi/snapshots/2/").exit_code is ExitCode.PASSED
    Withdrawal.objects.all().delete()
    assert any("snapshot 3 has no row of evaluation" in text for text in mismatches(verified()))


def test_a_board_stays_verifiable_when_one_of_its_users_is_deleted(board):
    owner = board.content["rows"][0]["owner"]
    delete_account(user=User.objects.get(username=owner), by=None)
    erase_all()
    report = verified(f"/boards/openagi/snapshots/{board.number}/")
    assert report.exit_code is ExitCode.PASSED, report.as_text()
    assert f'"{owner}"' not in json.dumps(Snapshot.objects.get(pk=board.pk).content)
    assert any("snapshot 2: 1 names are withdrawn" in finding.text for finding in report.of(Kind.NOTE))
    assert verified("/boards/openagi/snapshots/1/").exit_code is ExitCode.PASSED
    Withdrawal.objects.all().delete()
    assert any("no signed withdrawal says why" in text for text in mismatches(verified()))


def test_an_unsigned_snapshot_whose_names_are_withdrawn_stays_part_of_the_history(settings, tmp_path):
    settings.STORE_DIR = tmp_path / "store"
    suite, keys = make_suite(), settings.SIGNING_KEYS
    settings.SIGNING_KEYS = []
    published(suite=suite, owner="ada")
    settings.SIGNING_KEYS = keys
    published(suite=suite, owner="bea")
    delete_account(user=User.objects.get(username="ada"), by=None)
    erase_all()
    report = verified()
    assert report.exit_code is ExitCode.PASSED, report.as_text()
    [withdrawal] = Withdrawal.objects.all()
    assert withdrawal.contents == {"1": Snapshot.objects.get(number=1).digest}


def test_every_planner_and_owner_renamed_without_salts_is_a_mismatch(board):
    rows = [{**row, "planner": "eve's", "owner": "deleted user 0badcafe"} for row in board.content["rows"]]
    content = {**board.content, "rows": rows}
    Snapshot.objects.filter(pk=board.pk).update(stored=content, digest=canonical_json.digest(content))
    SnapshotSignature.objects.update(salts={})
    report = verified()
    assert report.exit_code is ExitCode.CHECK_FAILED
    assert len([text for text in mismatches(report) if "no signed withdrawal says why" in text]) >= 4


def test_an_open_board_whose_records_are_all_withheld_is_not_verified(board, monkeypatch):
    monkeypatch.setattr("leaderboard.boards.web.signing_api.withheld_from", lambda **_: Withheld(data=True))
    report = verified()
    assert report.exit_code is ExitCode.INFRASTRUCTURE, report.as_text()
    assert (
        len([one for one in report.of(Kind.NOT_CHECKED) if "are withheld, though its data are open" in one.text]) == 2
    )


def test_rows_of_the_api_that_are_not_those_of_the_snapshot_are_found(board, monkeypatch):
    real = contents.content_of(board)
    swapped = [{**row, "planner": "eve's"} for row in real.rows]
    other = contents.BoardContent(rows=tuple(swapped), coverage=real.coverage, summary=real.summary)
    monkeypatch.setattr("leaderboard.boards.web.api.content_of", lambda _: other)
    found = mismatches(verified())
    assert "published: page 1 of the API's rows: rows is not as it was signed" in found
    assert any(text.startswith("published: /api/v1/boards/openagi/snapshots/2/: content") for text in found)


def test_a_hidden_split_shows_no_result_of_a_task_and_no_digest_of_a_record(settings, tmp_path, client):
    settings.STORE_DIR, settings.SPLIT, settings.HIDDEN_SEED = tmp_path / "store", "hidden", "5eed" * 16
    suite = make_suite()
    made = evaluated(suite=suite, owner="ada", split="hidden", season=make_season())
    publish(made)
    report = verified()
    assert not report.of(Kind.MISMATCH), report.as_text()
    assert any("shown when season 1 closes" in finding.text for finding in report.of(Kind.NOTE))
    proof = client.get(f"/api/v1/evaluations/{made.pk}/proof/").json()
    assert (proof["withheld"], proof["tasks"], proof["records"], proof["salt"]) == (True, [], {}, None)
    told = client.get(f"/api/v1/evaluations/{made.pk}/proof/").content.decode()
    digests = made.results.exclude(record_digest="").values_list("record_digest", flat=True)
    assert len(digests) > 5
    assert not any(digest in told for digest in digests)
    assert made.signature.salt not in told, "with the salt a guess of a record could be confirmed"


def test_the_page_of_a_board_says_by_whom_it_is_signed_and_how_to_verify_it(board, client):
    page = client.get("/boards/openagi/").content.decode()
    assert f'Signed by key <code title="{board.signature.key_id}">' in page
    assert "planarena verify http://testserver/boards/openagi/" in page
    board.signature.delete()
    unsigned = client.get("/boards/openagi/").content.decode()
    assert "This snapshot is not signed." in unsigned, "the ETag and kept pages know of the signature"
    assert "planarena verify" not in unsigned
