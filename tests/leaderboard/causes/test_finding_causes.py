"""Causes of results: found at intake and later, kept, and shown as far as a reader may know them."""

import logging
from io import StringIO

import pytest
from django.core.management import call_command

from evaluator.core.records import Outcome, Reason
from evaluator.scoring.causes.taxonomy import Cause, Finding
from leaderboard.catalog.models import Season, Task
from leaderboard.causes.finding import find_causes, find_causes_beside, renew_causes
from leaderboard.evaluations import finding_causes as finding
from leaderboard.evaluations.causes import read_findings
from leaderboard.evaluations.finding_causes import find_causes_of
from leaderboard.evaluations.models import Evaluation, EvaluationReason, EvaluationState, Shard, TaskResult
from leaderboard.evaluations.states import Entered
from leaderboard.evaluations.withheld import Withheld
from leaderboard.queue.shards import end_shard
from tests.leaderboard.evaluations.web import factories
from tests.leaderboard.executed import COUNT, make_executed_evaluation
from tests.leaderboard.factories import make_record, make_user
from tests.leaderboard.planning import REAL, make_clumsy_evaluation

FINDINGS = (
    Finding(cause=Cause.WRONG_TOOL, step="s1", tool="Colorization", wanted="Image Denoising"),
    Finding(cause=Cause.MISSING_STEP, tool="Image Denoising", wanted="after s1"),
    Finding(cause=Cause.MISSING_STEP, tool="Colorization"),
    Finding(cause=Cause.WRONG_ANSWER, given="the red ball", wanted="the blue ball"),
)
KEPT = [one.to_json() for one in FINDINGS]


def codes(result: TaskResult) -> list[str]:
    return [one["cause"] for one in result.causes]


@pytest.mark.django_db
def test_intake_finds_causes_and_a_defect_of_a_rule_costs_those_of_one_task_and_no_result(
    settings, monkeypatch, caplog
):
    settings.EVALUATOR = REAL
    real = finding.causes_of

    def broken(record, *, context):
        if record.task == "image_detection/0":
            raise RecursionError("a rule went wrong")
        return real(record, context=context)

    monkeypatch.setattr(finding, "causes_of", broken)
    with caplog.at_level(logging.ERROR, logger="leaderboard.evaluations.finding_causes"):
        evaluation = make_clumsy_evaluation()
    assert evaluation.state == EvaluationState.COMPLETED
    missing = evaluation.results.filter(causes__isnull=True)
    assert [one.task.key for one in missing] == ["image_detection/0"]
    assert "task image_detection/0" in caplog.text
    others = evaluation.results.exclude(causes=None)
    assert all(bool(one.causes) == (one.score != 1) for one in others if one.outcome != Outcome.NOT_RUN)
    assert {bool(one.causes) for one in others} == {True, False}


@pytest.mark.django_db
def test_a_suite_of_another_release_has_no_causes_yet(settings, caplog):
    evaluation = make_executed_evaluation(user=make_user())
    record = make_record(COUNT, suite=evaluation.suite.slug)
    evaluation.suite.digest = "0" * 64
    assert find_causes_of(evaluation=evaluation, records=[record]) == [None]
    assert "this PlanArena has another version of" in caplog.text


@pytest.mark.django_db
def test_the_command_fills_older_results_in_batches_and_can_be_started_again():
    evaluation = make_executed_evaluation(user=make_user())
    before = {one.pk: (one.causes, one.updated) for one in evaluation.results.all()}
    evaluation.results.update(causes=None)
    batches = find_causes(batch=2)
    assert next(batches).found == 2
    assert evaluation.results.filter(causes__isnull=True).count() == len(before) - 2
    said = StringIO()
    call_command("find_causes", "--batch", "3", stdout=said)
    assert said.getvalue().splitlines()[-2:] == [f"{len(before) - 2} found, 0 not found", "All results are done."]
    assert {one.pk: (one.causes, one.updated) for one in evaluation.results.all()} == before
    # A result whose record is lost stays without.
    lost = evaluation.results.first()
    TaskResult.objects.filter(pk=lost.pk).update(causes=None, record_digest="f" * 64)
    call_command("find_causes", stdout=said)
    assert "0 found, 1 not found" in said.getvalue()
    lost.refresh_from_db()
    assert lost.causes is None


@pytest.mark.django_db
def test_tasks_that_the_site_ended_itself_have_a_cause_too():
    suite = factories.make_suite()
    evaluation = factories.make_evaluation(
        planner=factories.make_planner(owner=make_user(), bundled_name="gold"), suite=suite, state="running"
    )
    shard = Shard.objects.create(evaluation=evaluation, number=0, task_keys=["0", "1"], available_at=evaluation.created)
    end_shard(
        shard=shard, evaluation=evaluation, outcome=Outcome.PLANNER_FAULT, reason=Reason.ENDED_WORKER, text="It ended."
    )
    assert [codes(one) for one in evaluation.results.all()] == [["ended_worker"]] * 2


def gold_beside(evaluation: Evaluation, *, score: float) -> Evaluation:
    """A completed evaluation of `gold` with the same conditions, and one result."""
    gold = factories.make_evaluation(
        planner=factories.make_planner(owner=evaluation.submission.planner.owner, name="gold", bundled_name="gold"),
        suite=evaluation.suite,
    )
    factories.make_result(evaluation=gold, task=Task.objects.get(suite=evaluation.suite, key="0"), samples=0)
    gold.results.update(score=score)
    return gold


@pytest.mark.django_db
@pytest.mark.parametrize(("score", "expected"), [(0.85, []), (0.95, ["weak_expert"])])
def test_a_task_is_at_the_gold_score_if_gold_scores_no_more_on_the_same_samples(score, expected):
    suite = factories.make_suite()
    planner = factories.make_planner(owner=make_user(), name="other", bundled_name="random-valid")
    evaluation = factories.make_evaluation(planner=planner, suite=suite)
    task = Task.objects.get(suite=suite, key="0")
    # 0.85, with the gold plan.
    result = factories.make_result(evaluation=evaluation, task=task, samples=0)
    gold = gold_beside(evaluation, score=score)
    find_causes_beside(gold)
    result.refresh_from_db()
    assert codes(result) == expected
    assert gold.results.get().causes == [], "its own scores are the gold scores"


@pytest.mark.django_db
def test_once_gold_has_completed_the_causes_beside_it_are_found_again(django_capture_on_commit_callbacks, monkeypatch):
    sent = []
    monkeypatch.setattr(
        "leaderboard.platform.celery.app.send_task", lambda name, **options: sent.append((name, options))
    )
    suite = factories.make_suite()
    gold = factories.make_evaluation(
        planner=factories.make_planner(owner=make_user(), bundled_name="gold"), suite=suite
    )
    other = factories.make_planner(owner=make_user("bea"), bundled_name="no-op")
    with django_capture_on_commit_callbacks(execute=True):
        for one in (gold, factories.make_evaluation(planner=other, suite=suite)):
            renew_causes(
                Entered(evaluation_id=one.pk, state=EvaluationState.COMPLETED, reason=EvaluationReason.RUNNING)
            )
    assert [(name, options["args"]) for name, options in sent] == [
        ("leaderboard.causes.tasks.find_causes_beside", (str(gold.pk),))
    ]


def test_a_reader_gets_the_findings_that_nothing_withheld_can_be_read_from():
    own = Finding(cause=Cause.WRONG_TOOL, step="s1", tool="Colorization")
    # Once: how many there are would tell the length of the gold plan.
    missing = Finding(cause=Cause.MISSING_STEP)
    answered = Finding(cause=Cause.WRONG_ANSWER, given="the red ball")
    for kept, withheld, expected in (
        (KEPT, Withheld(), FINDINGS),
        (KEPT, Withheld(gold=True), (own, missing, answered)),
        (KEPT, Withheld(gold=True, data=True), (own, missing, Finding(cause=Cause.WRONG_ANSWER))),
        (KEPT, Withheld(gold=True, plan=True),
         tuple(Finding(cause=cause) for cause in (Cause.WRONG_TOOL, Cause.MISSING_STEP, Cause.WRONG_ANSWER))),
        ([{"cause": "from the future"}, {}, KEPT[0]], Withheld(), FINDINGS[:1]),
        ([], Withheld(), ()),
        (None, Withheld(), None),
    ):  # fmt: skip
        assert read_findings(kept, withheld=withheld) == expected, (kept, withheld)


def test_texts_that_a_row_cannot_keep_are_cut(monkeypatch):
    monkeypatch.setattr(
        finding, "causes_of", lambda _, context: (Finding(cause=Cause.WRONG_LITERAL, given="a\x00" + "b" * 999),)
    )
    monkeypatch.setattr(finding, "_context", lambda **_: object())
    record = factories.ResultRecord.model_construct(task="0", outcome=Outcome.SCORED)
    ((kept,),) = find_causes_of(evaluation=Evaluation(), records=[record])
    assert kept["cause"] == "wrong_literal"
    assert len(kept["given"]) == 200
    assert "\x00" not in kept["given"]


@pytest.mark.django_db
def test_a_queue_process_finds_the_causes_of_faults_and_leaves_those_that_need_the_seed(settings, caplog):
    evaluation = make_executed_evaluation(user=make_user())
    evaluation.split, evaluation.season = "hidden", Season.objects.create(name="1", opens=evaluation.created)
    settings.ROLE, settings.HIDDEN_SEED = "queue", ""
    scored = make_record(COUNT, suite=evaluation.suite.slug)
    fault = scored.model_copy(
        update={"outcome": Outcome.PLANNER_FAULT, "reason": Reason.ENDED_WORKER, "score": 0.0, "plan": None}
    )
    first, second, third = find_causes_of(evaluation=evaluation, records=[scored, fault, scored])
    assert (first, third) == (None, None)
    assert [one["cause"] for one in second or []] == ["ended_worker"]
    (line,) = [one for one in caplog.records if "no causes found" in one.message]
    assert "Only the web process has the seeds" in line.message
    assert line.exc_info is None
