"""`planarena verify` on boards of seasons: requests and data are made again from a published seed and compared."""

import pytest
from django.core.management import call_command
from django.test import Client

from evaluator.client.verify.report import Kind, Report
from evaluator.core import canonical_json
from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.records import ResultRecord
from evaluator.core.signatures.envelope import Envelope, PublicKey, open_envelope
from evaluator.core.signatures.statements import SeasonStatement
from evaluator.core.suites.hidden import HiddenSeed, suite_on_split
from evaluator.core.suites.registry import suite_of
from evaluator.core.values import Artefact, MediaType
from evaluator.episodes.base import Setting, episode_of
from evaluator.episodes.execution import ExecutionEvaluator
from evaluator.execution.engine.store import MemoryStore
from evaluator.execution.experts.profile import load_profile
from evaluator.planners.bundled import NoOpPlanner
from evaluator.scoring.metrics.aggregate import indicators_of_samples
from leaderboard.boards.models import SigningKey, Snapshot
from leaderboard.boards.services import publish
from leaderboard.catalog.hidden_data import derived_seed
from leaderboard.catalog.library import conditions_of
from leaderboard.catalog.models import SeasonAnnouncement, SeasonData, Suite
from leaderboard.catalog.services import register_suite
from leaderboard.evaluations.models import Evaluation, Submission, TaskResult
from leaderboard.evaluations.results.objects import server_store
from leaderboard.platform.models import AuditEntry
from tests.leaderboard.boards.signing.boards import mismatches, summarise_again, verified
from tests.leaderboard.evaluations.web.factories import make_evaluation, make_planner, make_suite, make_user
from tests.leaderboard.factories import make_season
from tests.leaderboard.planning import REAL

pytestmark = pytest.mark.django_db
SEASON, TASKS, SAMPLES = "2026-a", 16, 2


class Half:
    """Gives every answer half a point."""

    def score(self, *, outputs, references):
        assert len(outputs) == len(references)
        return [0.5] * len(outputs)


def records(seed: str) -> list[ResultRecord]:
    """Those of a planner that does nothing, on the real requests and data of a seed."""
    suite, episode = suite_of("openagi"), episode_of("openagi")
    setting = Setting(profile="lilliput", split="hidden", hidden=HiddenSeed(seed, season=SEASON))
    asked = suite_on_split(suite=suite, split="hidden", hidden_seed=seed)
    evaluator = ExecutionEvaluator(
        suite=asked, profile=load_profile("lilliput"),
        samples=episode.samples(setting), count=SAMPLES, store=MemoryStore(), scorers=lambda _: Half(),
    )  # fmt: skip
    return list(evaluator.run(planner=NoOpPlanner(asked), tasks=[task.key for task in suite.tasks[:TASKS]]))


def evaluated(suite: Suite, *, planner: str = "no-op", seed: str = "", **fields: object) -> Evaluation:
    """A completed evaluation on the present season's data, or on those of another seed."""
    conditions = conditions_of(suite)
    bundled = make_planner(owner=make_user(f"owner of {planner}"), name=planner, bundled_name=planner)
    made = make_evaluation(planner=bundled, suite=suite, **{**conditions._asdict(), **fields})
    true_seed = derived_seed(master="5eed" * 16, season=SEASON, suite="openagi")
    tasks = {task.key: task for task in suite.tasks.all()}
    for found in records(seed or true_seed):
        # Or equal records of two planners would be one object.
        record = found.model_copy(update={"planner_notes": {"planner": planner}})
        content = Artefact(
            data=canonical_json.dumps(record.model_dump(mode="json")).encode(), media_type=MediaType.TEXT
        )
        TaskResult.objects.create(
            evaluation=made, task=tasks[record.task], outcome=record.outcome, reason=record.reason or "",
            score=record.score, sample_scores=[sample.score for sample in record.samples],
            indicators=record.indicators, sample_indicators=indicators_of_samples(record),
            planning_seconds=record.planner.seconds if record.planner else None,
            record_digest=server_store(split="hidden").put(content),
        )  # fmt: skip
    summarise_again(made)
    made.refresh_from_db()
    return made


@pytest.fixture
def suite(settings, tmp_path) -> Suite:
    settings.STORE_DIR, settings.SPLIT, settings.EVALUATOR = tmp_path / "store", "hidden", REAL
    settings.SAMPLES = SAMPLES
    made = make_suite()
    make_season(SEASON)
    return made


def close() -> None:
    call_command("season", "close", SEASON, verbosity=0)


def season_notes(report: Report, kind: Kind) -> list[str]:
    return [finding.text for finding in report.of(kind) if finding.part == "season"]


def test_an_open_season_is_verified_without_its_seed_and_a_closed_one_is_made_again(suite):
    snapshot = publish(evaluated(suite))
    report = verified()
    assert report.exit_code is ExitCode.PASSED, report.as_text()
    assert season_notes(report, Kind.NOTE) == [
        "season 2026-a is not closed: its seed is secret, and its requests were not made again"
    ]
    assert report.facts["sampled"] == 0
    told = "1 row: results of single tasks are signed, and shown when season 2026-a closes"
    assert any(finding.text.startswith(told) for finding in report.of(Kind.NOTE))
    close()
    again = verified()
    assert again.exit_code is ExitCode.PASSED, again.as_text()
    assert "every mean, interval, count and usage follows" in again.as_text()
    assert "the published seed fits its commitment" in season_notes(again, Kind.OK)[0]
    assert again.facts["sampled"] == again.facts["records"] == TASKS
    assert verified(f"/boards/openagi/?season={SEASON}").facts["snapshot"] == snapshot.number


def test_records_on_other_data_than_the_season_s_are_found(suite):
    publish(evaluated(suite, seed="f" * 64))
    close()
    report = verified()
    assert report.exit_code is ExitCode.CHECK_FAILED
    found = mismatches(report)
    assert any("its request does not follow from the published seed" in text for text in found)
    assert any("its input 'image' of sample 0 does not follow" in text for text in found)
    assert any("its reference of sample 1 does not follow" in text for text in found)


def test_a_seed_or_a_commitment_that_was_exchanged_is_found(suite):
    publish(evaluated(suite))
    commitment = SeasonData.objects.get().commitment
    SeasonData.objects.update(commitment="e" * 64)
    report = verified()
    assert report.exit_code is ExitCode.CHECK_FAILED
    assert any("the site names another commitment than it signed" in text for text in mismatches(report))
    assert any("the commitment of openagi is not the announced one" in text for text in mismatches(report))
    SeasonData.objects.update(commitment=commitment)
    close()
    SeasonData.objects.update(seed="e" * 64)
    report = verified()
    assert report.exit_code is ExitCode.CHECK_FAILED
    assert any("the published seed does not fit the commitment" in text for text in mismatches(report))


def test_a_board_of_other_data_is_found(suite):
    publish(evaluated(suite, data_digest="d" * 64))
    close()
    report = verified()
    assert report.exit_code is ExitCode.CHECK_FAILED
    assert any("are not those of the board" in text for text in mismatches(report))


def test_the_announcement_is_signed_and_in_the_audit_log_with_every_commitment(suite):
    register_suite(suite_of("toolmini"))
    make_season("2026-b")
    publish(evaluated(suite))
    assert verified().exit_code is ExitCode.PASSED
    commitments = dict(SeasonData.objects.filter(season="2026-b").values_list("suite", "commitment"))
    assert set(commitments) == {"openagi", "toolmini"}
    entries = {entry.action: entry.details for entry in AuditEntry.objects.filter(target="2026-b")}
    assert entries["season_announced"]["commitments"] == commitments
    assert entries["season_signed"]["commitments"] == commitments
    announcement = SeasonAnnouncement.objects.get(season="2026-b")
    assert entries["season_signed"]["statement"] == announcement.statement_digest
    shown = Client().get("/api/v1/seasons/2026-b/").json()
    assert shown["announcements"] == [announcement.envelope]


def test_a_suite_that_comes_later_is_in_a_further_announcement(suite):
    call_command("season", "announce", "2026-b", "--closes", "2099-01-01T00:00Z", verbosity=0)
    register_suite(suite_of("toolmini"))
    for _ in range(2):
        call_command("season", "announce", "2026-b", verbosity=0)
    first, second = SeasonAnnouncement.objects.filter(season="2026-b").order_by("number")
    statements = [
        open_envelope(
            Envelope.model_validate(one.envelope), expected=SeasonStatement,
            keys={key.pk: PublicKey.from_text(key.public_key) for key in SigningKey.objects.all()},
        )
        for one in (first, second)
    ]  # fmt: skip
    assert [[one.suite for one in statement.suites] for statement in statements] == [
        ["openagi"],
        ["openagi", "toolmini"],
    ]
    assert statements[1].previous == first.statement_digest
    assert {statement.closes.year for statement in statements} == {2099}


def test_records_are_public_when_their_season_is_closed_and_those_of_gold_plans_are_not(suite):
    gold, other = evaluated(suite, planner="gold"), evaluated(suite)
    client = Client()
    digests = {made: made.results.exclude(record_digest="").first().record_digest for made in (gold, other)}
    for digest in digests.values():
        assert client.get(f"/objects/{digest}").status_code == 404
    close()
    assert client.get(f"/objects/{digests[gold]}").status_code == 404
    assert client.get(f"/objects/{digests[other]}").status_code == 200
    assert client.get(f"/api/v1/evaluations/{gold.pk}/proof/").json()["records"] == {}
    Submission.objects.filter(pk=other.submission_id).update(visibility="private")
    assert client.get(f"/objects/{digests[other]}").status_code == 404


def test_boards_of_seasons_have_addresses_of_their_own(suite, settings):
    publish(evaluated(suite))
    make_season("2026-b")
    later = evaluated(suite, planner="random-valid")
    publish(later)
    client = Client()
    assert Snapshot.objects.count() == 2
    assert "random-valid" in client.get("/boards/openagi/").content.decode()
    assert "random-valid" not in client.get(f"/boards/openagi/?season={SEASON}").content.decode()
    assert client.get("/boards/openagi/?season=unheard-of").status_code == 404
    page = client.get("/boards/openagi/seasons/").content.decode()
    assert all(name in page for name in ("2026-a", "2026-b", "no-op", "random-valid", "open"))
    told = client.get("/api/v1/seasons/2026-a/").json()
    assert [(one["suite"], one["seed"]) for one in told["suites"]] == [("openagi", None)]
    close()
    after = client.get("/api/v1/seasons/2026-a/").json()
    assert after["suites"][0]["seed"] in client.get("/boards/openagi/seasons/").content.decode()
