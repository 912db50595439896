"""Rows and records as the site meets them: the real suite, evaluations with results, artefacts in the real store."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cache
from typing import Any

import numpy as np
from django.test import Client
from django.utils import timezone

from evaluator.core import canonical_json
from evaluator.core.plans.model import Problem
from evaluator.core.records import ArtefactReference, Outcome, PlannerCall, Reason, ResultRecord, SampleResult, StepRun
from evaluator.core.suites.registry import suite_of
from evaluator.core.values import Artefact, MediaType, array_to_image, encode
from evaluator.execution.engine.store import Store
from evaluator.scoring.metrics.aggregate import indicators_of_samples, scores_of_samples
from evaluator.scoring.readability import keys_of
from leaderboard.boards.models import Snapshot
from leaderboard.boards.services import publish
from leaderboard.catalog.models import Suite, Task
from leaderboard.catalog.services import register_suite
from leaderboard.evaluations.finding_causes import find_causes_of
from leaderboard.evaluations.models import Evaluation, EvaluationState, Submission, TaskResult
from leaderboard.evaluations.results.objects import server_store
from leaderboard.evaluations.results.records import episodes_of, plan_summary
from leaderboard.people.models import User
from leaderboard.planners.models import Planner, PlannerKind

PROFILE_DIGEST = "ab" * 32


def make_suite() -> Suite:
    """OpenAGI with its 185 tasks."""
    register_suite(suite_of("openagi"))
    return Suite.objects.get(slug="openagi", current=True)


def make_user(name: str = "ada", **fields: Any) -> User:
    """A user who can log in with the password `correct horse`."""
    return User.objects.create_user(username=name, password="correct horse", **fields)


def make_planner(*, owner: User, name: str = "gold", **fields: Any) -> Planner:
    """A bundled planner, or an endpoint if `endpoint_url` is given."""
    if "endpoint_url" in fields:
        return Planner.objects.create(owner=owner, name=name, kind=PlannerKind.ENDPOINT, **fields)
    fields = {"bundled_name": "controlllm/adaptive", **fields}
    return Planner.objects.create(owner=owner, name=name, kind=PlannerKind.BUNDLED, **fields)


def make_summary(overall: float = 0.7, **outcomes: int) -> dict[str, Any]:
    """A summary as `Evaluation.summary` documents it; CLIP could not be measured."""

    def interval(mean: float, tasks: int) -> dict[str, Any]:
        return {"mean": mean, "low": mean - 0.05, "high": mean + 0.05, "tasks": tasks}

    metrics = {
        "overall": interval(overall, 30),
        "ViT": interval(overall + 0.1, 15),
        "BERT": interval(overall - 0.1, 15),
        "CLIP": None,
    }
    reading = {"replies": 30, "unreadable": 1, "tolerated": {"envelope: fence": 30, "envelope: prose": 30}}
    return {"metrics": metrics, "outcomes": outcomes or {"scored": 30, "not_run": 155}, "reading": reading}


def make_evaluation(
    *,
    planner: Planner,
    suite: Suite,
    state: str = EvaluationState.COMPLETED,
    summary: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Evaluation:
    """An evaluation without results."""
    now = timezone.now()
    submission = Submission.objects.create(planner=planner, submitted_by=planner.owner)
    completed = state == EvaluationState.COMPLETED
    values = {
        "profile": "lilliput",
        "profile_digest": PROFILE_DIGEST,
        "split": "public",
        "samples": 8,
        "state_since": now,
        "tasks_total": 185,
        "tasks_not_run": 155,
        "finished": now - timedelta(minutes=1) if completed else None,
        "summary": (summary or make_summary()) if completed else None,
        "provenance": {"code": {"commit": "c0ffee", "dirty": False}, "seed": 7},
    }
    return Evaluation.objects.create(submission=submission, suite=suite, state=state, **values | fields)


_CALL = PlannerCall(seconds=0.012)


def make_results(
    evaluation: Evaluation, *, samples: int = 2, faults: bool = True, upto: int = 185, call: PlannerCall = _CALL
) -> None:
    """A result for each task: 30 run (a few with faults if asked for), the others `not_run`."""
    made, records = [], []
    for task in Task.objects.filter(suite=evaluation.suite).order_by("position")[:upto]:
        if task.metric == "ViT" or (
            task.attributes["base"] == "image_classification" and task.attributes["language"] == "en"
        ):
            fault = _fault(task) if faults else None
            records.append(make_record(task=task, split=evaluation.split, fault=fault, samples=samples, call=call))
            made.append(TaskResult(evaluation=evaluation, task=task, **_columns(records[-1])))
        else:
            made.append(
                TaskResult(
                    evaluation=evaluation,
                    task=task,
                    outcome=Outcome.NOT_RUN,
                    reason=Reason.NO_EXPERT,
                    reason_text="The profile lilliput has no expert for a tool that this task needs.",
                )
            )
    run = [result for result in made if result.outcome != Outcome.NOT_RUN]
    _add_causes_and_records(run, records=records, evaluation=evaluation)
    TaskResult.objects.bulk_create(made)


def make_result(*, evaluation: Evaluation, task: Task, **options: Any) -> TaskResult:
    """One result with its record in the store; `options` are those of `make_record`."""
    return keep_result(make_record(task=task, split=evaluation.split, **options), evaluation=evaluation, task=task)


def keep_result(record: ResultRecord, *, evaluation: Evaluation, task: Task | None = None) -> TaskResult:
    """A record as intake keeps it."""
    task = task or Task.objects.get(suite=evaluation.suite, key=record.task)
    result = TaskResult(evaluation=evaluation, task=task, **_columns(record))
    _add_causes_and_records([result], records=[record], evaluation=evaluation)
    result.save(force_insert=True)
    return result


def _columns(record: ResultRecord) -> dict[str, Any]:
    return {
        "outcome": record.outcome, "reason": record.reason or "", "reason_text": record.reason_text,
        "score": record.score, "sample_scores": list(scores_of_samples(record)), "indicators": record.indicators,
        "sample_indicators": indicators_of_samples(record), "seconds": 0.35, "plan_summary": plan_summary(record),
        "episodes": episodes_of(record), "reading": list(keys_of(record.tolerated)),
    }  # fmt: skip


def _add_causes_and_records(
    results: Sequence[TaskResult], *, records: Sequence[ResultRecord], evaluation: Evaluation
) -> None:
    """Complete unsaved results, and put their records into the store."""
    texts = (canonical_json.dumps(record.model_dump(mode="json")) for record in records)
    artefacts = [Artefact(data=text.encode(), media_type=MediaType.TEXT) for text in texts]
    digests = server_store(split=evaluation.split).put_all(artefacts)
    causes = find_causes_of(evaluation=evaluation, records=records)
    for result, digest, own in zip(results, digests, causes, strict=True):
        result.record_digest, result.causes = digest, own


def make_record(
    *,
    task: Task,
    fault: Reason | None = None,
    samples: int = 2,
    steps: int = 2,
    split: str = "public",
    call: PlannerCall = _CALL,
) -> ResultRecord:
    """A record of the task's gold plan, or of a fault."""
    common: dict[str, Any] = {
        "suite": "openagi",
        "task": task.key,
        "request": task.text,
        "metric": task.metric,
        "planner": call,
    }
    if fault is Reason.ENDPOINT_UNAVAILABLE:
        text = "The endpoint answered 503 (Service Unavailable) three times."
        return ResultRecord(outcome=Outcome.INFRA_FAULT, reason=fault, reason_text=text, **common)
    if fault is Reason.INVALID_PLAN:
        return _invalid(common, steps=steps)
    shown = list(_samples(task=task, count=samples, store=server_store(split=split)))
    score = sum(sample.score or 0 for sample in shown) / len(shown) if shown else 0.85
    return ResultRecord(
        outcome=Outcome.SCORED,
        score=score,
        plan=task.gold,
        plan_received=", ".join(step["tool"] for step in task.gold["steps"]),
        tolerated=["envelope: fence", "envelope: 21 characters of prose", "character 1: ignored an empty name"],
        samples=shown,
        **common,
    )


def _invalid(common: Mapping[str, Any], *, steps: int) -> ResultRecord:
    plan: dict[str, Any] = {"steps": [], "answers": ["$image"], "subgoals": None}
    found = [Problem("answer_type", "the answer $image is image; this request expects text")]
    if steps:
        calls = [
            {"id": "s1", "tool": "Image Captioning", "inputs": {"image": "$image"}, "outputs": {"text": "s1.text"}},
            {"id": "s2", "tool": "Colorization", "inputs": {"image": "s1.text"}, "outputs": {"image": "s2.image"}},
        ]
        plan |= {"steps": calls, "answers": ["s2.image"]}
        message = (
            'plan step 2 ("Colorization"): input "image" is text (from step "s1", Image Captioning); '
            "Colorization takes image"
        )
        found = [Problem("type_conflict", message, "s2")]
    return ResultRecord(
        outcome=Outcome.PLANNER_FAULT, reason=Reason.INVALID_PLAN, reason_text=found[0].message, score=0.0, plan=plan,
        plan_received=plan, problems=found, **common,
    )  # fmt: skip


def _fault(task: Task) -> Reason | None:
    return {"3": Reason.INVALID_PLAN, "9": Reason.INVALID_PLAN, "5": Reason.ENDPOINT_UNAVAILABLE}.get(task.key)


def _samples(*, task: Task, count: int, store: Store) -> Iterator[SampleResult]:
    expects_text = task.attributes["base"] != "restoration"
    for index in range(count):
        given = _keep(_picture(index, 0.4), store)
        values = {"$image": given}
        steps = []
        for number, step in enumerate(task.gold["steps"]):
            is_text = step["tool"] == "Image Classification"
            output = _keep(encode("a red circle") if is_text else _picture(index, 0.1), store)
            reference = next(iter(step["outputs"].values()))
            steps.append(
                StepRun(
                    step=step["id"],
                    tool=step["tool"],
                    expert="lilliput/" + step["tool"].split()[-1].lower(),
                    key=f"{number:064d}",
                    inputs={"image": values[step["inputs"]["image"]]},
                    outputs={next(iter(step["outputs"])): output},
                    cached=index > 0,
                    seconds=0.004,
                )
            )
            values[reference] = output
        yield SampleResult(
            index=index,
            score=0.9 - 0.1 * index,
            inputs={"image": given},
            reference=_keep(encode("a red circle") if expects_text else _picture(index, 0.0), store),
            answer=values[task.gold["answers"][0]],
            steps=steps,
        )


@cache
def _picture(seed: int, noise: float) -> Artefact:
    """A picture as PNG, drawn once in a process."""
    generator = np.random.default_rng(seed)
    array = np.full((64, 64, 3), 0.85, dtype=np.float32)
    rows, columns = np.mgrid[0:64, 0:64]
    for _ in range(3):
        y, x, radius = generator.integers(12, 52), generator.integers(12, 52), generator.integers(6, 14)
        array[(rows - y) ** 2 + (columns - x) ** 2 < radius**2] = generator.random(3)
    return encode(array_to_image(array + noise * generator.standard_normal(array.shape).astype(np.float32)))


def _keep(artefact: Artefact, store: Store) -> ArtefactReference:
    return ArtefactReference(digest=store.put(artefact), media_type=artefact.media_type)


def make_board() -> tuple[Suite, Snapshot]:
    """A board with two planners by two users."""
    suite = make_suite()
    for name, overall in (("ada", 0.7), ("bea", 0.4)):
        planner = make_planner(owner=make_user(name), name=f"planner of {name}")
        newest = publish(make_evaluation(planner=planner, suite=suite, summary=make_summary(overall)))
    return suite, newest


def read(client: Client, address: str, **query: str) -> str:
    """The text of a page."""
    response = client.get(address, query)
    assert response.status_code == 200, (address, response.status_code)
    return response.content.decode()


def evaluation_page(client: Client, evaluation: Evaluation, rest: str = "", **query: str) -> str:
    """The text of an evaluation's page, or of one below it."""
    return read(client, f"/evaluations/{evaluation.pk}/{rest}", **query)


def task_page(client: Client, evaluation: Evaluation, key: str, **query: str) -> str:
    """The text of the page of one task."""
    return evaluation_page(client, evaluation, f"tasks/{key}/", **query)


def planners(html: str) -> list[str]:
    """Names of the planners on a board, in its order."""
    return re.findall(r'class="planner-name"[^>]*>([^<]+)<', html)


def tasks(html: str) -> list[str]:
    """Keys of the tasks on an evaluation's page, in its order."""
    return re.findall(r"/tasks/([\w/]+)/(?:\?[^\"]*)?\" tabindex", html)
