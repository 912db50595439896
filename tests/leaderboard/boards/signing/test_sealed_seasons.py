"""Sealed requests from the lease of a worker to `planarena verify` of a closed season."""

from dataclasses import replace
from unittest.mock import Mock

import pytest
from django.core.management import call_command

from evaluator.client.verify.report import Kind
from evaluator.core import canonical_json
from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.records import ResultRecord
from evaluator.core.suites.base import ABSTENTION
from evaluator.core.suites.registry import suite_of
from evaluator.core.suites.sealed import placed
from evaluator.core.values import Artefact, MediaType
from evaluator.execution.engine.store import MemoryStore
from evaluator.scoring.metrics.aggregate import indicators_of_samples
from gpu_jobs.contract import Lease, Seed
from gpu_jobs.planners import HeldLease, LeaseRefusedError, with_secrets
from gpu_jobs.runner import EvaluatorRunner
from leaderboard.boards.services import publish
from leaderboard.catalog.hidden_data import checked_hidden_seed
from leaderboard.catalog.library import conditions_of
from leaderboard.catalog.models import SealedEntry, SealedState, Suite
from leaderboard.evaluations.models import Attempt, Evaluation, EvaluationState, TaskResult
from leaderboard.evaluations.results.objects import server_store
from leaderboard.submissions import services
from tests.leaderboard.boards.signing.boards import mismatches, summarise_again, verified
from tests.leaderboard.catalog.sealed import SLUG, derived, make_suite, proposal
from tests.leaderboard.catalog.sealed import added as proposed
from tests.leaderboard.evaluations.web.factories import make_evaluation, make_planner
from tests.leaderboard.factories import make_season, make_submission, make_user
from tests.leaderboard.planning import REAL
from tests.leaderboard.queue.workers.test_credentials import attempt_of

pytestmark = pytest.mark.django_db
SEASON, BOARD = "2026-a", f"/boards/{SLUG}/"
IMPOSSIBLE = {
    "inputs": {"text": {}}, "answers": [{"goal": "summarization", "language": "en"}], "possible": False,
}  # fmt: skip
READ = {"goal 1": ["summarization"], "language 1": ["en"], "possible": ["no"]}


@pytest.fixture
def suite(settings, tmp_path) -> Suite:
    """On a site with a season whose one sealed request no tool can meet, so that no expert runs."""
    from leaderboard.catalog.sealed.pool import review

    settings.STORE_DIR, settings.SPLIT, settings.EVALUATOR = tmp_path / "store", "hidden", REAL
    settings.SAMPLES = 1
    made = make_suite()
    ada, bob = make_user("ada"), make_user("bob")
    (entry,) = proposed(proposal(text="Sing {text} to me in four voices.", goal=IMPOSSIBLE), by=ada)
    assert review(derived(entry).pk, values=READ, by=bob).state == SealedState.SEALED
    make_season(SEASON, sealed={SLUG: 1 / made.tasks.count()})
    return made


def key_of_sealed() -> str:
    hidden = checked_hidden_seed(season=SEASON, suite=SLUG)
    ((_, key),) = placed(suite=suite_of(SLUG), requests=hidden.sealed, seed=hidden.secret)
    return key


def leased(suite: Suite) -> tuple[Evaluation, HeldLease, object]:
    """A lease of the tasks that no tool can meet, as an operator's worker holds it."""
    evaluation = make_submission(suite=suite, bundled_name="no-op").evaluations.get()
    Evaluation.objects.filter(pk=evaluation.pk).update(state=EvaluationState.LAUNCHING)
    attempt = attempt_of(evaluation)
    lease, answer = Lease.model_validate(attempt.told), attempt.client.get(f"{attempt.path}seed/")
    assert "Sing" not in str(attempt.told)
    seed = Seed.model_validate_json(answer.content)
    assert "Sing" not in repr(seed)
    tasks = tuple(task.key for task in suite_of(SLUG).tasks if task.metric == ABSTENTION)
    site = Mock(**{"seed.return_value": seed})
    held = with_secrets(lease.model_copy(update={"tasks": tasks}), client=site)
    assert "Sing" not in repr(held) + held.model_dump_json()
    return evaluation, held, attempt


def run(lease: HeldLease) -> list[ResultRecord]:
    return list(EvaluatorRunner(store=MemoryStore(), device="cpu").run(lease))


def publish_records(suite: Suite, *, changed: str = "") -> None:
    """Publish a board with the records that a worker makes of its lease.

    Args:
        suite: of the season.
        changed: what the record of the sealed request says instead of its words.
    """
    evaluation, lease, _ = leased(suite)
    planner = make_planner(owner=make_user(), name="nothing", bundled_name="no-op")
    made = make_evaluation(planner=planner, suite=suite, **conditions_of(suite)._asdict())
    tasks = {task.key: task for task in suite.tasks.all()}
    for found in run(lease):
        is_sealed = found.request.startswith("Sing ")
        record = found.model_copy(update={"request": changed}) if changed and is_sealed else found
        content = canonical_json.dumps(record.model_dump(mode="json")).encode()
        TaskResult.objects.create(
            evaluation=made, task=tasks[record.task], outcome=record.outcome, reason=record.reason or "",
            score=record.score, sample_scores=[sample.score for sample in record.samples],
            indicators=record.indicators, sample_indicators=indicators_of_samples(record),
            planning_seconds=record.planner.seconds if record.planner else None,
            record_digest=server_store(split="hidden").put(Artefact(data=content, media_type=MediaType.TEXT)),
        )  # fmt: skip
    services.cancel(evaluation, by=evaluation.submission.submitted_by)
    summarise_again(made)
    made.refresh_from_db()
    publish(made)


def test_a_worker_asks_the_sealed_request_in_its_place_and_scores_it(suite):
    _, lease, _ = leased(suite)
    records = {record.task: record for record in run(lease)}
    record = records[key_of_sealed()]
    assert record.request.startswith("Sing ")
    assert "{" not in record.request
    assert record.metric == ABSTENTION
    assert sum(other.request.startswith("Sing ") for other in records.values()) == 1


def test_a_worker_refuses_a_season_without_its_sealed_requests_and_a_self_hosted_one_gets_none(suite):
    _, lease, attempt = leased(suite)
    with pytest.raises(LeaseRefusedError, match=r"does not match its published commitment .* \(0 sealed requests\)"):
        run(lease.model_copy(update={"sealed": ()}))
    other = replace(lease.sealed[0], text="Sing something else.")
    with pytest.raises(LeaseRefusedError, match="does not match its published commitment"):
        run(lease.model_copy(update={"sealed": (other,)}))
    Attempt.objects.update(worker="own:w")
    answer = attempt.client.get(f"{attempt.path}seed/")
    assert (answer.status_code, "Sing" in answer.content.decode()) == (403, False)


def test_a_closed_season_is_verified_with_its_sealed_requests(suite):
    publish_records(suite)
    report = verified(BOARD)
    assert report.exit_code is ExitCode.PASSED, report.as_text()
    call_command("season", "close", SEASON, verbosity=0)
    report = verified(BOARD)
    assert report.exit_code is ExitCode.PASSED, report.as_text()
    assert "1 sealed requests included" in report.as_text()


def test_an_exchanged_sealed_request_is_found(suite):
    publish_records(suite, changed="Sing something else.")
    call_command("season", "close", SEASON, verbosity=0)
    report = verified(BOARD)
    assert report.exit_code is ExitCode.CHECK_FAILED
    assert any("its request does not follow from the published seed" in text for text in mismatches(report))
    entry = SealedEntry.objects.get()
    other = proposed(proposal(text="Sing {text} to me in five voices.", goal=IMPOSSIBLE), by=entry.added_by)[0]
    SealedEntry.objects.filter(pk=entry.pk).update(body=other.body)
    report = verified(BOARD)
    found = [finding.text for finding in report.of(Kind.MISMATCH) if finding.part == "season"]
    assert found == [f"season {SEASON}: the published seed and the 1 sealed requests do not fit the commitment"]
