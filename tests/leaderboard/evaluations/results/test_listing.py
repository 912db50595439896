"""Filters of the API's lists, from query strings."""

import pytest
from django.contrib.auth.models import AnonymousUser
from django.http import QueryDict

from evaluator.core.suites.registry import suite_of
from leaderboard.catalog.models import Task
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.evaluations.results.stored_rows import facts_of
from leaderboard.evaluations.web.api.details import filter_results
from leaderboard.evaluations.web.api.evaluations import filter_evaluations
from leaderboard.platform.problems import FieldErrors
from tests.leaderboard.evaluations.web.factories import make_evaluation, make_planner, make_suite, make_user
from tests.leaderboard.planning import make_toolmini

pytestmark = pytest.mark.django_db


@pytest.fixture
def evaluation() -> Evaluation:
    """An evaluation of OpenAGI with a result for each task."""
    suite = make_suite()
    made = make_evaluation(planner=make_planner(owner=make_user()), suite=suite)
    TaskResult.objects.bulk_create(
        TaskResult(evaluation=made, task=task, outcome="scored", score=0.5, plan_summary=f"Plan of {task.key}")
        for task in Task.objects.filter(suite=suite)
    )
    return made


def keys(evaluation: Evaluation, query: str) -> set[str]:
    found = filter_results(
        TaskResult.objects.filter(evaluation=evaluation),
        evaluation=evaluation,
        parameters=QueryDict(query),
        reader=AnonymousUser(),
    )
    return set(found.values_list("task__key", flat=True))


def test_results_are_filtered_by_the_facets_that_the_suite_declares(evaluation: Evaluation):
    wanted = {
        task.key
        for task in Task.objects.filter(suite=evaluation.suite)
        if "noise" in task.attributes["degradations"] and task.attributes["language"] == "de"
    }
    assert wanted
    assert keys(evaluation, "degradation=noise&language=de") == wanted
    texts = {
        task.key
        for task in suite_of("openagi").tasks
        if set(map(str, task.resources.values())) == {"text"} and str(task.expects) == "text"
    }
    assert texts
    assert keys(evaluation, "modality=text+%E2%86%92+text") == texts


def test_what_no_task_has_is_refused_and_so_are_facets_of_other_suites(evaluation: Evaluation):
    make_toolmini()
    outcomes = "scored, planner_fault, infra_fault, not_run, cancelled"
    for query, errors in (
        ("language=fr", {"language": ["'fr' is none of: de, en."]}),
        ("outcome=odd&planner=x", {"outcome": [f"'odd' is none of: {outcomes}."]}),
        ("level=easy", {"level": ["'easy' is none of: ."]}),
    ):
        with pytest.raises(FieldErrors) as caught:
            keys(evaluation, query)
        assert caught.value.errors == errors
    assert len(keys(evaluation, "colour=red")) == 185
    assert len(keys(evaluation, "steps=1")) == 185, "a facet that follows from gold plans does not filter"


def test_values_that_name_several_things_are_asked_for_as_the_suite_names_them():
    suite = make_toolmini()
    made = make_evaluation(planner=make_planner(owner=make_user()), suite=suite, split="all", samples=0)
    several = Task.objects.get(suite=suite, key="QA/0")
    Task.objects.filter(pk=several.pk).update(attributes={**several.attributes, "group": "image_QA,count_object"})
    TaskResult.objects.create(evaluation=made, task=several, outcome="scored", score=0.5)
    assert keys(made, "group=image_QA%2Ccount_object") == {"QA/0"}
    (row,) = [row for row in facts_of(suite) if row.key == "QA/0"]
    assert row.facets["group"] == ("several_domains",), "pages put them together"


def test_evaluations_are_filtered_and_every_problem_is_named(evaluation: Evaluation):
    def found(query: str) -> list[Evaluation]:
        rows = Evaluation.objects.all()
        return list(filter_evaluations(rows, parameters=QueryDict(query), reader=evaluation.submission.submitted_by))

    assert found(f"suite=openagi&state=completed&planner={evaluation.submission.planner_id}&mine=true") == [evaluation]
    assert found("state=queued") == []
    with pytest.raises(FieldErrors) as caught:
        found("suite=none&planner=first")
    assert caught.value.errors == {
        "suite": ["'none' is none of: openagi."],
        "planner": ["'first' is not a whole number."],
    }
